package verdict

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// KilledAfterGrace is the verdict should kubelet kill the agent, because its pod's grace is over.
func KilledAfterGrace(argv []string, signal syscall.Signal) mpi.Verdict {
	name := process.SignalName(signal)
	return mpi.Verdict{
		Reason: mpi.ReasonCommandKilled, ExitCode: 128 + int(syscall.SIGKILL), Stopped: name,
		Message: fmt.Sprintf("the pod was asked to stop (%s), and the command %s had not ended when its grace was over", name, quoteCommand(argv)),
	}
}

// notRun is the exit code in the verdict of a command that never ran.
const notRun = -1

// CommandNotStarted is the verdict of a command that was not started.
func CommandNotStarted(reason mpi.Reason, err error) mpi.Verdict {
	return mpi.Verdict{Reason: reason, Message: err.Error(), ExitCode: notRun}
}

// AgentFailed is the verdict when the agent cannot even begin.
func AgentFailed(err error) (mpi.Verdict, int) {
	return CommandNotStarted(mpi.ReasonAgentFailed, err), process.CodeAgentFailed
}

// StoppedInGate is the verdict of a pod that was asked to stop while its gate waited.
func StoppedInGate(signal syscall.Signal, result mpi.GateResult) mpi.Verdict {
	message := fmt.Sprintf("the pod was asked to stop (%s) while the launcher waited for its nodes", process.SignalName(signal))
	if len(result.Failures) > 0 {
		message += ": " + hosts.DescribeFailures(result.Failures)
	}
	return mpi.Verdict{Reason: mpi.ReasonCommandKilled, Message: message, ExitCode: notRun, GateSeconds: result.Seconds, Stopped: process.SignalName(signal)}
}

// GateFailed is the verdict of a gate that did not pass, with what to check.
func GateFailed(result mpi.GateResult) mpi.Verdict {
	reason := diagnose.GateReason(result.Failures)
	return mpi.Verdict{
		Reason: reason, ExitCode: notRun, GateSeconds: result.Seconds, Host: singleHost(result.Failures),
		Message: fmt.Sprintf("%s%d nodes did not answer on port %d within %.1f s: %s%s", diagnose.GateHeadline(result.Failures),
			len(result.Failures), mpi.AgentPort, result.Seconds, describeWorkers(result.Failures), remediesOf(result.Failures)),
	}
}

// describeWorkers names some nodes as users count them, for example `Worker 1 demo-node-0-1 (10.244.1.5): connection refused`.
func describeWorkers(failures []mpi.NodeFailure) string {
	named := slices.Clone(failures)
	for i, failure := range failures {
		if worker := diagnose.WorkerName(failure.Name); worker != hosts.FirstLabel(failure.Name) {
			named[i].Name = worker + " " + hosts.FirstLabel(failure.Name)
		}
	}
	return hosts.DescribeFailures(named)
}

// singleHost returns the host of the one failure, or nothing.
func singleHost(failures []mpi.NodeFailure) string {
	if len(failures) != 1 {
		return ""
	}
	return failures[0].Name
}

// causeInFailure is the cause at the end of a failure that was passed on.
func causeInFailure(failure string) client.Cause {
	if strings.HasPrefix(failure, string(client.OtherPod)) {
		return client.OtherPod
	}
	if end := strings.LastIndex(failure, " ("); end > 0 && strings.HasSuffix(failure, ")") {
		failure = failure[:end] // what the cause was seen by
	}
	return client.Cause(strings.TrimSpace(failure[strings.LastIndex(failure, ":")+1:]))
}

// remediesOf says what to check, once per cause.
func remediesOf(failures []mpi.NodeFailure) string {
	seen, text := map[string]bool{}, ""
	for _, failure := range failures {
		if remedy := causeInFailure(failure.Error).Remedy(); !seen[remedy] {
			seen[remedy], text = true, text+"; "+remedy
		}
	}
	return text
}
