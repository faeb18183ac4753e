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
	// launchTimeout is how long a connection must have been without an answer in a launch, workTimeout once a rank ran:
	// then a peer may just be too busy to accept. Before fewRetries it may have been only a packet that got lost. In a
	// launch the time counts from the first retry on; connections are few then, and in work they come and go.
	launchTimeout = 10 * time.Second
	workTimeout   = time.Minute
	fewRetries    = 3
	firstRetry    = 1
	// maxUnanswered bounds what a pod says about its connections.
	maxUnanswered = 16
)

// openConnection is a connection between two pods of the job that nobody answers.
type openConnection struct {
	from string
	to   string
}

// unansweredConnections remembers since when calls are open.
type unansweredConnections map[openConnection]time.Time

// observePods takes in the calls of all pods, and finds one that has been open for too long, the first in the order of the table.
func (c unansweredConnections) observePods(now time.Time, table mpi.HostTable, pods map[string]mpi.Progress, works bool) *verdict.BlockedConnection {
	limit, noted := launchTimeout, firstRetry
	if works {
		limit, noted = workTimeout, fewRetries
	}
	var found *verdict.BlockedConnection
	still := map[openConnection]bool{}
	for _, from := range table.Hosts {
		for _, attempt := range pods[hosts.FirstLabel(from.Name)].Unanswered {
			to, port, ours := podAtAddress(table, attempt.To)
			if !ours || attempt.Retries < noted {
				continue
			}
			this := openConnection{from.Name, attempt.To}
			still[this] = true
			if _, known := c[this]; !known {
				c[this] = now
			}
			if open := now.Sub(c[this]); open >= limit && attempt.Retries >= fewRetries && found == nil {
				found = &verdict.BlockedConnection{From: from, To: to, Port: port, Open: open}
			}
		}
	}
	maps.DeleteFunc(c, func(old openConnection, _ time.Time) bool { return !still[old] })
	return found
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
