package watch

import (
	"context"
	"os"
	"slices"
	"syscall"
	"time"

	"lockstep.dev/lockstep/pkg/mpi/agent/proc"
	"lockstep.dev/lockstep/pkg/mpi/agent/program"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
)

// noteLaunchers notes the newest launcher, which began between this look, which began at a time, and the one before. The launchers are
// those that run, with the name of one that is below no other.
func (r *RankWatcher) noteLaunchers(running map[int]string, look time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for pid, name := range running {
		if _, known := r.launchers[pid]; name != "" && !known {
			r.newest, r.newestPID = verdict.Launch{After: r.looked, Seen: r.now(), Program: name, Line: proc.CommandLineOf(r.root, pid)}, pid
			clear(r.endedWell)
		}
	}
	r.launchers, r.looked = running, look
}

// noteLauncherEnd notes that a process has ended.
func (r *RankWatcher) noteLauncherEnd(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.newestPID == pid && r.newest.Ended.IsZero() {
		r.newest.Ended = r.now()
	}
}

// NewestLaunch returns the newest launch of this pod, and when a launcher of it admitted a failure for the last time, zero for never.
func (r *RankWatcher) NewestLaunch() (newest verdict.Launch, admitted time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.newest, r.starterFailed
}

// noteQuiet notes whether a launch runs at a look.
func (r *RankWatcher) noteQuiet(processes []proc.Process, look time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range processes {
		if p.State != 'Z' && program.IsLaunchProcess(p) {
			r.quiet, r.hasLaunched = time.Time{}, true
			return
		}
	}
	if r.quiet.IsZero() {
		r.quiet = look
	}
}

// QuietSince is since when no launch runs in this pod, as far as its looks tell, zero while one does, and whether one ever did.
func (r *RankWatcher) QuietSince() (since time.Time, launched bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.quiet, r.hasLaunched
}

const (
	// lastLaunch is how long a launcher may take to end after its command: a script may have asked it to with its last line.
	lastLaunch = 5 * time.Second
	// launchPause is the time between two looks for it.
	launchPause = 100 * time.Millisecond
)

// WaitForLauncherExit returns the command line of a launcher of this pod that does not end although its command has, or nothing, and the
// signal that asked the pod to stop meanwhile, or 0. Helpers that outlive the command, such as prte, are not launchers.
func (r *RankWatcher) WaitForLauncherExit(ctx context.Context, signals <-chan os.Signal) (line string, stopped syscall.Signal) {
	for limit := r.now().Add(lastLaunch); ; {
		line = r.runningLauncher()
		if line == "" || r.now().After(limit) {
			return line, 0
		}
		select {
		case <-ctx.Done():
			return line, 0
		case s := <-signals:
			if signal, known := s.(syscall.Signal); known {
				return line, signal
			}
		case <-time.After(launchPause):
		}
	}
}

// runningLauncher returns the command line of the first launcher that runs, or nothing.
func (r *RankWatcher) runningLauncher() string {
	processes := proc.Descendants(r.root, r.agent)
	i := slices.IndexFunc(processes, func(p proc.Process) bool { return program.IsLauncher(p) && p.State != 'Z' })
	if i < 0 {
		return ""
	}
	if line := proc.CommandLineOf(r.root, processes[i].PID); line != "" {
		return program.QuoteCommand(line)
	}
	return processes[i].Name
}
