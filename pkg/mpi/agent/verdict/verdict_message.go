package verdict

import (
	"fmt"
	"strings"
	"syscall"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/program"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// verdictMessage says how the job ended and why, nothing of a success without a word.
func (e Evidence) verdictMessage(c Cause) string {
	ended := fmt.Sprintf("the command %s %s", quoteCommand(e.Argv), e.Status)
	switch {
	case e.Hang != nil && e.Stopped == 0 && e.failedBeforeHang(c.Rank):
		return c.headline() + "then " + e.Hang.String()
	case c.Reason == "":
		return joinParts(e.ignoredFailures(), e.idleNodes())
	case c.Reason == diagnose.LaunchAbandoned:
		return fmt.Sprintf("%s while its launch `%s` still ran, which ended with it (%s=true allows that)", ended, e.Unfinished, AllowUnfinishedVariable)
	case c.short != nil:
		return ended + c.short.describe(e.Runtime)
	case c.Reason == mpi.ReasonWorldIncomplete:
		return ended + ", but " + e.whyIncomplete()
	case c.Reason == mpi.ReasonCommandKilled && e.Status.Signal() == syscall.SIGSEGV: // the launcher is a launch daemon too, where it runs ranks
		return c.headline() + ended + e.mpmdHint() + e.describeCircumstances()
	case e.Status.Code() != 0:
		return c.headline() + ended + explainCode(e.Status) + e.describeCircumstances()
	case c.Rank != nil:
		return c.headline() + ended + hydraUnreported
	case c.ofDaemon:
		return c.headline() + ended + e.mpmdHint() + e.describeCircumstances()
	}
	return c.headline() + ended + e.describeCircumstances()
}

// joinParts joins two parts, of which each may be empty.
func joinParts(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// headline begins a message: who failed, and how.
func (c Cause) headline() string {
	summary := c.summary()
	switch {
	case c.Lost:
		return diagnose.WorkerName(c.Host) + " was lost; "
	case summary == "":
		return ""
	case c.Host == "":
		return summary + "; "
	}
	return diagnose.WorkerName(c.Host) + " failed: " + summary + "; "
}

// summary is for the sentence `Worker 2 failed: SUMMARY`, empty when the end of the command says it all.
func (c Cause) summary() string {
	switch {
	case c.said != nil && c.Rank != nil:
		return c.said.Summary + " (" + describeEnd(*c.Rank) + ")"
	case c.said != nil:
		return c.said.Summary
	case c.Reason == diagnose.OOMKilled && c.Rank != nil:
		return "out of memory" + describeMemory(c.memory) + ": " + describeEnd(*c.Rank)
	case c.Reason == diagnose.OOMKilled:
		return "out of memory" + describeMemory(c.memory)
	case c.daemon != 0:
		return describeDaemonEnd(c.daemon)
	case c.ofDaemon:
		return "the launcher lost its launch daemon, and ended the ranks"
	case c.Rank == nil:
		return ""
	case c.Reason == diagnose.SharedMemoryTooSmall:
		return describeEnd(*c.Rank) + ": most often /dev/shm is too small"
	}
	return describeEnd(*c.Rank)
}

// describeMemory returns how much memory a pod used, and its limit, as a parenthesis.
func describeMemory(u *mpi.PodUsage) string {
	switch {
	case u == nil || u.MemoryPeak == 0:
		return ""
	case u.MemoryLimit == 0:
		return fmt.Sprintf(" (%s in use, without a limit)", mpi.FormatBytes(u.MemoryPeak))
	}
	return fmt.Sprintf(" (%s in use, limit %s)", mpi.FormatBytes(u.MemoryPeak), mpi.FormatBytes(u.MemoryLimit))
}

// describeCircumstances names what else went wrong, the earliest cause first, as a continuation of a sentence.
func (e Evidence) describeCircumstances() string {
	var causes []string
	if e.Stopped != 0 {
		causes = append(causes, "the pod was asked to stop ("+process.SignalName(e.Stopped)+")")
	}
	if len(e.Losses) > 0 {
		causes = append(causes, e.Losses[0].String())
	}
	for i, r := range e.podReports() {
		where := "on " + hosts.FirstLabel(r.Name)
		if i == 0 {
			where = "in the launcher's pod"
		}
		switch {
		case r.Error != "":
		case r.OOMKills == 1:
			causes = append(causes, where+" the kernel killed a process for lack of memory")
		case r.OOMKills > 1:
			causes = append(causes, fmt.Sprintf("%s the kernel killed %d processes for lack of memory", where, r.OOMKills))
		}
	}
	// orted leaves its remote shell at once, so no loss tells of a node that went away under Open MPI 4.
	if silent := e.silentNodes(); len(silent) > 0 {
		causes = append(causes, "no answer any more from "+hosts.ListNames(silent))
	}
	if len(causes) == 0 {
		return ""
	}
	return "; " + program.Abbreviate(strings.Join(causes, "; "), 1500)
}

// explainCode names what a code may stand for: with one above 128 shells and MPI launchers report by which signal a process of
// theirs died. It is not proof: Open MPI 4 exits with 132 when it cannot start a program, and nobody had a SIGILL.
func explainCode(status process.Status) string {
	if status.Code() == timedOut {
		return " (as `timeout` does when the time is up)"
	}
	if name := signalOfCode(status.Code()); status.Signal() == 0 && name != "" {
		return " (as after " + name + ")"
	}
	return ""
}

// signalOfCode names the signal that a code stands for, nothing for a code of no signal.
func signalOfCode(code int) string {
	signal := syscall.Signal(code - 128)
	if name := process.SignalName(signal); signal > 0 && strings.HasPrefix(name, "SIG") {
		return name
	}
	return ""
}

// describeDaemonEnd says how a launch daemon ended that did not end by itself. A code that is not a signal's, as 255 of prted that crashed, does not
// tell a kill from a crash.
func describeDaemonEnd(code int) string {
	ended := fmt.Sprintf("the launch daemon ended with code %d", code)
	switch name := signalOfCode(code); {
	case code == program.CodeToldToEnd:
		return "the launch daemon was told to end (SIGTERM), as when its pod is deleted or evicted, or when a process there sends it that"
	case name == process.SignalName(syscall.SIGKILL):
		return ended + ", as after a kill"
	case name != "":
		return ended + ", as after " + name
	}
	return ended + " before its launch was over: it crashed, or somebody ended it"
}

// describeEnd says how a rank ended, for example `rank 3 exited with code 3` or `rank 0 was killed by SIGSEGV`.
func describeEnd(end mpi.RankEnd) string { return rankName(end) + " " + describeRankEnd(end) }

func rankName(end mpi.RankEnd) string {
	if end.Rank == nil {
		return "a rank"
	}
	return fmt.Sprintf("rank %d", *end.Rank)
}

func describeRankEnd(end mpi.RankEnd) string {
	switch {
	case end.Early:
		return "ended before it came to MPI_Init, where the others waited for it, and nobody saw how"
	case end.Signal != "":
		return "was killed by " + end.Signal
	}
	return process.Status(end.Code << 8).String()
}

func quoteCommand(argv []string) string {
	return "`" + program.QuoteWords(mpi.UnwrapFilesDir(argv)) + "`"
}
