package hydra

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/sys/unix"

	"lockstep.dev/lockstep/pkg/mpi/agent/proc"
)

// podProcess is a process of a pod whose agent has the number 1.
type podProcess struct {
	pid, parent int
	name        string
	// reads is the descriptor that it reads, 0 for none; file is what that is.
	reads int
	file  string
	state string
}

// podOf is a /proc of processes whose proxy they reach by the descriptor 9.
func podOf(processes ...podProcess) fstest.MapFS {
	files := fstest.MapFS{}
	for _, p := range processes {
		folder, call := fmt.Sprint(p.pid)+"/", "61 0xffffffffffffffff"
		if p.reads > 0 {
			call = fmt.Sprintf("%d 0x%x 0x562dcda7d7e0 0x3ff", unix.SYS_READ, p.reads)
			files[folder+fmt.Sprintf("fd/%d", p.reads)] = &fstest.MapFile{Data: []byte(p.file), Mode: fs.ModeSymlink}
		}
		state := "S"
		if p.state != "" {
			state = p.state
		}
		files[folder+"stat"] = &fstest.MapFile{Data: fmt.Appendf(nil, "%d (%s) %s %d"+strings.Repeat(" 0", 40), p.pid, p.name, state, p.parent)}
		files[folder+"syscall"] = &fstest.MapFile{Data: []byte(call)}
		if p.name != "hydra_pmi_proxy" && p.name != "mpiexec" {
			files[folder+"environ"] = &fstest.MapFile{Data: []byte("PMI_RANK=1\x00PMI_FD=9\x00")}
		}
	}
	return files
}

func byNumber(root fs.FS) map[int]proc.Process {
	byPID := map[int]proc.Process{}
	for _, p := range proc.Descendants(root, 1) {
		byPID[p.PID] = p
	}
	return byPID
}

// Hydra goes on without a failed rank on purpose, too: only where all others wait for their proxy it hangs.
// lookAt is a look of the agent.
func lookAt(x *Proxies, root fs.FS, now time.Time) []MissingRank {
	byPID := byNumber(root)
	for _, p := range byPID {
		if environment := proc.EnvironmentOf(root, p.PID); p.Name != "hydra_pmi_proxy" && len(environment) > 0 {
			x.ProxyOf(p, environment, byPID)
		}
	}
	return x.Observe(root, byPID, now)
}

func TestAProxyHangsWhereAllItsRanksWait(t *testing.T) {
	const socket = "socket:[60043985]"
	hydra := podProcess{pid: 20, parent: 1, name: "hydra_pmi_proxy"}
	waits := func(pid, parent int) podProcess {
		return podProcess{pid: pid, parent: parent, name: "train", reads: 9, file: socket}
	}
	cases := map[string]struct {
		reason    string
		processes []podProcess
		failed    int
		want      bool
	}{
		"all wait":        {"", []podProcess{waits(21, 20), waits(22, 20)}, 1, true},
		"nothing failed":  {"a slow start elsewhere", []podProcess{waits(21, 20), waits(22, 20)}, 0, false},
		"one works":       {"", []podProcess{waits(21, 20), {pid: 22, parent: 20, name: "train"}}, 1, false},
		"no PMI":          {"a farm of scripts", []podProcess{{pid: 21, parent: 20, name: "task.sh"}}, 1, false},
		"by a script":     {"the shell waits for its child", []podProcess{{pid: 21, parent: 20, name: "sh"}, waits(22, 21)}, 1, true},
		"other socket":    {"", []podProcess{{pid: 21, parent: 20, name: "train", reads: 8, file: socket}}, 1, false},
		"a file":          {"a program that has closed the socket", []podProcess{{pid: 21, parent: 20, name: "train", reads: 9, file: "/data/x"}}, 1, false},
		"a dead one":      {"the proxy has not collected it", []podProcess{waits(21, 20), {pid: 22, parent: 20, name: "train", state: "Z"}}, 1, true},
		"nobody is left":  {"the proxy ends by itself", nil, 1, false},
		"of other proxy":  {"another launch", []podProcess{{pid: 30, parent: 1, name: "hydra_pmi_proxy"}, waits(31, 30)}, 1, false},
		"other one works": {"another launch", []podProcess{waits(21, 20), {pid: 30, parent: 1, name: "hydra_pmi_proxy"}, {pid: 31, parent: 30, name: "train"}}, 1, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			x, root, now := withProxies(20), podOf(append(c.processes, hydra)...), time.Unix(1000, 0)
			x.byPID[20].failed = c.failed
			x.Observe(root, byNumber(root), now)
			x.Observe(root, byNumber(root), now.Add(hungAfter-time.Millisecond))
			if x.hasHungProxy(20) {
				t.Errorf("%s: too early", c.reason)
			}
			x.Observe(root, byNumber(root), now.Add(hungAfter))
			if got := x.hasHungProxy(20); got != c.want {
				t.Errorf("%s: hangs: %t", c.reason, got)
			}
		})
	}
}

