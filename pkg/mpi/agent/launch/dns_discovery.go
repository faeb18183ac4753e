package launch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/dns"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/agent/sleep"
)

// Discovery is how a gate finds its nodes when nobody sends their addresses, as under stock Kubeflow Trainer without
// mpi-controller beside it. It asks DNS, and believes an address only when a node answers there with the key of the job:
// a cache may still hold the address of an earlier job's pod.
type Discovery struct {
	// After is how long somebody has time to send the addresses.
	After    time.Duration
	Resolver *dns.Resolver
}

// DefaultDiscoveryAfter is the usual Discovery.After. The controller usually sends the addresses within 100 ms after the
// launcher's container has started.
const DefaultDiscoveryAfter = 500 * time.Millisecond

// errTooLate is about a node that was found at the very end.
var errTooLate = errors.New("it answered when the time was up")

const (
	// firstRefresh and lastRefresh are the times between two look-ups of a node that does not answer at its address. They
	// grow, because there are only four ways past a cache: with the 30 s that some caches keep an answer, they reach over
	// the first 7 s, in which the record of an old pod may still be there; the usual 5 s never use them up.
	firstRefresh = time.Second
	lastRefresh  = 5 * time.Second
	// share is the time between two look-ups of the whole gate, so that a large job does not flood DNS.
	share = 2 * time.Millisecond
)

// nodeSearch is a discovery under way.
type nodeSearch struct {
	// found is the table with all nodes. It never comes when the context ends first.
	found   chan mpi.HostTable
	waiting *waitingNodes
	// last is the name of the last node.
	last  string
	group sync.WaitGroup
}

// startNodeSearch begins to look for the nodes. Its failures say that nobody sent the addresses as long as it waits for that.
func (g Gate) startNodeSearch(ctx context.Context) *nodeSearch {
	nodes := g.otherHosts()
	s := &nodeSearch{found: make(chan mpi.HostTable, 1), waiting: newWaitingNodes(len(nodes)), last: nodes[len(nodes)-1].Name}
	for i, node := range nodes {
		s.waiting.noteFailure(i, mpi.NodeFailure{Name: node.Name, Error: string(client.NoTable)})
	}
	if g.Discovery != nil {
		s.group.Go(func() {
			if sleep.For(ctx, g.Discovery.After) {
				g.discoverByDNS(ctx, s)
			}
		})
	}
	return s
}

// stop ends the search and returns the nodes that it had not found, at least one, because it was ended.
func (s *nodeSearch) stop(cancel context.CancelFunc) []mpi.NodeFailure {
	cancel()
	s.group.Wait()
	if missing := s.waiting.failures(); len(missing) > 0 {
		return missing
	}
	return []mpi.NodeFailure{{Name: s.last, Error: errTooLate.Error()}}
}

func (g Gate) discoverByDNS(ctx context.Context, s *nodeSearch) {
	g.Log.Print("nobody sent the addresses of the pods so far, DNS is asked too")
	stop := s.waiting.logEvery(progress, g.Log)
	defer stop()
	nodes := g.otherHosts()
	hosts := make([]mpi.HostAddress, len(nodes))
	var group sync.WaitGroup
	for i, node := range nodes {
		group.Go(func() { hosts[i] = g.locateNode(ctx, s.waiting, i, node, len(nodes)) })
	}
	group.Wait()
	if ctx.Err() == nil {
		s.found <- mpi.HostTable{Hosts: append([]mpi.HostAddress{g.launcherAddress(hosts)}, hosts...)}
	}
}

// locateNode looks for one of the nodes until it answers.
func (g Gate) locateNode(ctx context.Context, waiting *waitingNodes, i int, node mpi.Host, nodes int) mpi.HostAddress {
	lookup := g.Discovery.Resolver.Lookup(node.Name)
	host, start, asked, refresh := mpi.HostAddress{Name: node.Name}, time.Now(), time.Time{}, firstRefresh
	var attempt client.AttemptLimit
	for {
		began := time.Now()
		err := error(nil)
		if host.Address == "" || time.Since(asked) >= refresh {
			if asked = began; host.Address != "" {
				refresh = min(2*refresh, lastRefresh)
			}
			host.Address, err = lookUpAddress(ctx, lookup)
		}
		if err == nil {
			err = g.askNodeOnce(ctx, attempt.Next(), host, mpi.HostTable{}, g.askHello)
		}
		if err == nil {
			waiting.noteAnswer(i, time.Since(began))
			return host
		}
		if ctx.Err() == nil && !endedByGateDeadline(err, time.Since(began), attempt.Next()) {
			waiting.noteFailure(i, mpi.NodeFailure{Name: node.Name, Address: host.Address, Error: client.DescribeError(err)})
		}
		attempt.NoteFailure(err)
		if !sleep.For(ctx, max(pauseBeforeRetry(time.Since(start)), share*time.Duration(nodes))) {
			return host
		}
	}
}

func lookUpAddress(ctx context.Context, lookup *dns.Lookup) (string, error) {
	address, err := lookup.Address(ctx)
	if err != nil {
		return "", client.ExplainSessionEnd(err)
	}
	return address.String(), nil
}

// launcherAddress is the launcher's entry. Its own record in DNS need not exist yet; its domain is that of the nodes.
func (g Gate) launcherAddress(nodes []mpi.HostAddress) mpi.HostAddress {
	name := hosts.FirstLabel(g.Hostname)
	if i := slices.IndexFunc(g.Hosts, func(h mpi.Host) bool { return hosts.FirstLabel(h.Name) == name }); i >= 0 {
		name = g.Hosts[i].Name
	} else {
		name += nodes[0].Name[len(hosts.FirstLabel(nodes[0].Name)):]
	}
	address := g.Address
	if address == "" {
		address = client.LocalAddress(nodes[0].Address)
	}
	return mpi.HostAddress{Name: name, Address: address}
}
