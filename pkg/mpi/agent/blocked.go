package agent

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/proc"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// MPI waits for minutes, or for ever, where a network swallows its connections: its daemons call the launcher back, and
// ranks call each other, on ports that the system chooses. So the agents look at the connections of their pods that nobody
// answers, and the launcher tells of one to another pod of the job that stays without an answer. It does not end the job: a peer may be
// busy, and a policy may come. A command that fails while one stands failed because of it.

const (
	// launchPatience is how long a connection must have been without an answer in a launch, workPatience once a rank ran:
	// then a peer may just be too busy to accept. Before fewRetries it may have been only a packet that got lost. In a
	// launch the time counts from the first retry on; connections are few then, and in work they come and go.
	launchPatience = 10 * time.Second
	workPatience   = time.Minute
	fewRetries     = 3
	firstRetry     = 1
	// firstLaunchLook is the time between two looks in the first closely of a launch, launchLook afterwards, as in a script
	// that does something else first, and workLook once a rank ran. A look is a question to every node.
	firstLaunchLook = 2 * time.Second
	closely         = 30 * time.Second
	launchLook      = 5 * time.Second
	workLook        = time.Minute
	// startsWithin is how long launch daemons may run alone before somebody is told; one is not looked at as long as
	// it is younger than the time between two looks.
	startsWithin = time.Minute
	youngLaunch  = 2 * launchLook
	// maxUnanswered bounds what a pod says about its connections.
	maxUnanswered = 16
)

// obstacle is why a job cannot go on, or does not seem to.
type obstacle struct {
	reason mpi.Reason
	// host is where it shows.
	host    string
	message string
}

// notices are what was told of a job that may still go on.
type notices struct {
	mu   sync.Mutex
	told map[mpi.Reason]bool
	// blocked is the connection that nobody answers, nil when the last look saw none.
	blocked *obstacle
}

// stands takes in what a look found, nil for nothing, and tells what is new.
func (n *notices) stands(blocked, alone *obstacle, tell func(format string, values ...any)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.blocked = blocked
	for _, found := range []*obstacle{blocked, alone} {
		if found != nil && !n.told[found.reason] {
			n.told[found.reason] = true
			tell("the job goes on, and may wait for ever: %s", found.message)
		}
	}
}

// explain names a connection that nobody answered as the cause of a failure that has no better one.
func (n *notices) explain(verdict mpi.Verdict) mpi.Verdict {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.blocked == nil || verdict.Stopped != "" || verdict.Reason != mpi.ReasonCommandFailed && verdict.Reason != diagnose.LaunchDaemonLost {
		return verdict
	}
	return obstructed(verdict, *n.blocked)
}

// watchObstacles tells what seems to stand in the way of the job, until the context ends.
func (l Launcher) watchObstacles(ctx context.Context, table mpi.HostTable, front *front) {
	nodes, open, alone, began := l.gate().nodes(), calls{}, lonely{}, time.Now()
	for sleep(ctx, lookAfter(front.times.snapshot(), time.Since(began))) {
		pods := l.askProgress(ctx, table, front.watch, nodes, mpi.ProgressRequest{})
		if ctx.Err() != nil {
			return // what was seen before the end counts
		}
		for _, progress := range pods {
			front.times.seen(progress)
		}
		works := front.times.snapshot().RankSeconds != nil
		front.notices.stands(open.look(time.Now(), table, pods, works), alone.look(time.Now(), !works && front.watch.launching(), nodes, pods), l.Log.Printf)
	}
}

func lookAfter(phases mpi.Phases, age time.Duration) time.Duration {
	switch {
	case phases.RankSeconds != nil:
		return workLook
	case age < closely:
		return firstLaunchLook
	}
	return launchLook
}

// call is a connection between two pods of the job that nobody answers.
type call struct {
	from string
	to   string
}

// calls remembers since when calls are open.
type calls map[call]time.Time

