package launch

import (
	"context"
	"io"
	"log"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
	"lockstep.dev/lockstep/pkg/mpi/agent/node"
	"lockstep.dev/lockstep/pkg/mpi/agent/state"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
)

var quiet = log.New(io.Discard, "", 0)

// gateTest is a gate with nodes on the loopback interface.
type gateTest struct {
	t     *testing.T
	gate  Gate
	table mpi.HostTable
	// hostnames are those of the pods.
	hostnames []string
}

func newGateTest(t *testing.T, nodes int) *gateTest {
	t.Helper()
	addresses, port := agenttest.FreeAddresses(t, nodes)
	g := &gateTest{t: t, gate: Gate{
		Hostname: "demo-launcher-0-0", Key: agenttest.NewKey(t), Dial: (&net.Dialer{}).DialContext, Port: port,
		Deadline: time.Minute, WrongKeyTimeout: time.Minute, UnreachableTimeout: time.Minute, Log: quiet,
	}}
	for i, name := range (mpi.World{Nodes: int32(nodes)}).HostNames("demo") {
		g.gate.Hosts = append(g.gate.Hosts, mpi.Host{Name: name, Slots: 1})
		g.table.Hosts = append(g.table.Hosts, mpi.HostAddress{Name: name, Address: addresses[i]})
		g.hostnames = append(g.hostnames, hosts.FirstLabel(name))
	}
	return g
}

// serve starts the agent of node i with a key.
func (g *gateTest) serve(i int, key identity.Key) {
	g.t.Helper()
	g.serveThrough(i, key, (&net.Dialer{}).DialContext)
}

// serveThrough starts the agent of node i, which reaches others as dial lets it.
func (g *gateTest) serveThrough(i int, key identity.Key, dial client.Dial) {
	g.t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(g.table.Hosts[i].Address, strconv.Itoa(g.gate.Port)))
	if err != nil {
		g.t.Fatal(err)
	}
	node := node.Node{
		Settings: state.Settings{StateDir: g.t.TempDir(), Port: g.gate.Port}, Hostname: g.hostnames[i],
		Key: key, Dial: dial, Log: quiet,
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- node.Serve(ctx, listener) }()
	g.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			g.t.Error(err)
		}
	})
}

// pass runs the gate with tables that come one after the other.
func (g *gateTest) pass(tables ...mpi.HostTable) (mpi.GateResult, mpi.HostTable) {
	g.t.Helper()
	source, stop := make(chan mpi.HostTable), make(chan struct{})
	defer close(stop)
	go func() {
		for _, table := range tables {
			select {
			case source <- table:
			case <-stop:
				return
			}
		}
	}()
	return g.gate.Pass(context.Background(), source)
}

func TestGatePassesWhenAllNodesAnswer(t *testing.T) {
	g := newGateTest(t, 3)
	for i := range 3 {
		g.serve(i, g.gate.Key)
	}
	result, table := g.pass(g.table)
	if diff := cmp.Diff(g.table, table); !result.Passed || len(result.Failures) != 0 || diff != "" {
		t.Errorf("%+v, %s", result, diff)
	}
}

func TestGateLeavesTheLauncherItselfOut(t *testing.T) {
	g := newGateTest(t, 2)
	g.serve(0, g.gate.Key)
	g.serve(1, g.gate.Key)
	g.gate.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, g.table.Hosts[0].Address+":") {
			t.Error("the launcher asked itself")
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	g.gate.Hostname = "demo-node-0-0.demo.ns.svc" // with setHostnameAsFQDN
	if result, _ := g.pass(g.table); !result.Passed {
		t.Errorf("%+v", result)
	}
}

func TestGateTakesANewerTable(t *testing.T) {
	g := newGateTest(t, 2)
	g.serve(0, g.gate.Key)
	g.serve(1, g.gate.Key)
	stale := mpi.HostTable{Hosts: []mpi.HostAddress{g.table.Hosts[0], {Name: g.table.Hosts[1].Name, Address: "127.0.0.1"}}}
	result, table := g.pass(stale, stale, g.table)
	if diff := cmp.Diff(g.table, table); !result.Passed || diff != "" {
		t.Errorf("%+v, %s", result, diff)
	}
}

// A pod that is started again may get the address of another one, which holds the same key.
func TestGateBelievesANodeOnlyUnderItsName(t *testing.T) {
	g := newGateTest(t, 2)
	g.serve(0, g.gate.Key)
	g.serve(1, g.gate.Key)
	swapped := mpi.HostTable{Hosts: []mpi.HostAddress{
		{Name: g.table.Hosts[0].Name, Address: g.table.Hosts[1].Address}, {Name: g.table.Hosts[1].Name, Address: g.table.Hosts[0].Address},
	}}
	result, table := g.pass(swapped, g.table)
	if diff := cmp.Diff(g.table, table); !result.Passed || diff != "" {
		t.Errorf("%+v, %s", result, diff)
	}
	g.gate.Deadline = 3 * time.Second
	result, _ = g.pass(swapped)
	if result.Passed || len(result.Failures) != 2 || result.Failures[0].Error != "another pod of the job answers there: demo-node-0-1" {
		t.Errorf("%+v", result)
	}
	if got := verdict.GateFailed(result).Message; strings.Count(got, "hostNetwork") != 1 {
		t.Errorf("the remedy is %q", got)
	}
	if err := g.gate.sendTable(t.Context(), g.table.Hosts[0].Name, net.JoinHostPort(g.table.Hosts[1].Address, strconv.Itoa(g.gate.Port)), g.table); err == nil {
		t.Error("the second question is for nobody in particular")
	}
}

