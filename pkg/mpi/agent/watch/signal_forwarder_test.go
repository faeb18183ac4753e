package watch

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi/agent/program"
)

// A table of processes: number, parent, name, and a handler for SIGTERM where there is one. The agent is 1.
type processTable []struct {
	pid, parent int
	name        string
	catches     bool
}

func (table processTable) files() fstest.MapFS {
	files := fstest.MapFS{}
	for _, p := range table {
		mask := 0
		if p.catches {
			mask = 1 << (syscall.SIGTERM - 1)
		}
		files[fmt.Sprintf("%d/stat", p.pid)] = &fstest.MapFile{Data: fmt.Appendf(nil, "%d (%s) S %d 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0", p.pid, p.name, p.parent)}
		files[fmt.Sprintf("%d/status", p.pid)] = &fstest.MapFile{Data: fmt.Appendf(nil, "Name: x\nSigCgt:\t%016x\n", mask)}
	}
	return files
}

func TestWhoIsAskedToEnd(t *testing.T) {
	cases := map[string]struct {
		reason    string
		table     processTable
		asked     []int
		launching bool
		busy      bool
	}{
		"a program":            {"as kubelet would", processTable{{2, 1, "bash", false}, {3, 2, "python", false}}, []int{2, 3}, false, true},
		"ranks of a node":      {"their daemon kills them when it is asked", processTable{{2, 1, "sh", false}, {3, 2, "orted", true}, {4, 3, "python", true}, {5, 4, "loader", false}}, []int{4}, false, true},
		"ranks that just end":  {"what they started ends with them", processTable{{2, 1, "sh", false}, {3, 2, "orted", true}, {4, 3, "python", false}, {5, 4, "loader", false}}, []int{4, 5}, false, true},
		"a daemon alone":       {"its launcher ends it", processTable{{2, 1, "orted", true}}, nil, false, true},
		"a launch":             {"its remote shells would take the daemons along", processTable{{2, 1, "mpirun", true}, {3, 2, "rsh", false}}, nil, true, true},
		"a script around":      {"it would be gone before its launch", processTable{{2, 1, "bash", false}, {3, 2, "mpirun", true}, {4, 3, "rsh", false}, {5, 2, "tee", false}}, nil, true, true},
		"a script that saves":  {"it has a handler, so it knows what it does", processTable{{2, 1, "bash", true}, {3, 2, "mpiexec", true}}, []int{2}, true, true},
		"ranks beside it":      {"those of the launcher's own pod", processTable{{2, 1, "bash", false}, {3, 2, "mpirun", true}, {4, 3, "python", false}, {5, 3, "rsh", false}}, []int{4}, true, true},
		"tasks by ssh":         {"they run elsewhere", processTable{{2, 1, "parallel", false}, {3, 2, "ssh", false}}, nil, false, true},
		"another session":      {"a command beside a launch", processTable{{2, 1, "orted", true}, {3, 2, "rank", false}, {4, 1, "sh", false}, {5, 4, "watch", false}}, []int{3, 4, 5}, false, true},
		"nobody":               {"", nil, nil, false, false},
		"an orphan":            {"whoever started it is gone", processTable{{91, 1, "python", false}}, []int{91}, false, false},
		"a daemon that let go": {"its launch still runs", processTable{{91, 1, "orted", true}, {92, 91, "python", false}}, []int{92}, false, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var asked []int
			ask := SignalForwarder{root: c.table.files(), agent: 1, signal: syscall.SIGTERM, asked: map[int]bool{}, started: func(pid int) bool { return pid < 90 }, send: func(pid int, signal syscall.Signal) {
				if signal != syscall.SIGTERM {
					t.Errorf("%d got %v", pid, signal)
				}
				asked = append(asked, pid)
			}}
			for range 2 { // each once
				if busy, processes := ask.SignalNewPrograms(); busy != c.busy || slices.ContainsFunc(processes, program.IsLauncher) != c.launching {
					t.Errorf("%s: busy %v, launching %v", c.reason, busy, !c.launching)
				}
			}
			slices.Sort(asked)
			if diff := cmp.Diff(c.asked, asked); diff != "" {
				t.Errorf("%s: %s", c.reason, diff)
			}
		})
	}
}

// What a program starts to save its work is not asked to end, and waited for.
func TestTheAnswerOfAProgramIsLeftAlone(t *testing.T) {
	var asked []int
	ask := SignalForwarder{agent: 1, signal: syscall.SIGTERM, asked: map[int]bool{}, started: func(pid int) bool { return pid < 90 }, send: func(pid int, _ syscall.Signal) { asked = append(asked, pid) }}
	busy := false
	for _, table := range []processTable{{{2, 1, "python", true}}, {{2, 1, "python", true}, {3, 2, "cp", false}}} {
		ask.root = table.files()
		busy, _ = ask.SignalNewPrograms()
	}
	if diff := cmp.Diff([]int{2}, asked); diff != "" || !busy {
		t.Errorf("busy %v, %s", busy, diff)
	}
}

// A script is asked once its launch is over.
func TestAScriptIsAskedAfterItsLaunch(t *testing.T) {
	var asked []int
	ask := SignalForwarder{agent: 1, signal: syscall.SIGTERM, asked: map[int]bool{}, started: func(pid int) bool { return pid < 90 }, send: func(pid int, _ syscall.Signal) { asked = append(asked, pid) }}
	for _, table := range []processTable{{{2, 1, "bash", false}, {3, 2, "mpirun", true}}, {{2, 1, "bash", false}}} {
		ask.root = table.files()
		ask.SignalNewPrograms()
	}
	if diff := cmp.Diff([]int{2}, asked); diff != "" {
		t.Error(diff)
	}
}
