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

// search is a discovery under way.
type search struct {
	// found is the table with all nodes. It never comes when the context ends first.
	found   chan mpi.HostTable
	waiting *waiting
	// last is the name of the last node.
	last  string
	group sync.WaitGroup
}

// search begins to look for the nodes. Its failures say that nobody sent the addresses as long as it waits for that.
func (g Gate) search(ctx context.Context) *search {
	nodes := g.nodes()
	s := &search{found: make(chan mpi.HostTable, 1), waiting: newWaiting(len(nodes)), last: nodes[len(nodes)-1].Name}
	for i, node := range nodes {
		s.waiting.failed(i, mpi.NodeFailure{Name: node.Name, Error: string(client.NoTable)})
	}
	if g.Discovery != nil {
		s.group.Go(func() {
			if sleep.For(ctx, g.Discovery.After) {
				g.discover(ctx, s)
			}
		})
	}
	return s
}

// end ends the search and returns the nodes that it had not found, at least one, because it was ended.
func (s *search) end(cancel context.CancelFunc) []mpi.NodeFailure {
	cancel()
	s.group.Wait()
	if missing := s.waiting.failures(); len(missing) > 0 {
		return missing
	}
	return []mpi.NodeFailure{{Name: s.last, Error: errTooLate.Error()}}
}

func (g Gate) discover(ctx context.Context, s *search) {
	g.Log.Print("nobody sent the addresses of the pods so far, DNS is asked too")
	stop := s.waiting.logEvery(progress, g.Log)
	defer stop()
	nodes := g.nodes()
	hosts := make([]mpi.HostAddress, len(nodes))
	var group sync.WaitGroup
	for i, node := range nodes {
		group.Go(func() { hosts[i] = g.locate(ctx, s.waiting, i, node, len(nodes)) })
	}
	group.Wait()
	if ctx.Err() == nil {
		s.found <- mpi.HostTable{Hosts: append([]mpi.HostAddress{g.self(hosts)}, hosts...)}
	}
}

// locate looks for one of the nodes until it answers.
func (g Gate) locate(ctx context.Context, waiting *waiting, i int, node mpi.Host, nodes int) mpi.HostAddress {
	lookup := g.Discovery.Resolver.Lookup(node.Name)
	host, start, asked, refresh := mpi.HostAddress{Name: node.Name}, time.Now(), time.Time{}, firstRefresh
	for {
		began := time.Now()
		err := error(nil)
		if host.Address == "" || time.Since(asked) >= refresh {
			if asked = began; host.Address != "" {
				refresh = min(2*refresh, lastRefresh)
			}
			host.Address, err = addressOf(ctx, lookup)
		}
		if err == nil {
			err = g.attempt(ctx, host, mpi.HostTable{}, g.hello)
		}
		if err == nil {
			waiting.passed(i, time.Since(began))
			return host
		}
		if ctx.Err() == nil && !cutShort(err, time.Since(began)) {
			waiting.failed(i, mpi.NodeFailure{Name: node.Name, Address: host.Address, Error: client.Describe(err)})
		}
		if !sleep.For(ctx, max(untilNext(time.Since(start)), share*time.Duration(nodes))) {
			return host
		}
	}
}

func addressOf(ctx context.Context, lookup *dns.Lookup) (string, error) {
	address, err := lookup.Address(ctx)
	if err != nil {
		return "", client.Explain(err)
	}
	return address.String(), nil
}

// self is the launcher's entry. Its own record in DNS need not exist yet; its domain is that of the nodes.
func (g Gate) self(nodes []mpi.HostAddress) mpi.HostAddress {
	name := hosts.Label(g.Hostname)
	if i := slices.IndexFunc(g.Hosts, func(h mpi.Host) bool { return hosts.Label(h.Name) == name }); i >= 0 {
		name = g.Hosts[i].Name
	} else {
		name += nodes[0].Name[len(hosts.Label(nodes[0].Name)):]
	}
	address := g.Address
	if address == "" {
		address = client.LocalAddress(nodes[0].Address)
	}
	return mpi.HostAddress{Name: name, Address: address}
}
