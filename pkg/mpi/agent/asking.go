package agent

import (
	"io/fs"
	"maps"
	"os"
	"syscall"
	"time"

	"lockstep.dev/lockstep/pkg/mpi/agent/proc"
)

// A pod that is asked to stop has its grace (terminationGracePeriodSeconds), and programs save their work in it. All pods of a job that
// is preempted are asked at the same time, so each agent asks the programs of its own pod, and goes on until they have ended. Who
// takes longer is killed by kubelet, which knows the grace.
//
// The launch is not asked as long as it has programs: mpirun and the daemons of Open MPI kill their ranks a second after a SIGTERM
// (odls_base_sigkill_timeout, for which they sleep twice whenever a rank fails, so that it cannot be long), remote shells take their
// daemons along, and a script that does not catch it dies before its ranks. All of these end when their ranks have.

// askPause is the time between two looks at who has ended and who has come.
const askPause = 100 * time.Millisecond

// asking asks the programs of a pod to end, each once.
type asking struct {
	root   fs.FS
	agent  int
	signal syscall.Signal
	send   func(pid int, signal syscall.Signal)
	asked  map[int]bool
	// started says whether the agent started one of its children.
	started func(pid int) bool
}

func newAsking(signal syscall.Signal, started func(pid int) bool) *asking {
	return &asking{
		root: os.DirFS("/proc"), agent: os.Getpid(), signal: signal, asked: map[int]bool{}, started: started,
		send: func(pid int, signal syscall.Signal) { _ = syscall.Kill(pid, signal) }, // it may have ended meanwhile
	}
}

// look asks those that were not asked before, and says whether anything runs that is worth a wait, and what it saw of launchers. A launch is
// worth one: mpirun ends all ranks when it loses a daemon, also one whose own ranks have ended. What a program starts that was asked is
// part of its answer, as a copy of a checkpoint is. Nobody waits for what has lost its launch, or whoever started it: ranks that
// were killed with their daemon may be frozen.
func (a *asking) look() (busy bool, launch launchSeen) {
	processes := alive(proc.Descendants(a.root, a.agent))
	byPID := map[int]proc.Process{}
	for _, p := range processes {
		byPID[p.PID] = p
		busy, launch.runs = busy || ofLaunch(p), launch.runs || isLauncher(p)
	}
	launch.empty = emptyLauncher(processes, byPID)
	before := maps.Clone(a.asked)
	for _, p := range a.programs(processes, byPID) {
		busy = busy || a.started(topmost(p, byPID))
		if before[p.PID] || below(p, byPID, func(up proc.Process) bool { return before[up.PID] }) {
			continue
		}
		a.asked[p.PID] = true
		a.send(p.PID, a.signal)
	}
	return busy, launch
}

// launchSeen is what a look saw of launchers.
type launchSeen struct {
	// runs says that there is one.
	runs bool
	// empty is the process of one that has nothing to wait for, neither programs here nor remote shells, 0 for none: Hydra's may wait for
	// ever when it has lost a proxy.
	empty int
}

func emptyLauncher(processes []proc.Process, byPID map[int]proc.Process) int {
	launch := 0
	for _, p := range processes {
		switch {
		case isLauncher(p):
			launch = p.PID
		case isProxyName(p.Name):
		case below(p, byPID, isLauncher):
			return 0
		}
	}
	return launch
}

func alive(processes []proc.Process) []proc.Process {
	var found []proc.Process
	for _, p := range processes {
		if p.State != 'Z' {
			found = append(found, p)
		}
	}
	return found
}

// programs returns the processes that are to be asked. Where a child of the agent has a launch below it, those are what the launch
// has started, and whoever waits for it and has a handler; otherwise all.
func (a *asking) programs(processes []proc.Process, byPID map[int]proc.Process) []proc.Process {
	launches := map[int]bool{} // a launch and all above it
	for _, p := range processes {
		for up, known := p, ofLaunch(p); known; up, known = byPID[up.Parent] {
			launches[up.PID] = true
		}
	}
	var found []proc.Process
	for _, p := range processes {
		switch {
		case ofLaunch(p):
		case launches[p.PID]: // it waits for a launch
			if proc.Catches(a.root, p.PID, a.signal) {
				found = append(found, p)
			}
		case a.ofHandler(p, byPID): // whoever handles the signal knows what it does with those that it started
		case below(p, byPID, ofLaunch), !launches[topmost(p, byPID)]:
			found = append(found, p)
		}
	}
	return found
}

// ofHandler says whether a program that handles the signal has started a process: data loaders that die of their own would end it in the
// middle of its work.
func (a *asking) ofHandler(p proc.Process, byPID map[int]proc.Process) bool {
	return below(p, byPID, func(up proc.Process) bool { return !ofLaunch(up) && proc.Catches(a.root, up.PID, a.signal) })
}

// ofLaunch says whether a process starts programs elsewhere or here: a launcher, a daemon or a remote shell.
func ofLaunch(p proc.Process) bool { return isLauncher(p) || startsDaemons(p.Name) }
