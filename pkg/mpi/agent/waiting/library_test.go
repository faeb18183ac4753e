package waiting

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/tracefile"
)

// programs are those of testdata, compiled.
type programs struct {
	dir string
	// linked has MPI when it starts, loading loads an extension with it, plain knows nothing of it.
	linked, loading, plain, extension string
}

func compilePrograms(t testing.TB) programs {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("there is no gcc")
	}
	p := programs{dir: t.TempDir()}
	compile := func(name string, args ...string) string {
		out := filepath.Join(p.dir, name)
		if text, err := exec.Command("gcc", append(args, "-Wl,-rpath,"+p.dir, "-o", out)...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		return out
	}
	library := compile("libmpi.so", "-shared", "-fPIC", "testdata/mpi.c")
	p.linked = compile("linked", "-pthread", "testdata/main.c", "testdata/program.c", library, "-ldl")
	p.plain = compile("plain", "testdata/main.c", "-ldl")
	p.loading = p.plain
	p.extension = compile("extension.so", "-shared", "-fPIC", "-pthread", "testdata/program.c", library)
	return p
}

// counted runs a program as rank 3 with the library, and returns what it printed, how it ended, and what was counted of it.
func (p programs) counted(t *testing.T, environment []string, argv ...string) (string, []mpi.RankWaiting, error) {
	t.Helper()
	stateDir := t.TempDir()
	with, err := Preload(append(environment, mpi.WaitingVariable+"="+mpi.WaitingPath, "PMI_RANK=3"), stateDir)
	if err != nil {
		t.Skip(err)
	}
	command := exec.Command(argv[0], argv[1:]...)
	command.Env = with
	text, err := command.CombinedOutput()
	return string(text), Pod{StateDir: stateDir, EndOf: never}.Read(tracefile.MaxFiles).Ranks, err
}

func never(int) (time.Time, bool) { return time.Time{}, false }

// It sees the same as without the library, whether it has MPI from its beginning or loads it later for itself alone.
func TestLibraryCountsWhatAProgramDoes(t *testing.T) {
	p := compilePrograms(t)
	for name, tc := range map[string]struct {
		program     string
		environment []string
	}{"Linked": {p.linked, nil}, "Extension": {p.loading, []string{"EXTENSION=" + p.extension}}} {
		t.Run(name, func(t *testing.T) {
			plain := exec.Command(tc.program)
			plain.Env = tc.environment
			want, err := plain.CombinedOutput()
			if err != nil || !strings.Contains(string(want), "alltoallw 0") {
				t.Fatal(string(want), err)
			}
			got, ranks, err := p.counted(t, tc.environment, tc.program)
			if err != nil || got != string(want) {
				t.Fatalf("it prints %q instead of %q, and ends with %v", got, want, err)
			}
			if len(ranks) != 1 || ranks[0].Rank != 3 || !ranks[0].Finalized || ranks[0].Inside != "" {
				t.Fatalf("%+v", ranks)
			}
			kinds := ranks[0].Kinds
			// Barrier, Allreduce without the barrier inside of it, Fortran's barrier, Alltoallw; their sleeps are 100, 100 and 20 ms.
			if c := kinds[mpi.MPICollective]; c.Calls != 4 || c.Seconds < 0.21 || c.Seconds > ranks[0].Seconds {
				t.Errorf("collectives: %+v of %v s", c, ranks[0].Seconds)
			}
			if m := kinds[mpi.MPIMessage]; m.Calls != 1 || m.Seconds < 0.045 {
				t.Errorf("messages: %+v", m)
			}
			if kinds[mpi.MPIStart].Calls != 1 || kinds[mpi.MPIEnd].Calls != 1 || kinds[mpi.MPIFile].Calls != 0 {
				t.Errorf("%+v", kinds)
			}
		})
	}
}

// Open MPI 5.0 has no calls with large counts, and mpi4py looks whether there are: now there always are.
func TestLibraryDoesLargeCountsBySmallOnes(t *testing.T) {
	p := compilePrograms(t)
	text, _, err := p.counted(t, nil, p.linked, "large")
	if err != nil || !strings.Contains(text, "large 0 10 1\n") {
		t.Errorf("%s, %v", text, err)
	}
}

// Threads that are inside of MPI side by side do not wait for longer than the process lives.
func TestLibraryCountsTheTimeOfTheProcess(t *testing.T) {
	p := compilePrograms(t)
	text, ranks, err := p.counted(t, nil, p.linked, "threads")
	if err != nil || len(ranks) != 1 {
		t.Fatal(text, err, ranks)
	}
	if c := ranks[0].Kinds[mpi.MPICollective]; c.Calls < 1 || c.Seconds < 0.19 || c.Seconds > ranks[0].Seconds {
		t.Errorf("%+v of %v s", c, ranks[0].Seconds)
	}
}

func TestLibraryLeavesTheCountOfAKilledRank(t *testing.T) {
	p := compilePrograms(t)
	_, ranks, err := p.counted(t, nil, p.linked, "kill")
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatal(err)
	}
	if len(ranks) != 1 || ranks[0].Finalized || ranks[0].Kinds[mpi.MPIStart].Calls != 1 {
		t.Errorf("%+v", ranks)
	}
}

