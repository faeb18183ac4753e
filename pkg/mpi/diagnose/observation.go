package diagnose

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

// Pod is what the control plane shows of a launcher or a node.
type Pod struct {
	Name string
	// Role is mpi.LauncherJob or mpi.NodeJob, Index the number within the role, from 0.
	Role  string
	Index int
	// Machine is the Kubernetes node, empty as long as there is none.
	Machine string
	// Failed says that the phase of the pod is Failed; Reason and Message are those of its status.
	Failed          bool
	Reason, Message string
	// Started is when kubelet took the pod, or when it was made.
	Started time.Time
	// Deleted is when somebody asked for its deletion; zero while nobody has.
	Deleted time.Time
	// GivenUp says that its Job takes the pod away, because its containers were started again as often as the Job allows. The
	// pod has failed then, and its containers ended as they did the last time.
	GivenUp bool
	// Unschedulable is what the scheduler says of a pod that it cannot place, otherwise empty.
	Unschedulable string
	// Gates are the names of the scheduling gates that still hold the pod back, in its order.
	Gates []string
	// RunsRanks says of a launcher that it is one of the nodes, and has their resources; MemoryLimit is that of a launcher's
	// container, empty where it is not known.
	RunsRanks   bool
	MemoryLimit string
	// GPUs is how many accelerators the pod asks for, GPUResource their resource.
	GPUs        int64
	GPUResource string
	// Disruption is the condition that the control plane leaves on a pod that it takes away, or nil
	// (https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions).
	Disruption *Disruption
	// Containers are all of the pod, init containers first.
	Containers []Container
}

// Disruption is the condition DisruptionTarget of a pod.
type Disruption struct {
	Reason, Message string
	At              time.Time
}

// Container is what kubelet shows of a container.
type Container struct {
	Name, Image string
	Init        bool
	// Waiting is why it does not run, End how it ended; nil where it does not wait or has not ended.
	Waiting *ContainerWaiting
	End     *ContainerEnd
	// LastEnd is how it ended before kubelet started it again, Restarts how often that happened, Ready its readiness.
	LastEnd  *ContainerEnd
	Restarts int
	Ready    bool
	// MemoryLimit is its limit, such as `4Gi`, or empty.
	MemoryLimit string
}

// ContainerWaiting is why a container does not run.
type ContainerWaiting struct{ Reason, Message string }

// ContainerEnd is how a container ended.
type ContainerEnd struct {
	// Code is the exit code, 128+n after signal n; Signal is the number where the container runtime gives it.
	Code, Signal int
	// Reason is kubelet's, such as OOMKilled; Message is the termination message, usually the agent's verdict.
	Reason, Message string
	At              time.Time
}

// signalNumber returns the number of the signal that ended the container, 0 for none. Not every code above 128 is one: Hydra exits
// with 255, ORTE with 205.
func (e ContainerEnd) signalNumber() int {
	if behind := e.Code - 128; e.Signal == 0 && behind > 0 && behind < len(signals) {
		return behind
	}
	return e.Signal
}

// String says how a container ended, for example `exited with code 1` or `was killed by SIGKILL (OOMKilled)`.
func (e ContainerEnd) String() string {
	text := fmt.Sprintf("exited with code %d", e.Code)
	if signal := e.signalNumber(); signal > 0 {
		text = "was killed by " + SignalName(signal)
	}
	if e.Reason != "" && e.Reason != "Error" && e.Reason != "Completed" {
		text += " (" + e.Reason + ")"
	}
	return text
}

// lastLines returns the last lines of a container, or why it could not be started: its message, if that is no verdict.
func (e ContainerEnd) lastLines() []string {
	if _, err := mpi.DecodeVerdict(e.Message); err == nil {
		return nil
	}
	return QuoteLines(WithoutNoise(strings.Split(Redact(e.Message), "\n")), LinesBytes)
}

func (p Pod) isLauncher() bool { return p.Role == mpi.LauncherJob }

// displayName names a pod as users think of it: `Worker 2` or `Launcher`.
func (p Pod) displayName() string {
	if p.isLauncher() {
		return launcherName
	}
	return workerName + strconv.Itoa(p.Index)
}

// fullName names a pod fully, for example `Worker 2 (pod mnist-node-0-2-x7x2p on machine gpu-3)`.
func (p Pod) fullName() string { return p.displayName() + " (" + p.describePlace() + ")" }

func (p Pod) describePlace() string {
	if p.Machine == "" {
		return "pod " + p.Name
	}
	return "pod " + p.Name + " on machine " + p.Machine
}

// mainContainer is the main container, or nil.
func (p Pod) mainContainer() *Container {
	for i := range p.Containers {
		if !p.Containers[i].Init && p.Containers[i].Name == mpi.Container {
			return &p.Containers[i]
		}
	}
	return nil
}

func (p Pod) mainEnd() *ContainerEnd {
	if c := p.mainContainer(); c != nil {
		return c.End
	}
	return nil
}

// ranOutOfMemory reports whether the kernel killed the main container at its memory limit, in kubelet's words.
func (p Pod) ranOutOfMemory() bool {
	end := p.mainEnd()
	return end != nil && end.isOutOfMemory()
}

func (e ContainerEnd) isOutOfMemory() bool { return e.Reason == "OOMKilled" }

const (
	launcherName = "Launcher"
	workerName   = "Worker "
)

// WorkerName names a host of the hostfile as users think of it: `Worker 2` for `mnist-node-0-2.mnist`, `Launcher` for the
// launcher. A name that JobSet did not give stays as it is.
func WorkerName(host string) string {
	label, _, _ := strings.Cut(host, ".")
	if strings.HasSuffix(label, "-"+mpi.LauncherJob+"-0-0") {
		return launcherName
	}
	_, index, found := cutAtLast(label, "-"+mpi.NodeJob+"-0-")
	if _, err := strconv.Atoi(index); !found || err != nil {
		return label
	}
	return workerName + index
}

func cutAtLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}

// podOfHost finds the pod of a host: the Job controller appends a dash and five characters to the host name.
func podOfHost(pods []Pod, host string) (Pod, bool) {
	label, _, _ := strings.Cut(host, ".")
	for _, pod := range pods {
		if prefix, _, found := cutAtLast(pod.Name, "-"); label != "" && found && prefix == label {
			return pod, true
		}
	}
	return Pod{}, false
}
