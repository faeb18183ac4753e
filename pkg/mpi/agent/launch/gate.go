package launch

import (
	"context"
	"errors"
	"log"
	"os"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/dns"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
	"lockstep.dev/lockstep/pkg/mpi/agent/sleep"
)

// Gate is the launcher's wait for its nodes: every host of the hostfile, except the launcher itself, must answer with
// the key of the job.
type Gate struct {
	Hosts []mpi.Host
	// Hostname is the host name of the launcher's pod.
	Hostname string
	// Address is the launcher's own, when it listens on one only; empty is the one from which it reaches the nodes.
	Address string
	Key     identity.Key
	Dial    client.Dial
	Port    int
	// Deadline is how long the whole gate may take.
	Deadline time.Duration
	// WrongKeyTimeout is how long a node may show another key before the gate gives up: a wrong Secret does not heal.
	WrongKeyTimeout time.Duration
	// UnreachableTimeout is how long packets to a node that has an address may get lost before the gate gives up: a pod that is still
	// coming up refuses connections, it does not swallow them. As long may a node refuse connections whose container is
	// known to run, or accept them and say nothing. 0 waits until the deadline.
	UnreachableTimeout time.Duration
	// Doubts takes what seems to be in the way long before the gate gives up. Nobody needs to listen.
	Doubts chan<- []mpi.NodeFailure
	// Discovery finds the nodes when nobody sends their addresses; nil waits forever.
	Discovery *Discovery
	Log       *log.Logger
}

const (
	// progress is the time between two log lines about nodes that are missing.
	progress = 10 * time.Second
	// DefaultWrongKeyTimeout is the usual Gate.WrongKeyTimeout: long enough for a newer table, should the address have become that of
	// another job's pod.
	DefaultWrongKeyTimeout = 2 * time.Second
	// DefaultUnreachableTimeout is the usual Gate.UnreachableTimeout. Networks admit a new pod within some seconds, and within half a minute where what
	// programs them has just been started again. Users read long before what seems to be in the way.
	DefaultUnreachableTimeout = time.Minute
)

// otherHosts returns the hosts that the gate waits for.
func (g Gate) otherHosts() []mpi.Host {
	var nodes []mpi.Host
	for _, host := range g.Hosts {
		if hosts.FirstLabel(host.Name) != hosts.FirstLabel(g.Hostname) {
			nodes = append(nodes, host)
		}
	}
	return nodes
}

// Pass waits until all nodes have answered or the deadline has passed, and returns the table by which they were reached.
// Tables come from whoever knows addresses; a newer table replaces an older one as long as the gate waits. Without nodes
// it passes at once.
func (g Gate) Pass(ctx context.Context, tables <-chan mpi.HostTable) (mpi.GateResult, mpi.HostTable) {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, g.Deadline)
	defer cancel()
	var result mpi.GateResult
	table := g.awaitNodes(ctx, tables, &result)
	result.Passed, result.Seconds = len(result.Failures) == 0, time.Since(start).Seconds()
	return result, table
}

func (g Gate) awaitNodes(ctx context.Context, tables <-chan mpi.HostTable, result *mpi.GateResult) mpi.HostTable {
	if len(g.otherHosts()) == 0 {
		return mpi.HostTable{}
	}
	table := g.awaitFirstTable(ctx, tables, result)
	for len(result.Failures) == 0 {
		next := g.tryTable(ctx, table, tables, result)
		if next == nil {
			break
		}
		table = *next
	}
	return table
}

// awaitFirstTable waits for the addresses: from the controller, or from DNS once that was given the time to send them.
func (g Gate) awaitFirstTable(ctx context.Context, tables <-chan mpi.HostTable, result *mpi.GateResult) mpi.HostTable {
	began := time.Now()
	searching, cancel := context.WithCancel(ctx)
	search := g.startNodeSearch(searching)
	defer search.stop(cancel)
	from, table := mpi.TableFromController, mpi.HostTable{}
	select {
	case table = <-tables:
	case table = <-search.found:
		from = mpi.TableFromDNS
	case <-ctx.Done():
		result.Failures = search.stop(cancel)
		return table
	}
	result.TableSeconds, result.TableFrom = time.Since(began).Seconds(), from
	return table
}

// triedTable is a table that the gate tries.
type triedTable struct {
	table mpi.HostTable
	// up is Up of the table. It may become true while the table is tried.
	up atomic.Bool
}

// tryTable tries the addresses of one table until they all answer, some never will, or one with other addresses comes, which
// it returns.
func (g Gate) tryTable(ctx context.Context, table mpi.HostTable, tables <-chan mpi.HostTable, result *mpi.GateResult) *mpi.HostTable {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tried := &triedTable{table: table}
	tried.up.Store(table.Up)
	done := make(chan struct{})
	go func() { defer close(done); g.reachAllNodes(ctx, tried, result) }()
	for {
		select {
		case <-done:
			return nil
		case next := <-tables:
			if reflect.DeepEqual(next.Hosts, table.Hosts) {
				tried.up.Store(next.Up || tried.up.Load())
				continue
			}
			g.Log.Print("the addresses of the pods have changed, the gate starts again")
			cancel()
			<-done
			result.Failures = nil
			return &next
		}
	}
}

