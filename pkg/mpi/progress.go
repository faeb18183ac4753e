package mpi

import (
	"slices"
	"time"
)

// The names of the subsystems by which the launcher's agent learns what goes on.
const (
	// ProgressSubsystem: the launcher's agent asks a node's agent what its ranks have done so far; the request is a
	// ProgressRequest, the answer a Progress.
	ProgressSubsystem = "lockstep-progress"
	// LaunchTimingsSubsystem: anybody who holds the key asks the launcher's agent how far the launch is; the answer is a LaunchTimings.
	LaunchTimingsSubsystem = "lockstep-phases"
	// WarningsSubsystem: the controller asks the launcher's agent for JobWarnings while the command runs, by a
	// WarningsRequest. The answer comes once they differ from the known ones, after WarningsHold at the latest.
	WarningsSubsystem = "lockstep-warnings"
)

// WarningsHold is how long a launcher may hold the answer to a request for warnings. One connection for each running job
// stays open meanwhile.
const WarningsHold = 5 * time.Minute

// JobWarnings are what the agents of a job see go wrong while its command runs, the most important first.
type JobWarnings struct {
	Warnings []JobWarning `json:"warnings,omitempty"`
	// Training is the progress of the program, nil if it reports none, or if the request did not ask for it.
	Training *TrainingProgress `json:"training,omitempty"`
}

// WarningsRequest holds the warnings that the controller knows.
type WarningsRequest struct {
	JobWarnings
	// TrainingAfter is how many seconds later a change of Training alone is an answer. The last change, at the end of
	// the command, is one at once. Nil asks for no Training.
	TrainingAfter *float64 `json:"trainingAfter,omitempty"`
}

// JobWarning is a trouble of a job that goes on, and may go on forever.
type JobWarning struct {
	Reason Reason `json:"reason"`
	// Message says what was seen, without times that change from look to look.
	Message string `json:"message"`
}

// maxWarnings and maxWarningText bound what a launcher may say: the image of a user may answer in its place.
const (
	maxWarnings    = 8
	maxWarningText = 2 << 10
)

// WithinBounds returns the warnings with no more of them, and no longer texts, than are shown.
func (w JobWarnings) WithinBounds() JobWarnings {
	if w.Training != nil {
		training := w.Training.WithinBounds()
		w.Training = &training
	}
	if len(w.Warnings) == 0 {
		return JobWarnings{Training: w.Training}
	}
	bounded := slices.Clone(w.Warnings[:min(len(w.Warnings), maxWarnings)])
	for i, warning := range bounded {
		bounded[i] = JobWarning{Reason(clipText(string(warning.Reason), maxFailureText)), clipText(warning.Message, maxWarningText)}
	}
	return JobWarnings{bounded, w.Training}
}

// The environment variables of the launcher that turn the watch for hangs on: a duration such as `10m`, and what counts
// as progress, `output` (the default) or `output,cpu`.
const (
	HangAfterVariable    = "LOCKSTEP_HANG_AFTER"
	HangProgressVariable = "LOCKSTEP_HANG_PROGRESS"
)

// ReasonHang is the reason of a verdict: no process of the job did anything for longer than it was allowed to.
const ReasonHang Reason = "Hang"

// The reasons of warnings that only the agents see.
const (
	// ReasonLaunchStuck: a launcher waits although no rank runs, because all have ended or none ever started. A launcher whose
	// ranks have all ended is ended, and this is the reason of the verdict if how they ended is unknown.
	ReasonLaunchStuck Reason = "LaunchStuck"
	// ReasonWorkerSilent: the agent of a worker does not answer, although its machine does.
	ReasonWorkerSilent Reason = "WorkerSilent"
	// ReasonRankStopped: a rank is stopped by a signal, and others wait for it.
	ReasonRankStopped Reason = "RankStopped"
	// ReasonRankHeldUp: a rank waits for a processor, and others for it.
	ReasonRankHeldUp Reason = "RankHeldUp"
)

// ProgressRequest says what a Progress shall hold.
type ProgressRequest struct {
	// Evidence asks what every process is waiting for.
	Evidence bool `json:"evidence,omitempty"`
	// Stranded asks for proxies of Hydra whose ranks all wait. Who asks again and again keeps the node watching them.
	Stranded bool `json:"stranded,omitempty"`
	// Ranks asks how the ranks are scheduled.
	Ranks bool `json:"ranks,omitempty"`
	// Remains asks what is left of a launch.
	Remains bool `json:"remains,omitempty"`
	// Unanswered asks for the connections that nobody answers. If the kernel has sent something again since the
	// last look, it goes through a table of all connections, twice, that is as large as the machine has memory
	// for: 7 ms of a processor that a rank may be using on a machine of 24 GB, twice as much on the largest.
	Unanswered bool `json:"unanswered,omitempty"`
	// Unaccepted asks for the ports on which connections wait for their program. It costs the same, each time.
	Unaccepted bool `json:"unaccepted,omitempty"`
}

