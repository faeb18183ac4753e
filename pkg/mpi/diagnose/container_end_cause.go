package diagnose

import (
	"fmt"
	"slices"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

func initContainerCause(pod Pod, _ []Pod) *Cause {
	for _, c := range pod.Containers {
		if !c.Init || c.End == nil || c.End.Code == 0 && c.End.Signal == 0 {
			continue
		}
		if c.End.failedToStart() {
			return startFailureCause(pod, c)
		}
		message := fmt.Sprintf("%s failed: its init container `%s` %s", pod.fullName(), c.Name, c.End)
		cause := causeWithRemedy(InitFailed, message).withPod(pod).withTime(c.End.At, initContainerFailed)
		return cause.withEvidence(c.End.Message).withContainerEnd(*c.End).withLinesOf(pod, c)
	}
	return nil
}

// failedToStart reports whether a container was made whose program could not be started. The termination message is then kubelet's, and
// has the words of the container runtime: containerd's reason, or that of older kubelets.
func (e ContainerEnd) failedToStart() bool {
	return e.Reason == "StartError" || e.Reason == "ContainerCannotRun"
}

// argumentTooLong are the words of the operating system (E2BIG).
var argumentTooLong = rx(`(?i)argument list too long`)

// startFailureCause quotes why the program of a container could not be started: there is no log of it.
func startFailureCause(pod Pod, c Container) *Cause {
	words := ClipBytes(joinLines(c.End.Message), LinesBytes)
	message := fmt.Sprintf("%s: container `%s` could not be started", pod.fullName(), c.Name)
	if words != "" {
		message += ": " + words
	}
	reason := ContainerStartFailed
	if argumentTooLong.MatchString(words) {
		reason = ArgumentTooLong
	}
	cause := causeWithRemedy(reason, message).withPod(pod).withTime(c.End.At, initContainerFailed)
	return cause.withEvidence(words).withContainerEnd(*c.End)
}

// containerEndCause is the end of a main container without a verdict: a node, or a launcher whose agent had no last word.
func containerEndCause(pod Pod, all []Pod) *Cause {
	end := pod.mainEnd()
	if end == nil {
		return nil
	}
	if end.failedToStart() {
		return startFailureCause(pod, *pod.mainContainer())
	}
	reason, order := fallbackReason(pod), nodeEnded
	if pod.isLauncher() {
		order = launcherExited
	}
	switch {
	case end.isOutOfMemory():
		reason, order = OOMKilled, outOfMemory
	case end.signalNumber() > 0 && pod.isLauncher():
		reason = LauncherKilled
	case end.signalNumber() > 0:
		reason = WorkerKilled
	}
	message := fmt.Sprintf("%s failed: container `%s` %s", pod.fullName(), mpi.Container, end)
	if limit := pod.mainContainer().MemoryLimit; limit != "" && reason == OOMKilled {
		message += " at its memory limit of " + limit
	}
	cause := causeWithRemedy(reason, message).withPod(pod).withTime(end.At, order).withContainerEnd(*end)
	launcherRan := func(p Pod) bool {
		main := p.mainContainer()
		return p.isLauncher() && main != nil && (main.Waiting == nil || main.LastEnd != nil)
	}
	if reason == WorkerFailed && !slices.ContainsFunc(all, launcherRan) {
		cause.Remedy = fmt.Sprintf("`kubectl logs %s -c %s` shows why it ended, while the pod exists; the launcher never ran",
			pod.Name, mpi.Container)
	}
	return cause.withLauncherMemoryRemedy(pod).withLinesOf(pod, *pod.mainContainer())
}

// withLinesOf adds the last lines of a container, and what to do if kubelet has started it again until its Job gave up.
func (c *Cause) withLinesOf(pod Pod, of Container) *Cause {
	c.Lines = of.End.lastLines()
	if pod.GivenUp && c.Reason != OOMKilled {
		c.Message += " each time that it was started, until its Job gave up"
		c.Remedy = crashLoopRemedy(pod, of)
	}
	return c
}

func (c *Cause) withContainerEnd(end ContainerEnd) *Cause {
	c.ExitCode = end.Code
	if signal := end.signalNumber(); signal > 0 {
		c.Signal = SignalName(signal)
	}
	return c
}

func fallbackReason(pod Pod) mpi.Reason {
	if pod.isLauncher() {
		return LauncherFailed
	}
	return WorkerFailed
}

// endAt is the best time for a pod without an ended container.
func (p Pod) endAt() time.Time {
	if end := p.mainEnd(); end != nil {
		return end.At
	}
	return p.Started
}