func TestGateKnowsHostNamesAsPodsHaveThem(t *testing.T) {
	long := "a-job-with-a-name-as-long-as-it-may-be-for-two-nodes-node-0-0" // 61 of 63 characters
	cases := map[string]struct {
		reason         string
		name, hostname string
		want           bool
	}{
		"JobSet":            {"the pod has hostname and subdomain", "demo-node-0-0.demo", "demo-node-0-0", true},
		"setHostnameAsFQDN": {"the kernel knows the whole name", "demo-node-0-0.demo", "demo-node-0-0.demo.team.svc.cluster.local", true},
		"without domain":    {"a hostfile may have none", "demo-node-0-0", "demo-node-0-0", true},
		"long":              {"Kubernetes cuts no host name that it accepts", long + ".a-job", long, true},
		"launcher":          {"a hostfile may name it", "demo-launcher-0-0.demo", "demo-launcher-0-0", true},
		"next":              {"10 is not 1", "demo-node-0-1.demo", "demo-node-0-10", false},
		"other job":         {"", "demo-node-0-1.demo", "other-node-0-1", false},
		"nobody":            {"", "demo-node-0-1.demo", "", false},
	}
	for name, c := range cases {
		if err := checkHostname(c.name, mpi.Hello{Hostname: c.hostname}); (err == nil) != c.want {
			t.Errorf("%s: %s: %v", name, c.reason, err)
		}
	}
	g := newGateTest(t, 2)
	g.hostnames = []string{"demo-node-0-0.demo.team.svc.cluster.local", "demo-node-0-1.demo.team.svc.cluster.local"}
	g.serve(0, g.gate.Key)
	g.serve(1, g.gate.Key)
	if result, _ := g.pass(g.table); !result.Passed {
		t.Errorf("%+v", result)
	}
}

func TestGateFailures(t *testing.T) {
	cases := map[string]struct {
		reason string
		set    func(*gateTest)
		tables func(*gateTest) []mpi.HostTable
		want   []string
	}{
		"nobody listens": {
			reason: "a container that does not start", want: []string{"connection refused", "connection refused"},
		},
		"one of two": {
			reason: "only the missing node is named", set: func(g *gateTest) { g.serve(0, g.gate.Key) },
			want: []string{"", "connection refused"},
		},
		"another key": {
			reason: "a Secret of another job", set: func(g *gateTest) { g.serve(0, g.gate.Key); g.serve(1, agenttest.NewKey(g.t)) },
			want: []string{"", "authentication failed"},
		},
		"no entry": {
			reason: "a table that lacks a node", set: func(g *gateTest) { g.serve(0, g.gate.Key) },
			tables: func(g *gateTest) []mpi.HostTable { return []mpi.HostTable{{Hosts: g.table.Hosts[:1]}} },
			want:   []string{"", "no address"},
		},
		"no table": {
			reason: "no controller", tables: func(*gateTest) []mpi.HostTable { return nil },
			want: []string{"nobody sent the addresses of the pods", "nobody sent the addresses of the pods"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGateTest(t, 2)
			g.gate.Deadline = 3 * time.Second // a node that answers must have done so, on a busy machine too
			if c.set != nil {
				c.set(g)
			}
			tables := []mpi.HostTable{g.table}
			if c.tables != nil {
				tables = c.tables(g)
			}
			result, _ := g.pass(tables...)
			var want []mpi.NodeFailure
			for i, text := range c.want {
				if text != "" {
					want = append(want, mpi.NodeFailure{Name: g.table.Hosts[i].Name, Error: text})
				}
			}
			diff := cmp.Diff(want, result.Failures, cmpopts.IgnoreFields(mpi.NodeFailure{}, "Address"))
			if result.Passed || diff != "" {
				t.Errorf("%s: %+v, %s", c.reason, result, diff)
			}
		})
	}
}

func TestGateGivesUpOnAStubbornStranger(t *testing.T) {
	g := newGateTest(t, 2)
	g.gate.WrongKeyTimeout = 0
	g.serve(0, agenttest.NewKey(t))
	result, _ := g.pass(g.table) // the deadline is a minute
	if result.Passed || result.Failures[0].Error != "authentication failed" {
		t.Errorf("%+v", result)
	}
}

func TestPauseProlongsNoWaitByMuch(t *testing.T) {
	for waited, want := range map[time.Duration]time.Duration{
		0: 50 * time.Millisecond, time.Second: 50 * time.Millisecond, 10 * time.Second: 500 * time.Millisecond, time.Hour: time.Second,
	} {
		if got := pauseBeforeRetry(waited); got != want {
			t.Errorf("after %v: %v, want %v", waited, got, want)
		}
	}
}

