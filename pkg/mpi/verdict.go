package mpi

import (
	"encoding/json"
	"fmt"
	"strings"
)

// MaxVerdictBytes is the size of a termination message that kubelet keeps
// (https://kubernetes.io/docs/tasks/debug/debug-application/determine-reason-pod-failure/).
const MaxVerdictBytes = 4096

// Reason is a documented cause in CamelCase. It becomes the reason of a condition.
type Reason string

// The reasons that the launcher's agent can give. The empty reason is success.
const (
	// ReasonCommandFailed: the user's command exited with a code other than 0.
	ReasonCommandFailed Reason = "CommandFailed"
	// ReasonCommandKilled: the user's command died of a signal.
	ReasonCommandKilled Reason = "CommandKilled"
	// ReasonCommandNotFound: the user's command could not be started.
	ReasonCommandNotFound Reason = "CommandNotFound"
	// ReasonArgumentTooLong: an argument or a variable is longer than Linux hands to a program.
	ReasonArgumentTooLong Reason = "ArgumentTooLong"
	// ReasonGateTimeout: not all nodes answered before the deadline.
	ReasonGateTimeout Reason = "GateTimeout"
	// ReasonWorldIncomplete: the command exited 0, but nothing ever ran on its nodes, or a node was lost, or cannot say what ran there.
	ReasonWorldIncomplete Reason = "WorldIncomplete"
	// ReasonAgentFailed: the agent itself could not work, for example because the key is not readable.
	ReasonAgentFailed Reason = "AgentFailed"
)

// Verdict is what the launcher's agent leaves as termination message of its container: how the job ended, decided where
// all the facts are. Exit codes alone lie: Open MPI 5 can exit 0 after losing a daemon.
type Verdict struct {
	// Reason is empty for success.
	Reason Reason `json:"reason,omitempty"`
	// Message says what happened with evidence, in one sentence for the user. After a success it says what failed all the same,
	// if anything did.
	Message string `json:"message,omitempty"`
	// ExitCode is the exit code of the user's command, 128+n after signal n, -1 when it never ran.
	ExitCode int `json:"exitCode"`
	// OOMKills counts the processes of the job that the kernel killed for memory, on all nodes and in the launcher's pod.
	OOMKills int `json:"oomKills,omitempty"`
	// LauncherOOMKills counts those of them in the launcher's pod. An agent of an earlier version does not say it.
	LauncherOOMKills int `json:"launcherOOMKills,omitempty"`
	// GateSeconds is how long the launcher waited for its nodes.
	GateSeconds float64 `json:"gateSeconds,omitempty"`
	// RunSeconds is how long the user's command ran.
	RunSeconds float64 `json:"runSeconds,omitempty"`
	// Timings say when the parts of the launch happened; nil when the agent could not even begin.
	Timings *LaunchTimings `json:"phases,omitempty"`
	// IdleSeconds is how long before the verdict the last launch had ended, 0 when one ran until the end: what became of the nodes
	// since then did not matter.
	IdleSeconds float64 `json:"idleSeconds,omitempty"`
	// Stopped is the signal by which the launcher's pod was asked to stop, for example SIGTERM, or empty.
	Stopped string `json:"stopped,omitempty"`
	// Host is the name in the hostfile of the node where it happened, or empty.
	Host string `json:"host,omitempty"`
	// Lost is the name in the hostfile of the node that was lost first, or empty.
	Lost string `json:"lost,omitempty"`
	// LostSeconds is how long before the verdict that node had stopped answering, 0 when it ended its connection or when
	// nobody knows. Whoever deletes pods because of the verdict comes after that.
	LostSeconds float64 `json:"lostSeconds,omitempty"`
	// Rank is how the first rank ended that failed; nil when none is known.
	Rank *RankEnd `json:"rank,omitempty"`
	// Lines are the last lines of the output, of the failed rank where the output says whose they are, without secrets.
	Lines []string `json:"lines,omitempty"`
	// Usage is how much the pods with ranks used, nil if none has reported.
	Usage *JobUsage `json:"usage,omitempty"`
	// Training is the last progress of the program, nil if it has reported none.
	Training *TrainingProgress `json:"training,omitempty"`
	// Nodes holds a report per node, cut when the verdict would not fit MaxVerdictBytes.
	Nodes []NodeReport `json:"nodes,omitempty"`
}

