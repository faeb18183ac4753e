package verdict

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// Judge decides how a job ended, and with which code its agent ends. A hang is the cause of the end that we made of it, unless a rank had failed for
// which the others then waited, a connection that nobody answered of one that has no better cause, and nothing that did not succeed ends with 0.
func Judge(e Evidence) (mpi.Verdict, int) {
	verdict := judgeCommand(e)
	switch {
	case e.Hang != nil && e.Stopped == 0 && e.failedBeforeHang(verdict.Rank):
		return verdict, process.CodeAgentFailed
	case e.Hang != nil && e.Stopped == 0:
		return judgeObstacle(verdict, mpi.ReasonHang, "", e.Hang.String()), process.CodeAgentFailed
	case e.Stuck != nil && e.Stopped == 0 && !e.newestLaunchTime().After(e.Stuck.Ended):
		return e.judgeStuck(verdict)
	case e.Blocked != nil && verdict.Stopped == "" && (verdict.Reason == mpi.ReasonCommandFailed || verdict.Reason == diagnose.LaunchDaemonLost):
		verdict = judgeObstacle(verdict, diagnose.MPIPortsBlocked, e.Blocked.From.Name, e.Blocked.String())
	}
	if !verdict.Succeeded() && verdict.ExitCode == 0 {
		return verdict, process.CodeAgentFailed
	}
	return verdict, verdict.ExitCode
}

// judgeObstacle names an obstacle as the cause: how the command ended is only what came of it.
func judgeObstacle(verdict mpi.Verdict, reason mpi.Reason, host, message string) mpi.Verdict {
	verdict.Reason, verdict.Host, verdict.Message = reason, host, message
	verdict.Lost, verdict.LostSeconds, verdict.Rank = "", 0, nil
	return verdict
}

// judgeCommand decides by the command, its ranks and the nodes. The exit code of the command decides when it is not 0. When it is 0, the nodes
// must agree: Open MPI 5 can exit 0 after losing a daemon, Hydra after losing how ranks ended, and a launcher that ignores its
// hostfile runs alone and exits 0.
func judgeCommand(e Evidence) mpi.Verdict {
	e = e.assignEarlyExitNumbers()
	verdict := mpi.Verdict{ExitCode: e.Status.Code(), OOMKills: e.totalOOMKills(), LauncherOOMKills: e.Own.OOMKills, Nodes: e.Reports}
	if e.Stopped != 0 {
		verdict.Stopped = process.SignalName(e.Stopped)
	}
	e = e.withNewestLaunchOnly()
	decide := e.failureCause
	if e.Status.Code() == 0 {
		decide = e.successDoubt
	}
	cause := e.notRunnableCause(decide())
	verdict.Reason, verdict.Host, verdict.Rank, verdict.Message = cause.Reason, cause.Host, cause.Rank, e.verdictMessage(cause)
	if cause.Lost {
		verdict.Lost, verdict.LostSeconds = cause.Host, e.silentSeconds(cause.Host)
	}
	if e.Status.Code() != 0 || cause.Rank != nil {
		verdict.Lines = e.lastLines(cause)
	}
	return verdict
}

// silentSeconds is how many seconds ago a lost node had stopped answering, 0 when nobody noticed.
func (e Evidence) silentSeconds(lost string) float64 {
	for _, l := range e.Losses {
		if l.Host == lost && !l.Since.IsZero() {
			return mpi.RoundSeconds(e.Now.Sub(l.Since).Seconds())
		}
	}
	return 0
}

// totalOOMKills counts what the kernel killed for memory in all pods of the job.
func (e Evidence) totalOOMKills() int {
	kills := 0
	for _, r := range e.podReports() {
		kills += r.OOMKills
	}
	return kills
}

// lastLines returns the last lines of the rank that is to blame, with the line that says why.
func (e Evidence) lastLines(c Cause) []string {
	lines := e.Lines
	if c.Rank != nil {
		lines = diagnose.LinesOfRankOrAll(lines, c.Rank.Rank)
	}
	quoted := diagnose.QuoteLines(diagnose.WithoutNoise(lines), diagnose.LinesBytes)
	if c.output != nil && !slices.ContainsFunc(quoted, func(line string) bool { return isSameLine(line, c.output.Line) }) {
		quoted = append([]string{c.output.Line}, quoted...)
	}
	return quoted
}

// isSameLine reports whether a quoted line is one that was found, of which each may be cut at its end, and the quoted one may have the tag of a rank.
func isSameLine(quoted, found string) bool {
	_, quoted = diagnose.CutRankTag(quoted)
	return strings.HasPrefix(found, strings.TrimSuffix(quoted, "…"))
}