// reachAllNodes first finds all nodes, and then lets them find each other: only then is a failure between two nodes theirs.
func (g Gate) reachAllNodes(ctx context.Context, places *triedTable, result *mpi.GateResult) {
	found := g.askAllNodes(ctx, places, g.askHello)
	result.Connect = found.connectSpread()
	if result.Failures = found.failures(); len(result.Failures) == 0 {
		result.Failures = g.askAllNodes(ctx, places, g.sendTable).failures()
	}
}

// nodeQuestion is what the gate asks a node by name at an address; an error means to ask again.
type nodeQuestion func(ctx context.Context, name, address string, table mpi.HostTable) error

// askAllNodes asks all nodes side by side. A node in trouble that does not pass ends the wait for all.
func (g Gate) askAllNodes(ctx context.Context, places *triedTable, ask nodeQuestion) *waitingNodes {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	nodes := g.otherHosts()
	waiting := newWaitingNodes(len(nodes))
	stop := waiting.logEvery(progress, g.Log)
	defer stop()
	var group sync.WaitGroup
	for i, node := range nodes {
		group.Go(func() {
			if !g.reachNode(ctx, waiting, i, node, places, ask) {
				cancel()
			}
		})
	}
	group.Wait()
	return waiting
}

// reachNode tries one node until it answers. It returns false when the node is in trouble and stays so.
func (g Gate) reachNode(ctx context.Context, waiting *waitingNodes, i int, node mpi.Host, places *triedTable, ask nodeQuestion) bool {
	host, _ := hosts.FindHost(places.table, node.Name)
	failure := mpi.NodeFailure{Name: node.Name, Address: host.Address, Error: "no answer yet"}
	waiting.noteFailure(i, failure)
	start, in := time.Now(), lastingTrouble{}
	var attempt client.AttemptLimit
	for {
		began := time.Now()
		err := g.askNodeOnce(ctx, attempt.Next(), host, places.table, ask)
		if err == nil {
			waiting.noteAnswer(i, time.Since(began))
			return true
		}
		if ctx.Err() == nil && !endedByGateDeadline(err, time.Since(began), attempt.Next()) {
			failure.Error = client.DescribeError(err)
			waiting.noteFailure(i, failure)
		}
		attempt.NoteFailure(err)
		in.noteTrouble(troubleOf(err, places.up.Load()), began)
		if limit, ends := g.limitOfTrouble(in.trouble); ends && time.Since(in.since) >= limit {
			return false
		}
		waiting.setDoubtful(i, time.Since(in.since) >= doubtAfter[in.trouble])
		g.reportDoubts(waiting)
		if !sleep.For(ctx, pauseBeforeRetry(time.Since(start))) {
			return true
		}
	}
}

// reportDoubts passes on what seems to be in the way, if somebody listens.
func (g Gate) reportDoubts(waiting *waitingNodes) {
	if doubts := waiting.doubts(); len(doubts) > 0 {
		select {
		case g.Doubts <- doubts:
		default:
		}
	}
}

func (g Gate) askNodeOnce(ctx context.Context, limit time.Duration, host mpi.HostAddress, table mpi.HostTable, ask nodeQuestion) error {
	address, err := client.AgentAddress(host, g.Port)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return ask(ctx, host.Name, address, table)
}

func (g Gate) askHello(ctx context.Context, name, address string, _ mpi.HostTable) error {
	hello, err := client.AskHello(ctx, g.Dial, g.Key, address)
	if err != nil {
		return err
	}
	return checkHostname(name, hello)
}

func (g Gate) sendTable(ctx context.Context, name, address string, table mpi.HostTable) error {
	hello, err := client.SendHostTable(ctx, g.Dial, g.Key, address, table)
	if err == nil {
		err = checkHostname(name, hello)
	}
	if err == nil && len(hello.Unreachable) > 0 {
		return &cutOffError{peer: hello.Unreachable[0]}
	}
	return err
}

// checkHostname makes sure that it is the node that was asked for: all pods of a job hold its key, and an address may have become
// that of another of them. A host name may carry the domain of the pod (setHostnameAsFQDN).
func checkHostname(name string, hello mpi.Hello) error {
	if hosts.FirstLabel(hello.Hostname) != hosts.FirstLabel(name) {
		return &client.Failure{Cause: client.OtherPod, Err: errors.New(hosts.FirstLabel(hello.Hostname))}
	}
	return nil
}

// pauseBeforeRetry is the time before the next attempt: 50 ms at first, then 5 % of the time that has passed, at most a second. A
// long wait for an image costs little CPU and is prolonged by no more than a twentieth.
func pauseBeforeRetry(waited time.Duration) time.Duration {
	return min(max(waited/20, 50*time.Millisecond), time.Second)
}

// endedByGateDeadline reports whether an attempt failed only because the gate's own deadline came first. It says nothing about the
// node, so the failure before it stands. The dialer may notice the deadline a moment before the context does.
func endedByGateDeadline(err error, took, limit time.Duration) bool {
	var failure *client.Failure
	if !errors.As(err, &failure) {
		return false
	}
	switch failure.Cause {
	case client.TimedOut, client.NoHandshake:
		return took < limit
	case client.NoDNS:
		return took < dns.ServerTimeout && (errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded))
	}
	return false
}
