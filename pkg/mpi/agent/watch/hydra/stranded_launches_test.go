package hydra

import (
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
)

// launchLine is the command line of a proxy of a launch, or of its remote shell, as Hydra 4.2 has it.
func launchLine(port, group string) string {
	return "/usr/bin/hydra_pmi_proxy --control-port launcher:" + port + " --rmk user --launcher ssh --demux poll --pgid " + group + " --retries 10 --proxy-id 0"
}

func TestLaunchKey(t *testing.T) {
	for line, want := range map[string]string{
		launchLine("36231", "0"): "launcher:36231",
		`"/usr/bin/hydra_pmi_proxy" --control-port [fd00::1]:99 --pgid 0`: "[fd00::1]:99",
		launchLine("36231", "1"):                                 "", // of MPI_Comm_spawn
		launchLine("../x", "0"):                                  "",
		"hydra_bstrap_proxy --upstream-host l --upstream-port 9": "",
		"hydra_pmi_proxy --pgid 0 --control-port":                "",
		"hydra_pmi_proxy --control-port launcher:1":              "",
		"train": "",
	} {
		if got := launchKey(line); got != want {
			t.Errorf("%s: %q", line, got)
		}
	}
}

// The port becomes part of the name of a file.
func FuzzLaunchKey(f *testing.F) {
	f.Add(launchLine("36231", "0"))
	f.Add(launchLine("../../etc/passwd", "0"))
	f.Fuzz(func(t *testing.T, line string) {
		if key := launchKey(line); key != "" && !allDigits(portOfKey(key)) {
			t.Errorf("%q of %q", key, line)
		}
	})
}

// hydraPod is a pod with a proxy (20) of a launch of four ranks and two of its own, with what they do.
func hydraPod(line string, ranks ...podProcess) fstest.MapFS {
	files := podOf(append(ranks, podProcess{pid: 20, parent: 1, name: "hydra_pmi_proxy"})...)
	files["20/cmdline"] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(line, " ", "\x00"))}
	for i, pid := range []string{"21", "22"} {
		if files[pid+"/environ"] != nil {
			files[pid+"/environ"].Data = []byte("PMI_FD=9\x00PMI_SIZE=4\x00MPI_LOCALNRANKS=2\x00PMI_RANK=" + string(rune('2'+i)) + "\x00MPI_LOCALRANKID=" + string(rune('0'+i)) + "\x00")
		}
	}
	return files
}

func TestANodeTellsWhoseRanksAllWait(t *testing.T) {
	waits := func(pid int) podProcess {
		return podProcess{pid: pid, parent: 20, name: "train", reads: 9, file: "socket:[1]"}
	}
	works := func(pid int) podProcess { return podProcess{pid: pid, parent: 20, name: "train"} }
	unsized := hydraPod(launchLine("7", "0"), waits(21), waits(22))
	unsized["21/environ"].Data = []byte("PMI_FD=9\x00PMI_SIZE=4\x00PMI_RANK=2\x00")
	all, told := hydraPod(launchLine("7", "0"), waits(21), waits(22)), []mpi.StrandedProxy{{Launch: "launcher:7", World: 4, Ranks: []int{2, 3}}}
	cases := map[string]struct {
		reason string
		// between is the pod at one look among others of all that wait.
		between, pod fstest.MapFS
		// silence is the time since the last question.
		silence time.Duration
		want    []mpi.StrandedProxy
	}{
		"all wait":           {"", all, all, 0, told},
		"one works":          {"", all, hydraPod(launchLine("7", "0"), waits(21), works(22)), 0, nil},
		"for a moment":       {"it worked between", hydraPod(launchLine("7", "0"), waits(21), works(22)), all, 0, nil},
		"one is gone":        {"that is another rule's", all, hydraPod(launchLine("7", "0"), waits(21)), 0, nil},
		"one starts":         {"it was forked just now", all, hydraPod(launchLine("7", "0"), waits(21), podProcess{pid: 23, parent: 20, name: "hydra_pmi_proxy"}), 0, nil},
		"MPI_Comm_spawn":     {"of another process group", all, hydraPod(launchLine("7", "1"), waits(21), waits(22)), 0, nil},
		"no size":            {"nobody knows whether it has all its ranks", unsized, unsized, 0, nil},
		"nobody asks longer": {"it costs nothing while all is well", all, all, askedFor, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			start := time.Unix(1000, 0)
			now := start
			x := NewProxies()
			if got := x.StrandedProxies(all, now); got != nil {
				t.Errorf("%s: before any look: %+v", c.reason, got)
			}
			now = now.Add(c.silence)
			for _, pod := range []fstest.MapFS{all, c.between, c.pod, c.pod} {
				lookAt(x, pod, now)
				now = now.Add(hungAfter / 3)
			}
			now = start.Add(c.silence + hungAfter)
			if got := x.StrandedProxies(c.pod, now); got != nil {
				t.Errorf("%s: too early: %+v", c.reason, got)
			}
			lookAt(x, c.pod, now)
			if diff := cmp.Diff(c.want, x.StrandedProxies(c.pod, now)); diff != "" {
				t.Errorf("%s: %s", c.reason, diff)
			}
		})
	}
}