// Progress is what the processes of a job have done on a node: all descendants of its agent but the agent's own.
type Progress struct {
	// Processes is their number.
	Processes int `json:"processes"`
	// WrittenBytes is what those that are alive have written so far, to files, pipes and sockets, by write(2) and its
	// variants. It shrinks when one ends.
	WrittenBytes uint64 `json:"writtenBytes"`
	// CPUSeconds is the CPU time of those that are alive.
	CPUSeconds float64 `json:"cpuSeconds"`
	// DaemonAge and RankAge are how many seconds ago the first launch daemon was started and the first rank was seen;
	// nil when there was none.
	DaemonAge *float64 `json:"daemonAge,omitempty"`
	RankAge   *float64 `json:"rankAge,omitempty"`
	// Remains is what is left of a launch, nil if nobody asked.
	Remains *LaunchRemains `json:"remains,omitempty"`
	// Unanswered holds the TCP connections of the pod that nobody answers, those tried most often first.
	Unanswered []UnansweredConnection `json:"unanswered,omitempty"`
	// Unaccepted holds ports of the pod on which connections wait for their program to accept them.
	Unaccepted []uint16 `json:"unaccepted,omitempty"`
	// Evidence says what the ranks are doing, the lowest rank first, at most MaxEvidence of them.
	Evidence []StuckProcess `json:"evidence,omitempty"`
	// Stranded holds the proxies of Hydra that have all ranks that they started, all of which have waited in PMI for a while.
	Stranded []StrandedProxy `json:"stranded,omitempty"`
	// Ranks says how the processes of ranks are scheduled, at most MaxRankSchedules of them.
	Ranks []RankSchedule `json:"ranks,omitempty"`
}

// LaunchRemains describes what a launch has left running in a pod.
type LaunchRemains struct {
	// Launcher is the PID of an MPI launcher that waits in this pod for its own ranks, or 0. `prun` does not count: its
	// ranks belong to `prte`.
	Launcher int `json:"launcher,omitempty"`
	// Programs counts the running programs, without launch daemons and remote shells. Started reports whether there ever was
	// one: one runs, or a launch daemon has waited for the end of one.
	Programs int  `json:"programs,omitempty"`
	Started  bool `json:"started,omitempty"`
	// Orphans lists at most MaxOrphans programs whose launch has ended, such as a child that a rank left in the background.
	Orphans []StuckProcess `json:"orphans,omitempty"`
	// OrphanWork grows as orphans compute or write: hundredths of seconds and KiB.
	OrphanWork uint64 `json:"orphanWork,omitempty"`
}

// MaxOrphans bounds what a pod says about orphans.
const MaxOrphans = 4

// MaxRankSchedules bounds what a node says about how its ranks are scheduled.
const MaxRankSchedules = 256

// RankSchedule is how the kernel has scheduled a process of a rank.
type RankSchedule struct {
	Rank int `json:"rank"`
	PID  int `json:"pid"`
	// WaitedSeconds is how long its first thread has been ready to run and has not run, since it began.
	WaitedSeconds float64 `json:"waitedSeconds"`
	// Stopped says that a signal such as SIGSTOP has stopped it.
	Stopped bool `json:"stopped,omitempty"`
}

// StrandedProxy is a proxy of Hydra whose ranks all wait.
type StrandedProxy struct {
	// Launch is the address at which its mpiexec listens, which is the same for all proxies of a launch.
	Launch string `json:"launch"`
	// World is how many ranks the launch has, Ranks the numbers of those of the proxy, in order.
	World int   `json:"world"`
	Ranks []int `json:"ranks"`
}

// UnansweredConnection is a TCP connection without an answer.
type UnansweredConnection struct {
	// To is an IP address and a port, such as `10.244.1.5:36859` or `[fd00::2]:8080`.
	To string `json:"to"`
	// Retries is how often the kernel has asked again.
	Retries int `json:"retries"`
}

// MaxEvidence bounds what a node says about its processes.
const MaxEvidence = 64

// StuckProcess is what a process is doing, as far as the kernel tells those who may ask.
type StuckProcess struct {
	// Rank is the number of the rank in the world, -1 for a process that is not a rank.
	Rank int `json:"rank"`
	PID  int `json:"pid"`
	// Name is the name of the program, at most 15 bytes.
	Name string `json:"name"`
	// State is a word: `running`, `sleeping`, `waiting for a disk`, `stopped`, `a zombie`.
	State string `json:"state"`
	// Wait is the function of the kernel in which it sleeps (/proc/PID/wchan), Call the system call that it is in.
	Wait string `json:"wait,omitempty"`
	Call string `json:"call,omitempty"`
	// Stack is the kernel's stack, innermost first, where the container may read it (CAP_SYS_ADMIN).
	Stack []string `json:"stack,omitempty"`
}
