package mpi

import (
	"fmt"
	"slices"
	"strings"
)

// TraceAnnotation on a TrainJob says what is recorded of its run: words of Traces with commas between them. It counts when the pods of the
// job are made.
const TraceAnnotation = "lockstep.dev/trace"

// Trace is something that is recorded of the run of a job.
type Trace string

// What can be recorded.
const (
	// TraceTraffic counts what each rank sends to each other one, by Open MPI's monitoring component.
	TraceTraffic Trace = "traffic"
	// TraceHorovod is Horovod's timeline.
	TraceHorovod Trace = "horovod"
	// TraceNCCL has NCCL say which adapters and ways it uses.
	TraceNCCL Trace = "nccl"
	// TraceWaiting counts how long each rank is inside of MPI, by a library that the agent preloads.
	TraceWaiting Trace = "waiting"
)

// Traces lists them in the order in which messages name them.
func Traces() []Trace { return []Trace{TraceTraffic, TraceWaiting, TraceHorovod, TraceNCCL} }

// ParseTraces reads the value of the annotation.
func ParseTraces(text string) ([]Trace, error) {
	var traces []Trace
	for word := range strings.SplitSeq(text, ",") {
		switch trace := Trace(strings.TrimSpace(word)); {
		case !slices.Contains(Traces(), trace):
			return nil, fmt.Errorf("`%s` cannot be traced: allowed are `traffic`, `waiting`, `horovod` and `nccl`, with commas between them", trace)
		case !slices.Contains(traces, trace):
			traces = append(traces, trace)
		}
	}
	return traces, nil
}

// TrafficVariable says where ranks of Open MPI write what they have sent, TrafficPath what we set it to: each rank writes
// `<path>.<rank>.prof` when it ends, in the pod in which it runs.
const (
	TrafficVariable = "OMPI_MCA_pml_monitoring_filename"
	TrafficPath     = StateDir + "/traffic"
	// PMLVariable names the layers of Open MPI that carry messages.
	PMLVariable = "OMPI_MCA_pml"
)

// TrafficVariables have ranks of Open MPI 4 and 5 count what they send (ompi_info --param pml monitoring --level 9). Pml is what the
// runtime sets PMLVariable to, empty for nothing.
func TrafficVariables(pml string) ([]Variable, error) {
	variables := []Variable{
		{"OMPI_MCA_pml_monitoring_enable", "2", "the monitoring component counts; above 1, the messages inside of collectives apart from others"},
		{"OMPI_MCA_pml_monitoring_enable_output", "3", "each rank writes its counts into a file in MPI_Finalize"},
		{TrafficVariable, TrafficPath, "where the agents look for those files"},
	}
	switch pml {
	case "":
		return variables, nil
	case "ob1":
		// Behind the other: as the first of the list it crashes ranks of Open MPI 5.0.7.
		return append(variables, Variable{PMLVariable, "ob1,monitoring", "a list of layers leaves out the monitoring component, which sits on top of the one that is chosen"}), nil
	}
	// Where the layer finds no adapter, monitoring is the only one left, and ranks die of SIGSEGV instead of saying so (4.1.4, 5.0.7).
	return nil, fmt.Errorf("messages go by `%s` there, on which nobody has tried Open MPI's monitoring: allowed are runtimes over Ethernet", pml)
}

// HorovodVariables have Horovod write its timeline into a file (https://horovod.readthedocs.io/en/stable/timeline_include.html): rank 0 does.
func HorovodVariables(file string) []Variable {
	return []Variable{{"HOROVOD_TIMELINE", file, "rank 0 writes what each tensor waited for, and how long"}}
}

// NCCLVariables have NCCL print how it works, on the standard output of the ranks
// (https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html).
func NCCLVariables() []Variable {
	return []Variable{
		{"NCCL_DEBUG", "INFO", "NCCL prints its version, its settings, and the adapters and ways that it chose"},
		{"NCCL_DEBUG_SUBSYS", "INIT,ENV,NET", "without lines for each channel and each call"},
	}
}

// WaitingVariable has the agents preload their library into what they start, WaitingPath what we set it to: the library counts for each rank in
// `<path>.<rank>`, in the pod in which it runs.
const (
	WaitingVariable = "LOCKSTEP_WAITING"
	WaitingPath     = StateDir + "/waiting"
)

// WaitingVariables have the agents count how long ranks are inside of MPI.
func WaitingVariables() []Variable {
	return []Variable{{WaitingVariable, WaitingPath, "the agents preload a library that counts how long ranks are inside of MPI, and look here for what it has counted"}}
}

// TrafficSubsystem is by what the launcher's agent asks a node's agent what its ranks have sent: the request is a TrafficRequest, the answer
// a NodeTraffic.
const TrafficSubsystem = "lockstep-traffic"

// MaxTrafficPairs is how many pairs of ranks a launcher keeps, whose memory is small: all of 256 ranks. Of more, the largest of each rank.
const MaxTrafficPairs = 1 << 16

// TrafficRequest says what a NodeTraffic shall hold.
type TrafficRequest struct {
	// Pairs is how many pairs of ranks it may have.
	Pairs int `json:"pairs"`
}

// NodeTraffic is what the ranks of a pod have sent.
type NodeTraffic struct {
	Ranks []RankTraffic `json:"ranks,omitempty"`
}

// RankTraffic is what a rank has sent, to others by MPI's point-to-point layer, which most collectives use too.
type RankTraffic struct {
	Rank int `json:"rank"`
	// Age is how many seconds ago the rank wrote it.
	Age float64 `json:"age"`
	// Bytes and Messages are all that it sent, CollectiveBytes those of them that were part of collectives.
	Bytes           uint64 `json:"bytes"`
	Messages        uint64 `json:"messages"`
	CollectiveBytes uint64 `json:"collectiveBytes,omitempty"`
	// Sent are the peers, those with most bytes first.
	Sent []SentTraffic `json:"sent,omitempty"`
}

// SentTraffic is what a rank has sent to another.
type SentTraffic struct {
	To       int    `json:"to"`
	Bytes    uint64 `json:"bytes"`
	Messages uint64 `json:"messages"`
}