func TestMissingRanks(t *testing.T) {
	proxy := func(world int, ranks ...int) mpi.StrandedProxy {
		return mpi.StrandedProxy{Launch: "launcher:7", World: world, Ranks: ranks}
	}
	pod := func(proxies ...mpi.StrandedProxy) mpi.Progress { return mpi.Progress{Stranded: proxies} }
	cases := map[string]struct {
		reason   string
		sessions int
		pods     map[string]mpi.Progress
		want     []int
	}{
		"one node is gone":    {"", 2, map[string]mpi.Progress{"a": pod(proxy(3, 0)), "b": pod(), "c": pod(proxy(3, 2))}, []int{1}},
		"several slots":       {"", 1, map[string]mpi.Progress{"a": pod(proxy(4, 0, 1)), "b": pod()}, []int{2, 3}},
		"many":                {"the first will do", 1, map[string]mpi.Progress{"a": pod(proxy(1<<40, 0))}, []int{1, 2, 3, 4, 5, 6, 7, 8}},
		"all wait":            {"for mpiexec, or for each other", 2, map[string]mpi.Progress{"a": pod(proxy(2, 0)), "b": pod(proxy(2, 1))}, nil},
		"one works":           {"its node does not tell of it", 2, map[string]mpi.Progress{"a": pod(proxy(3, 0)), "b": pod(), "c": pod()}, nil},
		"a node is silent":    {"", 2, map[string]mpi.Progress{"a": pod(proxy(3, 0)), "b": pod()}, nil},
		"a shell starts":      {"a remote shell whose proxy is still to come", 3, map[string]mpi.Progress{"a": pod(proxy(3, 0)), "b": pod(), "c": pod(proxy(3, 2))}, nil},
		"another launch":      {"", 1, map[string]mpi.Progress{"a": pod(mpi.StrandedProxy{Launch: "launcher:8", World: 3, Ranks: []int{0}})}, nil},
		"beside another":      {"", 1, map[string]mpi.Progress{"a": pod(proxy(2, 0), mpi.StrandedProxy{Launch: "launcher:8", World: 9, Ranks: []int{1}})}, []int{1}},
		"no world":            {"another Hydra", 1, map[string]mpi.Progress{"a": pod(proxy(0, 0))}, nil},
		"worlds that differ":  {"", 2, map[string]mpi.Progress{"a": pod(proxy(3, 0)), "b": pod(proxy(4, 1))}, nil},
		"nobody waits at all": {"", 2, nil, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := hydraLaunch{key: "launcher:7", sessions: c.sessions}.missingRanks(c.pods)
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: %v", c.reason, got)
			}
		})
	}
}

