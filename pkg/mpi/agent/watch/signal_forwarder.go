package watch

import (
	"io/fs"
	"maps"
	"os"
	"slices"
	"syscall"
	"time"

	"lockstep.dev/lockstep/pkg/mpi/agent/proc"
	"lockstep.dev/lockstep/pkg/mpi/agent/program"
)

// A pod that is asked to stop has its grace (terminationGracePeriodSeconds), and programs save their work in it. All pods of a job that
// is preempted are asked at the same time, so each agent asks the programs of its own pod, and goes on until they have ended. Who
// takes longer is killed by kubelet, which knows the grace.
//
// The launch is not asked as long as it has programs: mpirun and the daemons of Open MPI kill their ranks a second after a SIGTERM
// (odls_base_sigkill_timeout, for which they sleep twice whenever a rank fails, so that it cannot be long), remote shells take their
// daemons along, and a script that does not catch it dies before its ranks. All of these end when their ranks have.

// StopPollInterval is the time between two looks at who has ended and who has come.
const StopPollInterval = 100 * time.Millisecond

// SignalForwarder asks the programs of a pod to end, each once.
type SignalForwarder struct {
	root   fs.FS
	agent  int
	signal syscall.Signal
	send   func(pid int, signal syscall.Signal)
	asked  map[int]bool
	// started reports whether the agent started one of its children.
	started func(pid int) bool
}

// NewSignalForwarder returns a forwarder that has asked nobody yet. Started reports whether the agent started one of its children.
func NewSignalForwarder(signal syscall.Signal, started func(pid int) bool) *SignalForwarder {
	return &SignalForwarder{
		root: os.DirFS("/proc"), agent: os.Getpid(), signal: signal, asked: map[int]bool{}, started: started,
		send: func(pid int, signal syscall.Signal) { _ = syscall.Kill(pid, signal) }, // it may have ended meanwhile
	}
}

// SignalNewPrograms asks those that were not asked before, reports whether anything runs that is worth a wait, and returns what runs. A launch is
// worth one: mpirun ends all ranks when it loses a daemon, also one whose own ranks have ended. What a program starts that was asked is
// part of its answer, as a copy of a checkpoint is. Nobody waits for what has lost its launch, or whoever started it: ranks that
// were killed with their daemon may be frozen.
func (a *SignalForwarder) SignalNewPrograms() (busy bool, processes []proc.Process) {
	processes = proc.LiveProcesses(proc.Descendants(a.root, a.agent))
	tree, before := proc.TreeOf(processes), maps.Clone(a.asked)
	busy = slices.ContainsFunc(processes, program.IsLaunchProcess)
	for _, p := range a.programsToSignal(processes, tree) {
		busy = busy || a.started(tree.TopmostAncestor(p))
		if before[p.PID] || tree.HasAncestor(p, func(up proc.Process) bool { return before[up.PID] }) {
			continue
		}
		a.asked[p.PID] = true
		a.send(p.PID, a.signal)
	}
	return busy, processes
}

// programsToSignal returns the processes that are to be asked. Where a child of the agent has a launch below it, those are what the launch
// has started, and whoever waits for it and has a handler; otherwise all.
func (a *SignalForwarder) programsToSignal(processes []proc.Process, tree proc.Tree) []proc.Process {
	launches := map[int]bool{} // a launch and all above it
	for _, p := range processes {
		for up, known := p, program.IsLaunchProcess(p); known; up, known = tree[up.Parent] {
			launches[up.PID] = true
		}
	}
	var found []proc.Process
	for _, p := range processes {
		switch {
		case program.IsLaunchProcess(p):
		case launches[p.PID]: // it waits for a launch
			if proc.HandlesSignal(a.root, p.PID, a.signal) {
				found = append(found, p)
			}
		case a.hasHandlingAncestor(p, tree): // whoever handles the signal knows what it does with those that it started
		case tree.HasAncestor(p, program.IsLaunchProcess), !launches[tree.TopmostAncestor(p)]:
			found = append(found, p)
		}
	}
	return found
}

// hasHandlingAncestor reports whether a program that handles the signal has started a process: data loaders that die of their own would end it in the
// middle of its work.
func (a *SignalForwarder) hasHandlingAncestor(p proc.Process, tree proc.Tree) bool {
	return tree.HasAncestor(p, func(up proc.Process) bool {
		return !program.IsLaunchProcess(up) && proc.HandlesSignal(a.root, up.PID, a.signal)
	})
}
