package watch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
	"lockstep.dev/lockstep/pkg/mpi/agent/proc"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
	"lockstep.dev/lockstep/pkg/mpi/agent/watch/hydra"
)

// numbered is a rank by its number.
func numbered(rank int) mpi.RankEnd { return mpi.RankEnd{Rank: &rank} }

// newest is the newest launch.
func newest(r *RankWatcher) verdict.Launch {
	launch, _ := r.NewestLaunch()
	return launch
}

// awaitRanks waits until as many ranks have failed.
func awaitRanks(t *testing.T, r *RankWatcher, want int) []mpi.RankEnd {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if ends := r.Report().Ranks; len(ends) >= want {
			return ends
		}
	}
	t.Fatalf("seen: %+v", r.Report().Ranks)
	return nil
}

// TestRanksAreSeenByWhoIsNotTheirParent: the ranks are grandchildren, and their parent says nothing about them.
func TestRanksAreSeenByWhoIsNotTheirParent(t *testing.T) {
	r := NewRankWatcher(NewProcessTracker(func(int) bool { return true }), false)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go r.Watch(ctx)
	dir := t.TempDir()
	// The ranks wait until they have been seen, and the second until the first has ended; a child of a rank is not a rank.
	launcher := exec.Command("sh", "-c", `
		OMPI_COMM_WORLD_RANK=0 sh -c 'until test -e seen; do sleep 0.02; done; sh -c "exit 9"; exit 0' &
		OMPI_COMM_WORLD_RANK=1 sh -c 'until test -e seen; do sleep 0.02; done; exit 3' &
		OMPI_COMM_WORLD_RANK=2 sh -c 'until test -e first; do sleep 0.02; done; kill -SEGV $$' &
		until test -e second; do sleep 0.02; done`)
	launcher.Dir = dir
	if err := launcher.Start(); err != nil {
		t.Fatal(err)
	}
	awaitSeen(t, r, 3)
	awaitLook(t, r) // the one that saw them may not follow them yet
	touch(t, dir, "seen")
	awaitRanks(t, r, 1)
	touch(t, dir, "first")
	one, two := 1, 2
	want := []mpi.RankEnd{{Rank: &one, Code: 3}, {Rank: &two, Code: 139, Signal: "SIGSEGV"}}
	got := awaitRanks(t, r, 2)
	touch(t, dir, "second")
	if err := launcher.Wait(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(mpi.RankEnd{}, "Ago")); diff != "" {
		t.Error(diff)
	}
	if got[0].Ago < got[1].Ago {
		t.Errorf("the first is %v s ago, the second %v s", got[0].Ago, got[1].Ago)
	}
}

// A launcher asks for reports as soon as its command has ended, and busy agents may not have had a turn since.
func TestAReportKnowsEveryRankThatHasEnded(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 50 {
		r := NewRankWatcher(NewProcessTracker(func(int) bool { return true }), false)
		rank := exec.Command("sleep", "60")
		if err := rank.Start(); err != nil {
			t.Fatal(err)
		}
		r.followProcess(rank.Process.Pid, func(status process.Status, at time.Time) {
			r.NoteRankEnd(numbered(2), nil, status, at)
		})
		if err := rank.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_, _ = rank.Process.Wait()
		if ends := r.Report().Ranks; len(ends) != 1 {
			t.Fatalf("%d of 1 rank in the report", len(ends))
		}
	}
}

// awaitSeen waits until so many ranks have been seen.
func awaitSeen(t *testing.T, r *RankWatcher, want int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		r.mu.Lock()
		seen := len(r.seen)
		r.mu.Unlock()
		if seen == want {
			return
		}
	}
	t.Fatalf("not all of %d ranks were seen", want)
}