// A network policy that has not reached a node yet rejects its peers, although the launcher gets through.
func TestGateWaitsUntilNodesReachEachOther(t *testing.T) {
	g := newGateTest(t, 2)
	g.serve(0, g.gate.Key)
	var rejected atomic.Int32
	g.serveThrough(1, g.gate.Key, func(ctx context.Context, network, address string) (net.Conn, error) {
		if rejected.Add(1) <= 3 {
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	})
	if result, _ := g.pass(g.table); !result.Passed || rejected.Load() < 4 {
		t.Errorf("%+v after %d attempts between nodes", result, rejected.Load())
	}
}

func TestGateNamesNodesThatCannotReachEachOther(t *testing.T) {
	g := newGateTest(t, 2)
	g.gate.Deadline = 3 * time.Second
	g.serve(0, g.gate.Key)
	g.serveThrough(1, g.gate.Key, func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	})
	result, _ := g.pass(g.table)
	want := []mpi.NodeFailure{{
		Name: g.table.Hosts[1].Name, Address: g.table.Hosts[1].Address,
		Error: "it cannot reach demo-node-0-0 (" + g.table.Hosts[0].Address + "): connection refused",
	}}
	if diff := cmp.Diff(want, result.Failures); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if text := verdict.GateFailed(result).Message; !strings.Contains(text, "NetworkPolicy") {
		t.Errorf("the remedy is %q", text)
	}
}

// Nobody listens at the addresses: the kernel refuses each attempt.
func TestGateGivesUpOnARefusedPortOnceItsNodesAreUp(t *testing.T) {
	up := func(g *gateTest) mpi.HostTable { return mpi.HostTable{Hosts: g.table.Hosts, Up: true} }
	cases := map[string]struct {
		reason string
		tables func(*gateTest) []mpi.HostTable
		gaveUp bool
	}{
		"starting":      {"an image may take minutes", func(g *gateTest) []mpi.HostTable { return []mpi.HostTable{g.table} }, false},
		"up":            {"the containers run, and the port is refused all the same", func(g *gateTest) []mpi.HostTable { return []mpi.HostTable{up(g)} }, true},
		"up afterwards": {"the controller says so later", func(g *gateTest) []mpi.HostTable { return []mpi.HostTable{g.table, up(g)} }, true},
		"still up":      {"what was said holds", func(g *gateTest) []mpi.HostTable { return []mpi.HostTable{up(g), g.table} }, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGateTest(t, 2)
			g.gate.UnreachableTimeout, g.gate.Deadline = 2*time.Second, 5*time.Second
			if c.gaveUp {
				g.gate.Deadline = time.Minute
			}
			result, _ := g.pass(c.tables(g)...)
			if gaveUp := result.Seconds < g.gate.Deadline.Seconds()*0.9; result.Passed || gaveUp != c.gaveUp || result.Failures[0].Error != "connection refused" {
				t.Errorf("%s: %+v", c.reason, result)
			}
		})
	}
}

func TestGateStartsWithAnAgentThatListensLate(t *testing.T) {
	g := newGateTest(t, 1)
	g.serve(0, g.gate.Key)
	refused := 5
	g.gate.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if refused--; refused > 0 {
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	if result, _ := g.pass(mpi.HostTable{Hosts: g.table.Hosts, Up: true}); !result.Passed {
		t.Errorf("%+v", result)
	}
}

func TestGateSaysWhatSeemsToBeInTheWay(t *testing.T) {
	g := newGateTest(t, 2)
	g.serve(0, g.gate.Key)
	g.serve(1, agenttest.NewKey(t))
	receiver := newHostTableReceiver(g.gate.Hosts)
	g.gate.Doubts = receiver.doubts
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); g.gate.Pass(ctx, receiver.tables) }()
	defer func() { stop(); <-ended }()
	answer, err := receiver.answerPush(ctx, encode(t, mpi.HostTable{Hosts: g.table.Hosts, Up: true}))
	got, _ := answer.(mpi.GateResult)
	if err != nil || !got.Waiting || got.Passed || len(got.Failures) != 1 || got.Failures[0].Error != "authentication failed" {
		t.Errorf("%+v, %v", answer, err)
	}
}

func TestGateGivesUpOnANodeInTheDark(t *testing.T) {
	lost := &net.OpError{Op: "dial", Err: syscall.ETIMEDOUT}
	cases := map[string]struct {
		reason string
		err    error
		gaveUp bool
	}{
		"packets get lost": {"that is a policy or a machine", lost, true},
		"no route":         {"that is a machine", &net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH}, true},
		"refused":          {"the container may still pull its image", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := newGateTest(t, 1)
			g.gate.UnreachableTimeout = time.Nanosecond
			dials := 0
			g.serve(0, g.gate.Key)
			g.gate.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				if dials++; dials <= 3 {
					return nil, c.err
				}
				return (&net.Dialer{}).DialContext(ctx, network, address)
			}
			result, _ := g.pass(g.table)
			if result.Passed == c.gaveUp || c.gaveUp && dials == 4 {
				t.Errorf("%s: after %d dials %+v", c.reason, dials, result)
			}
		})
	}
}
