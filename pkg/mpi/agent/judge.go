package agent

import (
	"fmt"
	"strings"
	"syscall"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
)

// facts are all that is known when the user's command has ended.
type facts struct {
	// argv is the user's command.
	argv   []string
	status process.Status
	// stopped is the signal by which the pod was asked to stop, 0 for none.
	stopped syscall.Signal
	// oomKills counts the processes of the launcher's pod that the kernel killed for memory while the command ran.
	oomKills int
	// reports are those of the nodes, without the launcher.
	reports []mpi.NodeReport
	losses  []loss
	// allowIdle says that a node without ranks is fine.
	allowIdle bool
}

// judge decides how the job ended. The exit code of the command decides when it is not 0. When it is 0, the nodes must
// agree: Open MPI 5 can exit 0 after losing a daemon, and a launcher that ignores its hostfile runs alone and exits 0.
func judge(f facts) mpi.Verdict {
	verdict := mpi.Verdict{ExitCode: f.status.Code(), OOMKills: f.allOOMKills(), Nodes: f.reports}
	command := quoteCommand(f.argv)
	switch {
	case f.status.Signal() != 0:
		verdict.Reason = mpi.ReasonCommandKilled
		verdict.Message = fmt.Sprintf("the command %s %s", command, f.status) + evidence(f)
	case f.status.Code() != 0:
		verdict.Reason = mpi.ReasonCommandFailed
		verdict.Message = fmt.Sprintf("the command %s %s%s", command, f.status, signalBehind(f.status)) + evidence(f)
	default:
		if doubt := doubts(f); doubt != "" {
			verdict.Reason = mpi.ReasonWorldIncomplete
			verdict.Message = fmt.Sprintf("the command %s exited with code 0, but %s", command, doubt)
		}
	}
	return verdict
}

func (f facts) allOOMKills() int {
	kills := f.oomKills
	for _, r := range f.reports {
		kills += r.OOMKills
	}
	return kills
}

// signalBehind names the signal that a code above 128 may stand for: shells and MPI launchers report so how a process of
// theirs died. It is no proof: Open MPI 4 exits with 132 when it cannot start a program, and nobody had a SIGILL.
func signalBehind(status process.Status) string {
	signal := syscall.Signal(status.Code() - 128)
	if name := process.SignalName(signal); signal > 0 && strings.HasPrefix(name, "SIG") {
		return " (as after " + name + ")"
	}
	return ""
}

// evidence names what else went wrong, the earliest cause first, as a continuation of a sentence.
func evidence(f facts) string {
	var causes, silent []string
	if f.stopped != 0 {
		causes = append(causes, "the pod was asked to stop ("+process.SignalName(f.stopped)+")")
	}
	if len(f.losses) > 0 {
		causes = append(causes, f.losses[0].String())
	}
	if f.oomKills > 0 {
		causes = append(causes, outOfMemory("in the launcher's pod", f.oomKills))
	}
	for _, r := range f.reports {
		switch {
		case r.Error != "":
			// orted leaves its remote shell at once, so no loss tells of a node that went away under Open MPI 4.
			silent = append(silent, firstLabel(r.Name)+" ("+r.Error+")")
		case r.OOMKills > 0:
			causes = append(causes, outOfMemory("on "+firstLabel(r.Name), r.OOMKills))
		}
	}
	if len(silent) > 0 {
		causes = append(causes, "no answer any more from "+enumerate(silent))
	}
	if len(causes) == 0 {
		return ""
	}
	return "; " + abbreviate(strings.Join(causes, "; "), 1500)
}

func outOfMemory(where string, kills int) string {
	processes := "a process"
	if kills > 1 {
		processes = fmt.Sprintf("%d processes", kills)
	}
	return fmt.Sprintf("%s the kernel killed %s for lack of memory (raise the memory limit or use less)", where, processes)
}

// doubts says why a command that exited 0 did not do the job, or nothing.
func doubts(f facts) string {
	if len(f.losses) > 0 {
		return f.losses[0].String()
	}
	var silent, idle, killed []string
	for _, r := range f.reports {
		name := firstLabel(r.Name)
		switch {
		case r.Error != "":
			silent = append(silent, name+" ("+r.Error+")")
		case r.Daemons == 0:
			idle = append(idle, name)
		case r.LastExitCode > 128:
			killed = append(killed, name)
		}
	}
	switch {
	case len(silent) > 0:
		return "no report could be had from " + enumerate(silent) + ", so nobody knows what ran there"
	case len(killed) > 0:
		return "the launch daemon was killed on " + enumerate(killed)
	case len(idle) > 0 && !f.allowIdle:
		return fmt.Sprintf("no rank ever ran on %d of %d nodes: %s; check that the command starts ranks with mpirun on all hosts of the hostfile and that the runtime names the right MPI implementation and version",
			len(idle), len(f.reports), enumerate(idle))
	}
	return ""
}

// enumerate lists some names and counts the rest.
func enumerate(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}

func quoteCommand(argv []string) string {
	return "`" + abbreviate(strings.Join(argv, " "), 200) + "`"
}