// A rank that waits is seen to while it does.
func TestWaitingIsReadWhileItLasts(t *testing.T) {
	p := compilePrograms(t)
	stateDir := t.TempDir()
	environment, err := Preload([]string{mpi.WaitingVariable + "=" + mpi.WaitingPath, "OMPI_COMM_WORLD_RANK=0"}, stateDir)
	if err != nil {
		t.Skip(err)
	}
	command := exec.Command(p.linked, "hang")
	command.Env = environment
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = command.Process.Kill(); _ = command.Wait() }()
	pod := Pod{StateDir: stateDir, EndOf: never}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		ranks := pod.Read(tracefile.MaxFiles).Ranks
		if len(ranks) == 1 && ranks[0].Inside == "collectives" && ranks[0].Kinds[mpi.MPICollective].Seconds > 0.1 {
			return
		}
	}
	t.Errorf("%+v", pod.Read(tracefile.MaxFiles))
}

// Programs without MPI, those that no launcher numbers, and those whose folder is gone are as without the library.
func TestLibraryDoesNoHarm(t *testing.T) {
	p := compilePrograms(t)
	text, ranks, err := p.counted(t, nil, p.plain)
	if text != "no MPI\n" || err == nil || len(ranks) != 0 {
		t.Errorf("%q, %v, %v", text, err, ranks)
	}
	text, ranks, err = p.counted(t, []string{"PATH=" + os.Getenv("PATH")}, "sh", "-c", "echo $((6*7)) | cat")
	if text != "42\n" || err != nil || len(ranks) != 0 {
		t.Errorf("%q, %v, %v", text, err, ranks)
	}
	stateDir := t.TempDir()
	environment, err := Preload([]string{mpi.WaitingVariable + "=" + mpi.WaitingPath}, stateDir)
	if err != nil {
		t.Skip(err)
	}
	for name, more := range map[string][]string{
		"NoRank": nil, "NoNumber": {"PMI_RANK=3x"}, "LongNumber": {"PMI_RANK=123456789"}, "NoFolder": {"PMI_RANK=3", mpi.WaitingVariable + "=/nowhere/waiting"},
		"LongName": {"PMI_RANK=3", mpi.WaitingVariable + "=/" + strings.Repeat("a", 5000)},
	} {
		command := exec.Command(p.linked)
		for _, v := range environment {
			if len(more) < 2 || !strings.HasPrefix(v, mpi.WaitingVariable+"=") {
				command.Env = append(command.Env, v)
			}
		}
		command.Env = append(command.Env, more...)
		if text, err := command.CombinedOutput(); err != nil || !strings.Contains(string(text), "allreduce 1111 recv 10 10 fortran 0 alltoallw 0\nfinalize 0\n") {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
	if ranks := (Pod{StateDir: stateDir, EndOf: never}).Read(tracefile.MaxFiles).Ranks; len(ranks) != 0 {
		t.Errorf("counted: %+v", ranks)
	}
	entries, _ := os.ReadDir(stateDir)
	if len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

// A full disk is found out before the page is mapped, where it would be a signal.
func TestLibraryDoesNoHarmOnAFullDisk(t *testing.T) {
	p := compilePrograms(t)
	if text, err := exec.Command("unshare", "--map-root-user", "--mount", "true").CombinedOutput(); err != nil {
		t.Skipf("no file system can be mounted here: %v: %s", err, text)
	}
	environment, err := Preload([]string{mpi.WaitingVariable + "=" + mpi.WaitingPath, "PMI_RANK=3", "PATH=" + os.Getenv("PATH")}, p.dir)
	if err != nil {
		t.Skip(err)
	}
	full := t.TempDir()
	command := exec.Command("unshare", "--map-root-user", "--mount", "sh", "-c",
		`mount -t tmpfs -o size=4k full "$0" && head -c 4096 /dev/zero > "$0/all" && LOCKSTEP_WAITING="$0/waiting" "$1" && ls "$0"`, full, p.linked)
	command.Env = environment
	if text, err := command.CombinedOutput(); err != nil || !strings.HasSuffix(string(text), "finalize 0\nall\n") {
		t.Errorf("%s, %v", text, err)
	}
}

// Two launches with a rank of the same number, one after the other or side by side: the later counts, and the earlier is not harmed.
func TestLibraryReplacesTheFileOfAnEarlierLaunch(t *testing.T) {
	p := compilePrograms(t)
	stateDir := t.TempDir()
	environment, err := Preload([]string{mpi.WaitingVariable + "=" + mpi.WaitingPath, "PMI_RANK=0"}, stateDir)
	if err != nil {
		t.Skip(err)
	}
	run := func() *exec.Cmd {
		command := exec.Command(p.linked)
		command.Env = environment
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		return command
	}
	first, second := run(), run()
	if err := errors.Join(first.Wait(), second.Wait()); err != nil {
		t.Error(err)
	}
	ranks := Pod{StateDir: stateDir, EndOf: never}.Read(tracefile.MaxFiles).Ranks
	if len(ranks) != 1 || !ranks[0].Finalized || (placedRank{RankWaiting: ranks[0]}).calls() != 7 {
		t.Errorf("%+v", ranks)
	}
}

// What a call costs that does nothing: the least of many batches, because other programs of the machine only add to it.
func BenchmarkCall(b *testing.B) {
	p := compilePrograms(b)
	environment, err := Preload([]string{mpi.WaitingVariable + "=" + mpi.WaitingPath, "PMI_RANK=0"}, b.TempDir())
	if err != nil {
		b.Skip(err)
	}
	for name, environment := range map[string][]string{"Off": {}, "On": environment} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				command := exec.Command(p.linked, "loop")
				command.Env = environment
				text, err := command.Output()
				var least float64
				if _, scanErr := fmt.Sscanf(string(text), "init 0\n%f ns\n", &least); err != nil || scanErr != nil {
					b.Fatalf("%s, %v, %v", text, err, scanErr)
				}
				b.ReportMetric(least, "ns/call")
			}
		})
	}
}
