package agent

import (
	"context"
	"errors"
	"log"
	"os"
	"reflect"
	"strings"
	"sync"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/dns"
	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
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
	// Stubborn is how long a node may show another key before the gate gives up: a wrong Secret does not heal.
	Stubborn time.Duration
	// Dark is how long packets to a node that has an address may get lost before the gate gives up: a pod that is still
	// coming up refuses connections, it does not swallow them. 0 waits until the deadline.
	Dark time.Duration
	// Discovery finds the nodes when nobody sends their addresses; nil waits for ever.
	Discovery *Discovery
	Log       *log.Logger
}

const (
	// attempt bounds one attempt to reach a node. A pod that is just coming up may swallow the first packets.
	attempt = 2 * time.Second
	// progress is the time between two log lines about nodes that are missing.
	progress = 10 * time.Second
	// DefaultStubborn is the usual Gate.Stubborn.
	DefaultStubborn = 10 * time.Second
	// DefaultDark is the usual Gate.Dark. Networks admit a new pod within some seconds.
	DefaultDark = 20 * time.Second
)

// errNoTable says that nobody told the gate where the nodes are.
var errNoTable = errors.New("nobody sent the addresses of the pods")

// nodes returns the hosts that the gate waits for.
func (g Gate) nodes() []mpi.Host {
	var nodes []mpi.Host
	for _, host := range g.Hosts {
		if firstLabel(host.Name) != firstLabel(g.Hostname) {
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
	table := g.wait(ctx, tables, &result)
	result.Passed, result.Seconds = len(result.Failures) == 0, time.Since(start).Seconds()
	return result, table
}

func (g Gate) wait(ctx context.Context, tables <-chan mpi.HostTable, result *mpi.GateResult) mpi.HostTable {
	if len(g.nodes()) == 0 {
		return mpi.HostTable{}
	}
	table := g.firstTable(ctx, tables, result)
	for len(result.Failures) == 0 {
		next := g.tryTable(ctx, table, tables, result)
		if next == nil {
			break
		}
		table = *next
	}
	return table
}

// firstTable waits for the addresses: from the controller, or from DNS once that was given the time to send them.
func (g Gate) firstTable(ctx context.Context, tables <-chan mpi.HostTable, result *mpi.GateResult) mpi.HostTable {
	began := time.Now()
	searching, cancel := context.WithCancel(ctx)
	search := g.search(searching)
	defer search.end(cancel)
	from, table := mpi.TableFromController, mpi.HostTable{}
	select {
	case table = <-tables:
	case table = <-search.found:
		from = mpi.TableFromDNS
	case <-ctx.Done():
		result.Failures = search.end(cancel)
		return table
	}
	result.TableSeconds, result.TableFrom = time.Since(began).Seconds(), from
	return table
}

// tryTable tries the addresses of one table until they all answer, some never will, or a different table comes, which it
// returns.
func (g Gate) tryTable(ctx context.Context, table mpi.HostTable, tables <-chan mpi.HostTable, result *mpi.GateResult) *mpi.HostTable {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	go func() { defer close(done); g.reachAll(ctx, table, result) }()
	for {
		select {
		case <-done:
			return nil
		case next := <-tables:
			if reflect.DeepEqual(next, table) {
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

// reachAll first finds all nodes, and then lets them find each other: only then is a failure between two nodes theirs.
func (g Gate) reachAll(ctx context.Context, table mpi.HostTable, result *mpi.GateResult) {
	found := g.askAll(ctx, table, g.hello)
	result.Connect = found.connect()
	if result.Failures = found.failures(); len(result.Failures) == 0 {
		result.Failures = g.askAll(ctx, table, g.introduce).failures()
	}
}

// question is what the gate asks a node at an address; an error means to ask again.
type question func(ctx context.Context, address string, table mpi.HostTable) error

// askAll asks all nodes side by side. A node that shows another key for too long, or that no packet reaches, ends the wait
// for all.
func (g Gate) askAll(ctx context.Context, table mpi.HostTable, ask question) *waiting {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	nodes := g.nodes()
	waiting := newWaiting(len(nodes))
	stop := waiting.logEvery(progress, g.Log)
	defer stop()
	var group sync.WaitGroup
	for i, node := range nodes {
		group.Go(func() {
			if !g.reach(ctx, waiting, i, node, table, ask) {
				cancel()
			}
		})
	}
	group.Wait()
	return waiting
}

// reach tries one node until it answers. It returns false when the node shows another key and will not stop to, or when
// packets to it get lost all the time.
func (g Gate) reach(ctx context.Context, waiting *waiting, i int, node mpi.Host, table mpi.HostTable, ask question) bool {
	host, _ := find(table, node.Name)
	failure := mpi.NodeFailure{Name: node.Name, Address: host.Address, Error: "no answer yet"}
	waiting.failed(i, failure)
	start, strangerSince, darkSince := time.Now(), time.Time{}, time.Time{}
	for {
		began := time.Now()
		err := g.attempt(ctx, host, table, ask)
		if err == nil {
			waiting.passed(i, time.Since(began))
			return true
		}
		if ctx.Err() == nil && !cutShort(err, time.Since(began)) {
			failure.Error = plain(err)
			waiting.failed(i, failure)
		}
		strangerSince = since(strangerSince, isStranger(err))
		if !strangerSince.IsZero() && time.Since(strangerSince) >= g.Stubborn {
			return false
		}
		darkSince = since(darkSince, isDark(err))
		if g.Dark > 0 && !darkSince.IsZero() && time.Since(darkSince) >= g.Dark {
			return false
		}
		select {
		case <-ctx.Done():
			return true
		case <-time.After(pause(time.Since(start))):
		}
	}
}

func (g Gate) attempt(ctx context.Context, host mpi.HostAddress, table mpi.HostTable, ask question) error {
	address, err := client.At(host, g.Port)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	return ask(ctx, address, table)
}

func (g Gate) hello(ctx context.Context, address string, _ mpi.HostTable) error {
	_, err := client.Hello(ctx, g.Dial, g.Key, address)
	return err
}

func (g Gate) introduce(ctx context.Context, address string, table mpi.HostTable) error {
	hello, err := client.Introduce(ctx, g.Dial, g.Key, address, table)
	if err == nil && len(hello.Unreachable) > 0 {
		return &cutOffError{peer: hello.Unreachable[0]}
	}
	return err
}

// pause is the time before the next attempt: 50 ms at first, then 5 % of the time that has passed, at most a second. A
// long wait for an image costs little CPU and is prolonged by no more than a twentieth.
func pause(waited time.Duration) time.Duration {
	return min(max(waited/20, 50*time.Millisecond), time.Second)
}

// cutShort says whether an attempt failed only because the gate's own deadline came first. It says nothing about the
// node, so the failure before it stands. The dialer may notice the deadline a moment before the context does.
func cutShort(err error, took time.Duration) bool {
	var failure *client.Failure
	if !errors.As(err, &failure) {
		return false
	}
	switch failure.Cause {
	case client.TimedOut:
		return took < attempt
	case client.NoDNS:
		return took < dns.Patience && (errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded))
	}
	return false
}

func isStranger(err error) bool {
	var failure *client.Failure
	return errors.As(err, &failure) && failure.Cause == client.Authentication
}

// isDark says whether packets got lost on the way to a node, or from one node to another.
func isDark(err error) bool {
	var failure *client.Failure
	var cut *cutOffError
	if errors.As(err, &cut) {
		return cut.peer.Error == string(client.TimedOut) || cut.peer.Error == string(client.Unreachable)
	}
	return errors.As(err, &failure) && (failure.Cause == client.TimedOut || failure.Cause == client.Unreachable)
}

// since returns when a state began: at the earlier time if it was known, now if it begins, never if it does not hold.
func since(began time.Time, holds bool) time.Time {
	switch {
	case !holds:
		return time.Time{}
	case began.IsZero():
		return time.Now()
	}
	return began
}

// plain is an error in words for a table of failures, with what to check.
func plain(err error) string {
	var failure *client.Failure
	if errors.As(err, &failure) {
		return failure.Error()
	}
	return strings.ReplaceAll(err.Error(), "\n", " ")
}
