package agent

import (
	"slices"
	"strings"
	"time"
)

// launcher is a process that began a launch on all nodes, as far as the looks of its pod tell.
type launcher struct {
	beginning
	pid int
	// name is that of the program, line its command line.
	name, line string
	// ended is when it was seen to end, zero (long ago) before and when nobody saw it.
	ended time.Time
}

// beginning is when something began that was seen at one look and not at the one before.
type beginning struct {
	// after is zero when there was no look before, seen when nothing has been seen.
	after, seen time.Time
}

// ranAfter says whether the launcher started daemons of its own and ran on after something that was so long before a moment.
// Those of prun belong to a prte, and orted and Hydra's proxies tell how their ranks ended.
func (l launcher) ranAfter(ago float64, now time.Time) bool {
	return isStarter(l.name) && l.name != "prun" && now.Sub(l.ended).Seconds() <= ago
}

// recoveryOptions make Open MPI 5 go on without a daemon, or a rank, that it lost.
var recoveryOptions = []string{"with-ft", "enable-recovery", "continuous", "recoverable", "max-restarts", "mpi_ft_enable", "prte_enable_ft"}

// recovers says whether the launcher was asked to go on without daemons that it loses. Who gives such an option to his own program only
// is taken at the same word.
func (l launcher) recovers() bool {
	words := strings.FieldsFunc(l.line, func(c rune) bool { return strings.ContainsRune(" \t\n=,:", c) })
	return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(recoveryOptions, strings.TrimLeft(word, "-")) })
}

// sawLaunchers notes the newest launcher, which began between this look, which began at a time, and the one before. The launchers are
// those that run, with the name of one that is below no other.
func (r *ranks) sawLaunchers(running map[int]string, look time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for pid, name := range running {
		if _, known := r.launchers[pid]; name != "" && !known {
			r.newest = launcher{beginning: beginning{after: r.looked, seen: r.now()}, pid: pid, name: name, line: commandLineOf(r.root, pid)}
		}
	}
	r.launchers, r.looked = running, look
}

// gone notes that a process has ended.
func (r *ranks) gone(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.newest.pid == pid && r.newest.ended.IsZero() {
		r.newest.ended = r.now()
	}
}

// newestLauncher is the one of this pod that began last.
func (r *ranks) newestLauncher() launcher {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.newest
}