// RankEnd is how a rank ended.
type RankEnd struct {
	// Rank is its number in the world; nil when nothing told it.
	Rank *int `json:"rank,omitempty"`
	// Host is the name in the hostfile of the node where it ran.
	Host string `json:"host,omitempty"`
	// Code is the exit code, 128+n after signal n; Signal is the name of the signal, or empty.
	Code   int    `json:"code"`
	Signal string `json:"signal,omitempty"`
	// Hydra says that a proxy of Hydra was its parent, which may tell lies about its end (pmodels/mpich#7057).
	Hydra bool `json:"hydra,omitempty"`
	// WithoutMPI says that no MPI launcher had started it, but for example torchrun or Horovod, which may start another in its place.
	WithoutMPI bool `json:"withoutMPI,omitempty"`
	// Early says that it ended before it came to MPI_Init, where the others waited for it, and that nobody saw it fail: Code says
	// nothing.
	Early bool `json:"early,omitempty"`
	// Ago is how many seconds before the report it ended. Clocks of machines differ; this does not.
	Ago float64 `json:"ago,omitempty"`
}

// NodeReport is what a node's agent saw.
type NodeReport struct {
	// Name is the name in the hostfile.
	Name string `json:"name"`
	// Daemons is the number of launch daemons (orted, prted, hydra_pmi_proxy) that the launcher started there.
	Daemons int `json:"daemons"`
	// Commands is the number of other commands that the launcher, or a program there, started.
	Commands int `json:"commands,omitempty"`
	// LastExitCode is the exit code of the last daemon, 128+n after signal n.
	LastExitCode int `json:"lastExitCode,omitempty"`
	// DaemonAgo is how many seconds before the report that daemon was killed or died, 0 when it did not.
	DaemonAgo float64 `json:"daemonAgo,omitempty"`
	// OOMKills counts the processes of the pod that the kernel killed for memory.
	OOMKills int `json:"oomKills,omitempty"`
	// Seen is how many ranks were seen on the node; those that live for less than a moment are not. World is how many ranks
	// their world has, 0 when that is not known, -1 when there was more than one world.
	Seen  int `json:"seen,omitempty"`
	World int `json:"world,omitempty"`
	// EndedWell is how many ranks of the newest launch were seen to exit with 0.
	EndedWell int `json:"endedWell,omitempty"`
	// Usage is how much the pod used. A verdict has the sum instead.
	Usage *PodUsage `json:"usage,omitempty"`
	// Numbers are those of the ranks that were seen of the newest launch by Hydra. A verdict does without.
	Numbers []int `json:"numbers,omitempty"`
	// Ranks holds the first ranks of the node that failed, in the order of time: those of its newest launch, and those of the
	// last launch before it in which some failed.
	Ranks []RankEnd `json:"ranks,omitempty"`
	// Error says why there is no report.
	Error string `json:"error,omitempty"`
}

// Succeeded reports whether the job did what was asked.
func (v Verdict) Succeeded() bool { return v.Reason == "" }

// Encode returns the verdict as JSON of at most MaxVerdictBytes bytes: reports of nodes are dropped first, from the
// end, then the metrics of the progress, then the oldest lines, then the message is cut, at the border of a character.
func (v Verdict) Encode() ([]byte, error) {
	for {
		text, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("encode verdict: %w", err)
		}
		switch {
		case len(text) <= MaxVerdictBytes:
			return text, nil
		case len(v.Nodes) > 0:
			v.Nodes = v.Nodes[:len(v.Nodes)-1]
		case v.Training != nil && len(v.Training.Metrics) > 0:
			training := *v.Training
			training.Metrics, v.Training = nil, &training
		case len(v.Lines) > 0:
			v.Lines = v.Lines[1:]
		case v.Message == "":
			return nil, fmt.Errorf("the verdict has %d bytes without any words, at most %d are possible", len(text), MaxVerdictBytes)
		default:
			v.Message = strings.ToValidUTF8(v.Message[:len(v.Message)/2], "")
		}
	}
}

// DecodeVerdict reads a termination message. A message that is not a verdict is an error: the container was ended by
// something else than the agent.
func DecodeVerdict(message string) (Verdict, error) {
	var v Verdict
	if err := json.Unmarshal([]byte(message), &v); err != nil {
		return Verdict{}, fmt.Errorf("decode verdict: %w", err)
	}
	return v, nil
}
