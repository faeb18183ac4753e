package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// BlockedConnection is a connection between two pods of the job that nobody answers.
type BlockedConnection struct {
	From, To mpi.HostAddress
	Port     uint16
	// Open is how long it has been without an answer.
	Open time.Duration
}

func (b BlockedConnection) String() string {
	return fmt.Sprintf("%s: no answer for more than %v", b.Connection(), b.Open.Round(time.Second))
}

// Connection names the two ends.
func (b BlockedConnection) Connection() string {
	return fmt.Sprintf("MPI communication failure - check NetworkPolicies: %s (%s) cannot reach %s (%s) port %d",
		diagnose.WorkerName(b.From.Name), b.From.Address, diagnose.WorkerName(b.To.Name), b.To.Address, b.Port)
}

// Hang is a job in which nothing has happened for as long as its user allows.
type Hang struct {
	After time.Duration
	// CPUCounts reports whether CPU time would have counted as progress.
	CPUCounts bool
	// Pods are what the processes were doing, by the first labels of host names.
	Pods map[string]mpi.Progress
}

// lastWords is how long ranks may go on to print after another one has failed, before they only wait: PyTorch's watchdog tells of a collective that
// does not end after ten minutes, by default.
const lastWords = 11 * time.Minute

// failedBeforeHang reports whether a rank had failed before the job fell silent, and so that the others waited for it: not all launchers end the
// others, as the shell that started torchrun on each node, and ranks in NCCL may wait for one that is gone. One that failed long
// before was not waited for: torchrun may have started another in its place.
func (e Evidence) failedBeforeHang(rank *mpi.RankEnd) bool {
	if rank == nil {
		return false
	}
	ago := time.Duration(rank.Ago*float64(time.Second)) - e.Now.Sub(e.Ended)
	return ago >= e.Hang.After && ago <= e.Hang.After+lastWords
}

// maxStuck is the number of ranks that a message describes.
const maxStuck = 8

// String says what was seen, the lowest ranks first.
func (h Hang) String() string {
	type located struct {
		host string
		mpi.StuckProcess
	}
	var ranks []located
	processes, did := 0, "wrote anything"
	for host, progress := range h.Pods {
		processes += progress.Processes
		for _, stuck := range progress.Evidence {
			if stuck.Rank >= 0 && !slices.ContainsFunc(ranks, func(l located) bool { return l.Rank == stuck.Rank }) {
				ranks = append(ranks, located{host, stuck}) // the first of a rank is the rank, others its children
			}
		}
	}
	slices.SortFunc(ranks, func(a, b located) int { return a.Rank - b.Rank })
	if h.CPUCounts {
		did += " or computed"
	}
	text := fmt.Sprintf("none of the %d processes of the job %s for %v", processes, did, h.After)
	for i, rank := range ranks {
		if i == maxStuck {
			return fmt.Sprintf("%s; and %d more ranks", text, len(ranks)-maxStuck)
		}
		text += fmt.Sprintf("; rank %d (%s, pid %d on %s) is %s", rank.Rank, rank.Name, rank.PID, rank.host, describeStuck(rank.StuckProcess))
	}
	return text
}

func describeStuck(s mpi.StuckProcess) string {
	text := s.State
	switch {
	case s.Wait != "":
		text += " in " + s.Wait
	case s.Call != "":
		text += " in " + s.Call
	}
	if len(s.Stack) > 0 {
		text += " (" + strings.Join(s.Stack, " < ") + ")"
	}
	return text
}
