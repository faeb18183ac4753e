package diagnose

import (
	"slices"
	"strings"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

// Cause is why a job failed or does not start.
type Cause struct {
	// Reason is one of Entries.
	Reason mpi.Reason `json:"reason"`
	// Message says what happened, in one line, with evidence.
	Message string `json:"message"`
	// Evidence holds what others said about it, word by word: kubelet, the API server.
	Evidence []string `json:"evidence,omitempty"`
	// Lines are the last lines of the program that failed, without secrets. The pod that has them all may be gone by now.
	Lines []string `json:"lines,omitempty"`
	// Remedy says what to do.
	Remedy string `json:"remedy,omitempty"`
	// URL is the address of the page about the reason, empty if the message has no link.
	URL string `json:"url,omitempty"`
	// Pod is the name of the pod where it happened, Machine that of its Kubernetes node, where they are known.
	Pod     string `json:"pod,omitempty"`
	Machine string `json:"machine,omitempty"`
	// Rank is the first rank that failed; nil when none is known.
	Rank *int `json:"rank,omitempty"`
	// ExitCode is the exit code of what failed, 128+n after signal n; 0 when there is none.
	ExitCode int `json:"exitCode,omitempty"`
	// Signal is the name of the signal that ended it, for example SIGKILL, or empty.
	Signal string `json:"signal,omitempty"`
	// At is when it happened, to the second; zero when nobody knows.
	At time.Time `json:"at,omitzero"`

	precedence precedence
	// shown says that the pod of a lost worker, or its agent, shows how it ended.
	shown bool
}

// Text is what users read: what happened, and what to do. The last lines of the program follow below.
func (c Cause) Text() string {
	text := c.Message
	if c.Remedy != "" {
		text = strings.TrimRight(text, ".") + remedyPrefix + c.Remedy
	}
	if c.URL != "" {
		text = strings.TrimRight(text, ".") + pagePrefix + c.URL
	}
	if len(c.Lines) > 0 {
		text += "\n" + lastLines + "\n" + strings.Join(c.Lines, "\n")
	}
	return text
}

const (
	// remedyPrefix stands before the remedy, pagePrefix before the address of a page, lastLines before the last lines of
	// a program.
	remedyPrefix = ". What to do: "
	pagePrefix   = ". More: "
	lastLines    = "Last lines:"
)

// IsInfrastructure reports whether the same job may well succeed when it is started again.
func (c Cause) IsInfrastructure() bool { return IsInfrastructureReason(c.Reason) }

// IsProvisional reports whether better evidence may come within moments: the launcher lost a node, and the status of the pod
// there does not say why yet. Where it shows an agent that was told to end it says all that it will, and is gone in a moment.
func (c Cause) IsProvisional() bool {
	return c.Reason == WorkerLost && c.precedence == reportedByAgent && !c.shown
}

// MayBeEviction reports whether an event of kubelet may explain it better, which comes before what it explains: of a pod that it evicts
// because of the size of a volume only an event says so, and the agent there is told to end as by anybody else.
func (c Cause) MayBeEviction() bool {
	return (c.Reason == WorkerLost || c.Reason == WorkerKilled) && c.precedence == reportedByAgent
}

// faultSignals are the signals by which only a program itself ends: nobody sends them to stop it or to save memory.
var faultSignals = []string{"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGTRAP", "SIGSYS"}

// IsFinal reports whether no evidence that comes later can explain it better: the agent of the launcher saw a program of the job
// end by itself. What another signal ended, or who lost somebody, may have the kernel or a kubelet behind it, whose word
// comes a second later.
func (c Cause) IsFinal() bool {
	switch c.Reason {
	case RankKilled:
		return c.precedence == reportedByAgent && slices.Contains(faultSignals, c.Signal)
	case CommandKilled, WorkerKilled, LaunchDaemonLost, MPIFailed, PeerFailed, NCCLFailed, NCCLTimeout, RDMAFailed:
		return false
	}
	return c.precedence == reportedByAgent && !c.IsInfrastructure()
}

// WithStartProblem returns the cause of a launcher that gave up waiting: what kept the pods from running, if that is known.
func (c Cause) WithStartProblem(problem mpi.Reason, text string) *Cause {
	if _, documented := ReasonDocOf(problem); c.Reason == GateTimeout && documented {
		c.Reason, c.Message, c.Remedy = problem, text+". The launcher gave up: "+c.Message, ""
	}
	return &c
}

// causeWithRemedy returns a cause with the remedy of its reason.
func causeWithRemedy(reason mpi.Reason, message string) *Cause {
	entry, _ := ReasonDocOf(reason)
	return &Cause{Reason: reason, Message: message, Remedy: entry.Remedy}
}

// withPod names the pod.
func (c *Cause) withPod(pod Pod) *Cause {
	c.Pod, c.Machine = pod.Name, pod.Machine
	return c
}

func (c *Cause) withTime(when time.Time, order precedence) *Cause {
	c.At, c.precedence = when, order
	return c
}

func (c *Cause) withEvidence(words ...string) *Cause {
	for _, w := range words {
		if w != "" {
			c.Evidence = append(c.Evidence, w)
		}
	}
	return c
}

// precedence decides between causes of the same second: a smaller one is closer to the root. It follows from who does
// what to whom: the control plane takes pods away, the kernel and people end them, and then containers, ranks and at last
// the launcher end because of that.
type precedence int

const (
	// takenByControlPlane: the control plane said that it takes the pod away.
	takenByControlPlane precedence = iota
	// evictedByKubelet: kubelet evicted the pod or did not admit it.
	evictedByKubelet
	// outOfMemory: the kernel killed for memory.
	outOfMemory
	// deletedByUnknown: the pod is being deleted, and nobody said why.
	deletedByUnknown
	// initContainerFailed: an init container failed.
	initContainerFailed
	// nodeEnded: a node's container ended.
	nodeEnded
	// reportedByAgent: the launcher's agent says it.
	reportedByAgent
	// launcherExited: the launcher's container ended, and all there is, is its exit code.
	launcherExited
)

// isEarlierCause reports whether a cause comes before another. A cause of unknown time counts as of the same second.
func isEarlierCause(a, b Cause) bool {
	if a.At.IsZero() || b.At.IsZero() || a.At.Truncate(time.Second).Equal(b.At.Truncate(time.Second)) {
		return a.precedence < b.precedence
	}
	return a.At.Before(b.At)
}