// look takes in the calls of all pods, and finds one that has been open for too long, the first in the order of the table.
func (c calls) look(now time.Time, table mpi.HostTable, pods map[string]mpi.Progress, works bool) *obstacle {
	patience, noted := launchPatience, firstRetry
	if works {
		patience, noted = workPatience, fewRetries
	}
	var found *obstacle
	still := map[call]bool{}
	for _, from := range table.Hosts {
		for _, attempt := range pods[firstLabel(from.Name)].Unanswered {
			to, port, ours := at(table, attempt.To)
			if !ours || attempt.Retries < noted {
				continue
			}
			this := call{from.Name, attempt.To}
			still[this] = true
			if _, known := c[this]; !known {
				c[this] = now
			}
			if open := now.Sub(c[this]); open >= patience && attempt.Retries >= fewRetries && found == nil {
				found = noAnswer(from, to, port, open)
			}
		}
	}
	maps.DeleteFunc(c, func(old call, _ time.Time) bool { return !still[old] })
	return found
}

func noAnswer(from, to mpi.HostAddress, port uint16, open time.Duration) *obstacle {
	return &obstacle{diagnose.MPIPortsBlocked, from.Name, fmt.Sprintf(
		"MPI communication failure - check NetworkPolicies: %s (%s) cannot reach %s (%s) port %d: no answer for more than %v",
		diagnose.Worker(from.Name), from.Address, diagnose.Worker(to.Name), to.Address, port, open.Round(time.Second))}
}

// at returns the pod that has an address, and the port.
func at(table mpi.HostTable, text string) (pod mpi.HostAddress, port uint16, found bool) {
	address, err := netip.ParseAddrPort(text)
	if err != nil {
		return mpi.HostAddress{}, 0, false
	}
	pod, found = findAddress(table, address.Addr().String())
	return pod, address.Port(), found
}

// lonely is a launch in which all nodes run nothing but launch daemons.
type lonely struct {
	// since is when it was seen first, of all looks without a break.
	since time.Time
}

// look takes in what the pods do, and finds a launch that has been lonely for too long. Launching says that an MPI launcher
// waits: without one the daemons may wait for it, as those of `prte` do for `prun`. A launcher that is no MPI runs something
// else on the nodes.
func (a *lonely) look(now time.Time, launching bool, nodes []mpi.Host, pods map[string]mpi.Progress) *obstacle {
	switch {
	case !launching || len(nodes) == 0 || !onlyDaemons(nodes, pods):
		a.since = time.Time{}
	case a.since.IsZero():
		a.since = now
	case now.Sub(a.since) >= startsWithin:
		return &obstacle{reason: diagnose.Hang, message: fmt.Sprintf(
			"no rank started within %v although the launch daemons run on all %d nodes: the MPI launcher and its daemons wait for each other", startsWithin, len(nodes))}
	}
	return nil
}

// onlyDaemons says whether all nodes run launch daemons of a launch that is old enough, and nothing else. Several launches one
// after the other are each young.
func onlyDaemons(nodes []mpi.Host, pods map[string]mpi.Progress) bool {
	for _, node := range nodes {
		p := pods[firstLabel(node.Name)]
		if p.LaunchAge == nil || *p.LaunchAge < youngLaunch.Seconds() || p.Daemons == 0 || p.Daemons != p.Processes {
			return false
		}
	}
	return true
}

// unanswered returns the connections of this pod that were tried most often.
func unanswered(attempts []proc.Attempt) []mpi.Unanswered {
	slices.SortStableFunc(attempts, func(a, b proc.Attempt) int { return cmp.Compare(b.Retries, a.Retries) })
	var result []mpi.Unanswered
	for _, a := range attempts[:min(len(attempts), maxUnanswered)] {
		result = append(result, mpi.Unanswered{To: a.To.String(), Retries: a.Retries})
	}
	return result
}

// obstructed names the obstacle as the cause: how the command ended is only how we ended it.
func obstructed(verdict mpi.Verdict, found obstacle) mpi.Verdict {
	verdict.Reason, verdict.Host, verdict.Message = found.reason, found.host, found.message
	verdict.Lost, verdict.LostSeconds, verdict.Rank = "", 0, nil
	return verdict
}
