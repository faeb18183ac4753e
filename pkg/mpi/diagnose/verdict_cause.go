package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
)

// launcherVerdictCause passes on what the launcher's agent says. It knows of processes that the kernel killed on its nodes, which
// is the cause behind a command that failed.
func launcherVerdictCause(pod Pod, all []Pod) *Cause {
	end := pod.mainEnd()
	if end == nil || !pod.isLauncher() {
		return nil
	}
	verdict, err := mpi.DecodeVerdict(end.Message)
	if err != nil || verdict.Succeeded() {
		return nil
	}
	return verdictCause(pod, verdict, all).withTime(end.At, reportedByAgent)
}

func verdictCause(pod Pod, verdict mpi.Verdict, all []Pod) *Cause {
	reason, message := verdict.Reason, VerdictSentence(verdict)
	if _, documented := ReasonDocOf(reason); !documented {
		// The programs of a job can write the message too, and no condition takes any text as its reason.
		reason = fallbackReason(pod)
	}
	if message == "" {
		message = fmt.Sprintf("the command exited with code %d", verdict.ExitCode)
	}
	if isKilledForMemory(verdict) {
		reason, message = OOMKilled, prefixOutOfMemory(message, verdict.OOMKills)
	}
	where, found := podOfHost(all, cmp.Or(verdict.Host, verdict.Lost))
	by, words := whoEndedWorker(verdict, where, found, all)
	reason, message = cmp.Or(by, reason), message+words
	ofLauncher := found && where.isLauncher() || isOnlyInLauncher(verdict)
	switch {
	case found:
		message += " (" + where.describePlace() + ")"
	case verdict.Host == "" && verdict.Lost == "":
		where, message = pod, launcherName+" failed: "+message+" ("+pod.describePlace()+")"
	default:
		where = pod // the message names the worker, whose pod is gone
	}
	cause := causeWithRemedy(reason, message).withPod(where)
	cause.shown = words != ""
	if ofLauncher {
		cause.withLauncherMemoryRemedy(pod)
	}
	cause.Lines = quotedLinesOf(verdict)
	cause.ExitCode = max(verdict.ExitCode, 0)
	if rank := verdict.Rank; rank != nil {
		cause.Rank, cause.ExitCode, cause.Signal = rank.Rank, rank.Code, rank.Signal
	}
	return cause
}

// LinesBytes is how much the last lines of a verdict are, less the first one: the agent writes no more, and no more is told.
const LinesBytes = 1500

// quotedLinesOf returns the last lines of a verdict as they may be shown. The agent has quoted them already, and has put the line that
// says why before the last ones; any program of the job can write a termination message too, with secrets, and with more than a
// line in one.
func quotedLinesOf(verdict mpi.Verdict) []string {
	var all []string
	for _, line := range verdict.Lines {
		all = append(all, strings.Split(Redact(line), "\n")...)
	}
	first := min(1, len(all))
	return append(QuoteLines(all[:first], maxLine), QuoteLines(all[first:], LinesBytes)...)
}

// VerdictSentence returns the message of a verdict as it may be shown, for the same reason: as one line.
func VerdictSentence(verdict mpi.Verdict) string { return joinLines(verdict.Message) }

func joinLines(text string) string {
	var parts []string
	for part := range strings.FieldsFuncSeq(Redact(text), func(r rune) bool { return r == '\n' || r == '\r' }) {
		if part = strings.TrimSpace(Redact(StripEscapes(part))); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, " ")
}

// endings are reasons that say how something ended, and not why.
var endings = []mpi.Reason{CommandFailed, CommandKilled, RankFailed, RankKilled, LaunchDaemonLost, PeerFailed}

// isKilledForMemory reports whether the kernel is behind what the launcher's agent blames. It is not where that has a cause of its
// own, such as a hang, or where somebody asked the pod to stop: a killed process may be one that the job did without.
func isKilledForMemory(verdict mpi.Verdict) bool {
	return verdict.OOMKills > 0 && verdict.Stopped == "" && slices.Contains(endings, verdict.Reason)
}

// prefixOutOfMemory begins a message with what the kernel did, unless it tells that already.
func prefixOutOfMemory(message string, kills int) string {
	const why = "for lack of memory"
	if strings.Contains(message, why) {
		return message
	}
	processes := "a process"
	if kills > 1 {
		processes = fmt.Sprintf("%d processes", kills)
	}
	return fmt.Sprintf("the kernel killed %s of the job %s; %s", processes, why, message)
}