// Hydra tells each rank how many its proxy has started, so that one is missed that nobody saw.
func TestARankThatNobodySawIsMissed(t *testing.T) {
	const socket = "socket:[60043985]"
	hydra := podProcess{pid: 20, parent: 1, name: "hydra_pmi_proxy"}
	waits := func(pid, parent int) podProcess {
		return podProcess{pid: pid, parent: parent, name: "train", reads: 9, file: socket}
	}
	works := func(pid int) podProcess { return podProcess{pid: pid, parent: 20, name: "train"} }
	place := func(number, local, size int) string {
		return fmt.Sprintf("PMI_RANK=%d\x00PMI_FD=9\x00MPI_LOCALRANKID=%d\x00MPI_LOCALNRANKS=%d\x00", number, local, size)
	}
	cases := map[string]struct {
		reason string
		// before is what was seen a moment before the others began to wait.
		before, processes []podProcess
		places            map[int]string
		// want are the numbers of those that are gone, -1 for unknown.
		want []int
	}{
		"gone at once":     {"", nil, []podProcess{waits(21, 20)}, map[int]string{21: place(2, 0, 2)}, []int{-1}},
		"left with 0":      {"it was seen, and did not fail", []podProcess{works(21), works(22)}, []podProcess{waits(21, 20)}, map[int]string{21: place(2, 0, 2), 22: place(3, 1, 2)}, []int{3}},
		"two of four":      {"", nil, []podProcess{waits(21, 20), waits(24, 20)}, map[int]string{21: place(4, 0, 4), 24: place(7, 3, 4)}, []int{-1, -1}},
		"not collected":    {"", nil, []podProcess{waits(21, 20), {pid: 22, parent: 20, name: "bash", state: "Z"}}, map[int]string{21: place(2, 0, 2), 22: ""}, []int{-1}},
		"below a script":   {"the shell waits for its child", nil, []podProcess{{pid: 21, parent: 20, name: "bash"}, waits(22, 21)}, map[int]string{21: place(2, 0, 2), 22: place(2, 0, 2)}, []int{-1}},
		"all are there":    {"a slow start elsewhere", nil, []podProcess{waits(21, 20), waits(22, 20)}, map[int]string{21: place(2, 0, 2), 22: place(3, 1, 2)}, nil},
		"fewer than slots": {"what counts is how many it started", nil, []podProcess{waits(21, 20)}, map[int]string{21: place(0, 0, 1)}, nil},
		"starts late":      {"a script that imports for long", nil, []podProcess{waits(21, 20), works(22)}, map[int]string{21: place(2, 0, 2), 22: place(3, 1, 2)}, nil},
		"just forked":      {"it has the proxy's environment still", nil, []podProcess{waits(21, 20), works(22)}, map[int]string{21: place(2, 0, 2), 22: ""}, nil},
		"one works on":     {"a farm of tasks without MPI", nil, []podProcess{works(21)}, map[int]string{21: place(2, 0, 2)}, nil},
		"no size":          {"another Hydra", nil, []podProcess{waits(21, 20)}, map[int]string{21: "PMI_RANK=2\x00PMI_FD=9\x00"}, nil},
		"several worlds":   {"MPI_Comm_spawn", nil, []podProcess{waits(21, 20), waits(22, 20)}, map[int]string{21: place(0, 0, 4), 22: place(0, 0, 3)}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			x, now := NewProxies(), time.Unix(1000, 0)
			var missing []MissingRank
			look := func(processes []podProcess) {
				root := podOf(append(processes, hydra)...)
				for pid, environment := range c.places {
					root[fmt.Sprintf("%d/environ", pid)] = &fstest.MapFile{Data: []byte(environment)}
				}
				missing = append(missing, lookAt(x, root, now)...)
			}
			if c.before != nil {
				look(c.before)
			}
			now = now.Add(time.Second)
			look(c.processes)
			now = now.Add(hungAfter - time.Millisecond)
			if look(c.processes); x.hasHungProxy(20) {
				t.Errorf("%s: too early", c.reason)
			}
			now = now.Add(time.Millisecond)
			look(c.processes)
			look(c.processes) // once
			var got []int
			for _, end := range missing {
				number := -1
				if end.Rank != nil {
					number = *end.Rank
				}
				if got = append(got, number); !end.Early || !end.Hydra || now.Sub(end.Since) != hungAfter {
					t.Errorf("%+v", end)
				}
			}
			if !slices.Equal(got, c.want) || x.hasHungProxy(20) != (c.want != nil) {
				t.Errorf("%s: gone %v, hangs %t", c.reason, got, x.hasHungProxy(20))
			}
		})
	}
}