// Which of several nodes a rank was on, nobody can know.
func TestEndsOfMissingRanks(t *testing.T) {
	two, three, now := 2, 3, time.Unix(1000, 0)
	end := func(host string, rank *int) mpi.RankEnd {
		return mpi.RankEnd{Rank: rank, Host: host, Hydra: true, Early: true}
	}
	for name, c := range map[string]struct {
		left []string
		want []mpi.RankEnd
	}{
		"one node":  {[]string{"a"}, []mpi.RankEnd{end("a", &two), end("a", &three)}},
		"two nodes": {[]string{"a", "b"}, []mpi.RankEnd{end("a", nil), end("b", nil)}},
	} {
		var got []mpi.RankEnd
		for _, e := range (hydraLaunch{departed: c.left}).endsOfMissingRanks([]int{two, three}, now) {
			if got = append(got, e.RankEnd); !e.Since.Equal(now.Add(-hungAfter)) {
				t.Errorf("%s: since %v", name, e.Since)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestLaunchesThatLeftANode(t *testing.T) {
	root := podOf(
		podProcess{pid: 15, parent: 1, name: "mpiexec"}, podProcess{pid: 16, parent: 15, name: "rsh"}, podProcess{pid: 17, parent: 15, name: "hydra_pmi_proxy"},
		podProcess{pid: 18, parent: 15, name: "rsh", state: "Z"}, podProcess{pid: 19, parent: 15, name: "rsh"},
		podProcess{pid: 25, parent: 1, name: "mpirun"}, podProcess{pid: 26, parent: 25, name: "rsh"},
		podProcess{pid: 35, parent: 1, name: "mpirun"}, podProcess{pid: 36, parent: 35, name: "orted"})
	for pid, line := range map[string]string{"16": launchLine("7", "0"), "17": launchLine("7", "0"), "19": launchLine("7", "1"), "26": launchLine("8", "0")} {
		root[pid+"/cmdline"] = &fstest.MapFile{Data: []byte(line)}
	}
	w := StrandedLaunchEnder{root: root, agent: 1, StateDir: t.TempDir()}
	if got := w.launchesWithDepartures(); got != nil {
		t.Errorf("without notes: %+v", got)
	}
	for _, left := range [][2]string{{"7", "b"}, {"7", "a"}, {"7", "b"}, {"9", "a"}} {
		if err := NoteDepartedNode(w.StateDir, launchLine(left[0], "0"), left[1]); err != nil {
			t.Error(err)
		}
	}
	if err := NoteDepartedNode(w.StateDir, "hostname", "a"); err != nil {
		t.Error(err)
	}
	// What mpiexec started for MPI_Comm_spawn counts too, so that it is never proven that none is to come.
	want := []hydraLaunch{{mpiexec: 15, key: "launcher:7", sessions: 3, departed: []string{"a", "b"}}}
	if diff := cmp.Diff(want, w.launchesWithDepartures(), cmp.AllowUnexported(hydraLaunch{})); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(departedNodesPath(w.StateDir, "9")); err == nil {
		t.Error("the note of a launch that is over stays")
	}
	if notes, _ := filepath.Glob(departedNodesPath(w.StateDir, "*")); len(notes) != 1 {
		t.Errorf("notes %v", notes)
	}
}

// Only the launch that is stranded ends.
func TestAStrandedLaunchIsEnded(t *testing.T) {
	var launches []hydraLaunch
	var commands []*exec.Cmd
	for _, port := range []string{"7", "8"} {
		command := exec.Command("sleep", "60")
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = command.Process.Kill() })
		commands = append(commands, command)
		launches = append(launches, hydraLaunch{mpiexec: command.Process.Pid, key: "launcher:" + port, sessions: 1, departed: []string{"demo-node-0-1"}})
	}
	ended := make(chan error, 1)
	go func() { ended <- commands[0].Wait() }() // as its parent does, so that it does not stay a zombie
	x, pod := NewProxies(), hydraPod(launchLine("7", "0"),
		podProcess{pid: 21, parent: 20, name: "train", reads: 9, file: "socket:[1]"}, podProcess{pid: 22, parent: 20, name: "train", reads: 9, file: "socket:[1]"})
	ask := func() map[string]mpi.Progress {
		return map[string]mpi.Progress{"demo-node-0-0": {Stranded: x.StrandedProxies(pod, time.Now())}}
	}
	ask()
	for _, later := range []time.Duration{0, hungAfter} {
		lookAt(x, pod, time.Now().Add(later))
	}
	var got []int
	StrandedLaunchEnder{Log: log.New(io.Discard, "", 0), Gone: func(missing []MissingRank) {
		for _, rank := range missing {
			got = append(got, *rank.Rank)
		}
	}}.endStrandedLaunches(launches, ask())
	if err := <-ended; err == nil || commands[1].Process.Signal(syscall.Signal(0)) != nil {
		t.Errorf("the first: %v; or the other ended too", err)
	}
	if !slices.Equal(got, []int{0, 1}) {
		t.Errorf("gone %v", got)
	}
}