// awaitLook waits until the watch has looked once from begin to end: whatever runs already is followed then.
func awaitLook(t *testing.T, r *RankWatcher) {
	t.Helper()
	looked := func() time.Time {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.looked
	}
	// The first may have begun before, and the third says that the second has ended.
	for range 3 {
		last, deadline := looked(), time.Now().Add(10*time.Second)
		for looked().Equal(last) {
			if time.Now().After(deadline) {
				t.Fatal("nobody looks")
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// inSteps is a command whose processes say that they run, `echo`, and wait for a word, `read x`.
type inSteps struct {
	*exec.Cmd
	said *bufio.Reader
	word io.Writer
}

func startInSteps(t *testing.T, name string, arguments ...string) inSteps {
	t.Helper()
	command := exec.Command(name, arguments...)
	stdin, noStdin := command.StdinPipe()
	stdout, noStdout := command.StdoutPipe()
	if err := errors.Join(noStdin, noStdout, command.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdin.Close() }) // nobody waits for a word any more
	return inSteps{command, bufio.NewReader(stdout), stdin}
}

// step lets the next process end after the watch has had a look at it.
func (s inSteps) step(t *testing.T, r *RankWatcher) {
	t.Helper()
	if _, err := s.said.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	awaitLook(t, r)
	if _, err := io.WriteString(s.word, "\n"); err != nil {
		t.Fatal(err)
	}
}

// awaitStarter waits until a launcher has failed.
func awaitStarter(t *testing.T, r *RankWatcher) time.Time {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if _, at := r.NewestLaunch(); !at.IsZero() {
			return at
		}
	}
	t.Fatal("no launcher was seen to fail")
	return time.Time{}
}

func touch(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// fakeProgram makes a shell that runs under another name.
func fakeProgram(t *testing.T, dir, name string) string {
	t.Helper()
	shell, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	path := dir + "/" + name
	if err := os.WriteFile(path, shell, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRanksOfHydraAndWhoAdmitsTheirFailure(t *testing.T) {
	dir, begin := t.TempDir(), time.Now()
	proxy, mpiexec := fakeProgram(t, dir, "hydra_pmi_proxy"), fakeProgram(t, dir, "mpiexec.hydra")
	r := NewRankWatcher(NewProcessTracker(func(int) bool { return true }), false)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go r.Watch(ctx)
	command := startInSteps(t, proxy, "-c", `PMI_RANK=4 sh -c 'echo; read x; exit 3'; `+mpiexec+` -c 'echo; read x; exit 5'; :`)
	command.step(t, r)
	command.step(t, r)
	if err := command.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := awaitRanks(t, r, 1); !got[0].Hydra || *got[0].Rank != 4 || len(got) != 1 {
		t.Errorf("%+v", got)
	}
	failed := awaitStarter(t, r)
	if pid := command.Process.Pid; !r.proxies.HasLostRank(pid) || r.proxies.HasLostRank(pid+1) || !failed.After(begin) {
		t.Errorf("lost a rank: %t, starter %v", r.proxies.HasLostRank(pid), failed)
	}
}

func TestRanksWithoutMPI(t *testing.T) {
	r := NewRankWatcher(NewProcessTracker(func(int) bool { return true }), false)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go r.Watch(ctx)
	command := startInSteps(t, "sh", "-c", "RANK=4 sh -c 'echo; read x; exit 3'; :")
	command.step(t, r)
	if err := command.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := awaitRanks(t, r, 1); !got[0].WithoutMPI || *got[0].Rank != 4 || got[0].Code != 3 {
		t.Errorf("%+v", got)
	}
}

func TestALauncherWithoutRanksLooksForStartersOnly(t *testing.T) {
	r := NewRankWatcher(NewProcessTracker(func(int) bool { return true }), false)
	r.startersOnly = true
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go r.Watch(ctx)
	command := startInSteps(t, "sh", "-c", `PMI_RANK=4 sh -c 'echo; read x; exit 3'; `+fakeProgram(t, t.TempDir(), "mpirun")+` -c 'echo; read x; exit 5'; :`)
	command.step(t, r)
	command.step(t, r)
	if err := command.Wait(); err != nil {
		t.Fatal(err)
	}
	awaitStarter(t, r)
	if got := r.Report().Ranks; len(got) != 0 {
		t.Errorf("ranks %+v", got)
	}
}

func TestWorldOfTheRanks(t *testing.T) {
	r := NewRankWatcher(NewProcessTracker(func(int) bool { return true }), false)
	r.recordRank(0, 2)
	r.recordRank(1, 2)
	r.recordRank(1, 2)
	if got := r.Report(); got.Seen != 2 || got.World != 2 {
		t.Errorf("saw %d of %d", got.Seen, got.World)
	}
	r.recordRank(0, 1)
	r.recordRank(0, 2)
	if got := r.Report(); got.World != -1 {
		t.Errorf("two worlds are %d", got.World)
	}
	for variables, want := range map[string]int{"PMI_SIZE=4": 4, "OMPI_COMM_WORLD_SIZE=3 WORLD_SIZE=9": 3, "WORLD_SIZE=x": 0, "WORLD_SIZE=-1": 0, "": 0} {
		if got := proc.WorldSize(strings.Fields(variables)); got != want {
			t.Errorf("%s: %d", variables, got)
		}
	}
}

func TestOnlyTheFirstRanksAreKept(t *testing.T) {
	r := NewRankWatcher(NewProcessTracker(func(int) bool { return true }), false)
	for i := range 100 {
		r.NoteRankEnd(numbered(i), nil, agenttest.StatusOfCode(1), r.now())
	}
	r.NoteRankEnd(numbered(100), nil, agenttest.StatusOfCode(0), r.now())
	if got := r.Report().Ranks; len(got) != verdict.MaxRanks || *got[0].Rank != 0 {
		t.Errorf("%+v", got)
	}
}

// A script that tries something first has passed over its failure; one that cleans up afterwards has not.
func TestALaunchKeepsTheFailuresBeforeItApart(t *testing.T) {
	r := NewRankWatcher(NewProcessTracker(func(int) bool { return true }), false)
	numbers := func() (ranks []int) {
		for _, end := range r.Report().Ranks {
			ranks = append(ranks, *end.Rank)
		}
		return ranks
	}
	r.NoteLaunchStart()
	for i := range 20 {
		r.NoteRankEnd(numbered(i), nil, agenttest.StatusOfCode(1), r.now())
	}
	r.NoteLaunchStart()
	r.NoteLaunchStart() // one in which nothing fails
	for i := range 20 {
		r.NoteRankEnd(numbered(100+i), nil, agenttest.StatusOfCode(3), r.now())
	}
	if diff := cmp.Diff([]int{0, 1, 2, 3, 4, 5, 6, 7, 100, 101, 102, 103, 104, 105, 106, 107}, numbers()); diff != "" {
		t.Error(diff)
	}
	r.NoteLaunchStart()
	if diff := cmp.Diff([]int{100, 101, 102, 103, 104, 105, 106, 107}, numbers()); diff != "" {
		t.Error(diff)
	}
}

// The numbers are above those that the kernel gives, so that nobody else is watched.
func TestALaunchBeginsWithTheNewestLauncher(t *testing.T) {
	const script, first, forked, second, inner = 5_000_001, 5_000_002, 5_000_003, 5_000_004, 5_000_005
	type process struct {
		pid, parent int
		name        string
	}
	cases := map[string]struct {
		reason string
		// looks are what runs below the script, a second after the other.
		looks [][]process
		// after and seen are seconds, -1 for unknown.
		after, seen int
	}{
		"none":         {"", [][]process{{}, {{first, script, "python"}}}, -1, -1},
		"at once":      {"nobody looked before", [][]process{{{first, script, "mpiexec"}}}, -1, 0},
		"one":          {"it began between two looks", [][]process{{}, {{first, script, "mpiexec"}}, {{first, script, "mpiexec"}}}, 0, 1},
		"two":          {"the newest counts", [][]process{{{first, script, "mpiexec"}}, {}, {}, {{second, script, "prun"}}}, 2, 3},
		"another name": {"mpirun of Open MPI 5 becomes prterun", [][]process{{}, {{first, script, "mpirun"}}, {{first, script, "prterun"}}}, 0, 1},
		"forks":        {"a remote shell that has just been forked", [][]process{{}, {{first, script, "mpirun"}}, {{first, script, "mpirun"}, {forked, first, "mpirun"}}}, 0, 1},
		"below":        {"horovodrun starts mpirun", [][]process{{}, {{first, script, "horovodrun"}}, {{first, script, "horovodrun"}, {forked, first, "sh"}, {inner, forked, "mpirun"}}}, 0, 1},
		"orphaned":     {"a wrapper that ended first", [][]process{{}, {{first, script, "mpirun"}, {inner, first, "mpiexec.hydra"}}, {{inner, script, "mpiexec.hydra"}}}, 0, 1},
		"deepspeed":    {"", [][]process{{}, {{first, script, "deepspeed"}}}, 0, 1},
	}
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(second int) time.Time {
		if second < 0 {
			return time.Time{}
		}
		return begin.Add(time.Duration(second) * time.Second)
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := NewRankWatcher(NewProcessTracker(func(int) bool { return true }), false)
			r.agent, r.startersOnly = 1, true
			for i, running := range c.looks {
				files := fstest.MapFS{}
				for _, p := range append(running, process{script, 1, "sh"}) {
					files[fmt.Sprintf("%d/stat", p.pid)] = &fstest.MapFile{Data: fmt.Appendf(nil, "%d (%s) S %d"+strings.Repeat(" 0", 40), p.pid, p.name, p.parent)}
				}
				r.root, r.now = files, func() time.Time { return at(i) }
				r.inspectProcesses()
			}
			if got := newest(r); !got.After.Equal(at(c.after)) || !got.Seen.Equal(at(c.seen)) {
				t.Errorf("%s: got %+v, want %d and %d", c.reason, got, c.after, c.seen)
			}
		})
	}
}

// Failures of earlier launches must not fill up what is known of the newest one.
func TestALaterFailureOfHydraIsKnownToo(t *testing.T) {
	r := NewRankWatcher(NewProcessTracker(func(int) bool { return true }), false)
	proxyOf := func(pid int) *hydra.Proxy {
		byPID := map[int]proc.Process{pid: {PID: pid, Name: "hydra_pmi_proxy"}}
		return r.proxies.ProxyOf(proc.Process{PID: pid + 1, Parent: pid}, nil, byPID)
	}
	for range 2 * verdict.MaxRanks {
		r.NoteRankEnd(mpi.RankEnd{Hydra: true}, proxyOf(20), agenttest.StatusOfCode(1), r.now())
	}
	if r.NoteRankEnd(mpi.RankEnd{Hydra: true}, proxyOf(30), agenttest.StatusOfCode(1), r.now()); !r.proxies.HasLostRank(30) {
		t.Error("the other launch lost a rank, too")
	}
	if got := r.Report().Ranks; !got[0].Hydra {
		t.Errorf("%+v", got[0])
	}
}
