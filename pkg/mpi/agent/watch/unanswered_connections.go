package watch

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/agent/proc"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
)

// MPI waits for minutes, or forever, where a network swallows its connections: its daemons call the launcher back, and
// ranks call each other, on ports that the system chooses. So the agents look at the connections of their pods that nobody answers.

const (
	// launchTimeout is how long a connection must have been without an answer in a launch: a network may need a
	// while for new pods. workWarning is how long once a rank ran, if the other pod answers its agent and its
	// program accepts what comes, and workTimeout is how long until it explains a failure. Before fewRetries it
	// may have been only a packet that got lost. The time counts from the first retry on.
	launchTimeout = 10 * time.Second
	workWarning   = 6 * time.Second
	workTimeout   = time.Minute
	fewRetries    = 3
	firstRetry    = 1
	// maxUnanswered and maxUnaccepted bound what a pod says about its connections.
	maxUnanswered = 16
	maxUnaccepted = 1024
)

// openConnection is a connection between two pods of the job that nobody answers.
type openConnection struct {
	from string
	to   string
}

// openSince is when a connection was first seen without an answer, and how often it had been tried by then. If the
// program on the other side was seen to be busy, both count from then.
type openSince struct {
	at      time.Time
	retries int
	busy    bool
}

// unansweredConnections remembers since when calls are open.
type unansweredConnections map[openConnection]openSince

// observePods takes in the unanswered connections of all pods, and returns the oldest if it has waited for too long; of
// several the first in the order of the table.
func (c unansweredConnections) observePods(look LaunchLook) *verdict.BlockedConnection {
	var found *verdict.BlockedConnection
	still := map[openConnection]bool{}
	for _, from := range look.Table.Hosts {
		for _, attempt := range look.Pods[hosts.FirstLabel(from.Name)].Unanswered {
			to, port, ours := podAtAddress(look.Table, attempt.To)
			if !ours || attempt.Retries < firstRetry {
				continue
			}
			this := openConnection{from.Name, attempt.To}
			still[this] = true
			peer, answers := look.Pods[hosts.FirstLabel(to.Name)]
			busy := slices.Contains(peer.Unaccepted, port)
			if _, known := c[this]; !known || busy {
				c[this] = openSince{look.At, attempt.Retries, busy}
			}
			open := look.At.Sub(c[this].at)
			if attempt.Retries < fewRetries || found != nil && open <= found.Open {
				continue
			}
			again := attempt.Retries > c[this].retries && answers && look.Unaccepted
			if open >= blockedAfter(look.Works) || look.Works && again && open >= workWarning {
				found = &verdict.BlockedConnection{From: from, To: to, Port: port, Open: open}
			}
		}
	}
	maps.DeleteFunc(c, func(old openConnection, _ openSince) bool { return !still[old] })
	return found
}

// blockedAfter is how long a connection may stay without an answer before it explains a failure.
func blockedAfter(works bool) time.Duration {
	if works {
		return workTimeout
	}
	return launchTimeout
}

// areNew reports whether a connection has been open for so short that the next look may name it.
func (c unansweredConnections) areNew(now time.Time) bool {
	for _, since := range c {
		if !since.busy && now.Sub(since.at) < 2*workWarning {
			return true
		}
	}
	return false
}

// podAtAddress returns the pod that has an address, and the port.
func podAtAddress(table mpi.HostTable, text string) (pod mpi.HostAddress, port uint16, found bool) {
	address, err := netip.ParseAddrPort(text)
	if err != nil {
		return mpi.HostAddress{}, 0, false
	}
	pod, found = hosts.FindAddress(table, address.Addr().String())
	return pod, address.Port(), found
}

// mostRetried returns the connections of this pod that were tried most often.
func mostRetried(attempts []proc.ConnectAttempt) []mpi.UnansweredConnection {
	slices.SortStableFunc(attempts, func(a, b proc.ConnectAttempt) int { return cmp.Compare(b.Retries, a.Retries) })
	var result []mpi.UnansweredConnection
	for _, a := range attempts[:min(len(attempts), maxUnanswered)] {
		result = append(result, mpi.UnansweredConnection{To: a.To.String(), Retries: a.Retries})
	}
	return result
}