func TestARankThatWorksForAMomentDoesNotHang(t *testing.T) {
	waiting := podOf(podProcess{pid: 20, parent: 1, name: "hydra_pmi_proxy"}, podProcess{pid: 21, parent: 20, name: "train", reads: 9, file: "socket:[1]"})
	working := podOf(podProcess{pid: 20, parent: 1, name: "hydra_pmi_proxy"}, podProcess{pid: 21, parent: 20, name: "train"})
	unreadable := podOf(podProcess{pid: 20, parent: 1, name: "hydra_pmi_proxy"}, podProcess{pid: 21, parent: 20, name: "train", reads: 9, file: "socket:[1]"})
	delete(unreadable, "21/syscall")
	x := withProxies(20)
	x.byPID[20].failed = 1
	for i, root := range []fs.FS{waiting, working, waiting, unreadable, waiting} {
		x.Observe(root, byNumber(root), time.Unix(int64(i)*4, 0))
		if x.hasHungProxy(20) {
			t.Errorf("look %d", i)
		}
	}
}

// The launcher's own proxy is a child of mpiexec, which has to be ended with it; one that has lost mpiexec is a child of the agent.
func TestTheLauncherOfAHungProxyIsEnded(t *testing.T) {
	root := podOf(podProcess{pid: 10, parent: 1, name: "sh"},
		podProcess{pid: 15, parent: 10, name: "mpiexec"}, podProcess{pid: 20, parent: 15, name: "hydra_pmi_proxy"},
		podProcess{pid: 21, parent: 20, name: "train", reads: 9, file: "socket:[1]"}, podProcess{pid: 22, parent: 20, name: "train"},
		podProcess{pid: 30, parent: 1, name: "hydra_pmi_proxy"}, podProcess{pid: 31, parent: 30, name: "train", reads: 9, file: "socket:[1]"})
	x, byPID, now := NewProxies(), byNumber(root), time.Unix(1000, 0)
	if x.ProxyOf(byPID[20], nil, byPID) != nil {
		t.Error("mpiexec is no proxy")
	}
	for _, rank := range []int{21, 22, 31} {
		x.NoteRankFailure(x.ProxyOf(byPID[rank], nil, byPID))
	}
	if !x.HasLostRank(10) || !x.HasLostRank(30) || x.HasLostRank(20) {
		t.Error("a failure counts for the command below which it was")
	}
	delete(byPID, 22)
	x.Observe(root, byPID, now)
	x.Observe(root, byPID, now.Add(hungAfter))
	if got := x.takeHungLaunchers(); len(got) != 1 || got[0] != 15 {
		t.Errorf("launchers %v", got)
	}
	if got := x.takeHungLaunchers(); len(got) != 0 {
		t.Errorf("once more: %v", got)
	}
}
