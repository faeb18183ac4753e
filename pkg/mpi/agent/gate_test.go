package agent

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
)

var quiet = log.New(io.Discard, "", 0)

// gateTest is a gate with nodes on the loopback interface.
type gateTest struct {
	t     *testing.T
	gate  Gate
	table mpi.HostTable
}

func newGateTest(t *testing.T, nodes int) *gateTest {
	t.Helper()
	addresses, port := agenttest.Addresses(t, nodes)
	g := &gateTest{t: t, gate: Gate{
		Hostname: "demo-launcher-0-0", Key: agenttest.Key(t), Dial: (&net.Dialer{}).DialContext, Port: port,
		Deadline: time.Minute, Stubborn: time.Minute, Log: quiet,
	}}
	for i, name := range (mpi.World{Nodes: int32(nodes)}).Hosts("demo") {
		g.gate.Hosts = append(g.gate.Hosts, mpi.Host{Name: name, Slots: 1})
		g.table.Hosts = append(g.table.Hosts, mpi.HostAddress{Name: name, Address: addresses[i]})
	}
	return g
}

// serve starts the agent of node i with a key.
func (g *gateTest) serve(i int, key identity.Key) {
	g.t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(g.table.Hosts[i].Address, strconv.Itoa(g.gate.Port)))
	if err != nil {
		g.t.Fatal(err)
	}
	node := Node{Settings: Settings{StateDir: g.t.TempDir()}, Hostname: "node", Key: key, Log: quiet}
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
	g.serve(1, g.gate.Key)
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
			reason: "a Secret of another job", set: func(g *gateTest) { g.serve(0, g.gate.Key); g.serve(1, agenttest.Key(g.t)) },
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
			g.gate.Deadline = 500 * time.Millisecond
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
	g.gate.Stubborn = 0
	g.serve(0, agenttest.Key(t))
	result, _ := g.pass(g.table) // the deadline is a minute
	if result.Passed || result.Failures[0].Error != "authentication failed" {
		t.Errorf("%+v", result)
	}
}

func TestPauseProlongsNoWaitByMuch(t *testing.T) {
	for waited, want := range map[time.Duration]time.Duration{
		0: 50 * time.Millisecond, time.Second: 50 * time.Millisecond, 10 * time.Second: 500 * time.Millisecond, time.Hour: time.Second,
	} {
		if got := pause(waited); got != want {
			t.Errorf("after %v: %v, want %v", waited, got, want)
		}
	}
}

func encode(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestRendezvousGivesOneAnswer(t *testing.T) {
	hosts := []mpi.Host{{Name: "a"}}
	request := encode(t, mpi.HostTable{Hosts: []mpi.HostAddress{{Name: "a", Address: "10.0.0.1"}}})
	r := newRendezvous(hosts)
	answers := make(chan any, 2)
	for range 2 {
		go func() {
			answer, _ := r.answer(context.Background(), request)
			answers <- answer
		}()
	}
	<-r.tables
	want := mpi.GateResult{Passed: true, Seconds: 1}
	r.decide(want)
	r.decide(mpi.GateResult{})
	for range 2 {
		if diff := cmp.Diff(want, <-answers); diff != "" {
			t.Error(diff)
		}
	}
	late := encode(t, mpi.HostTable{Hosts: []mpi.HostAddress{{Name: "a", Address: "10.0.0.2"}}})
	if answer, err := r.answer(context.Background(), late); err != nil || cmp.Diff(want, answer) != "" {
		t.Errorf("a late push got %v, %v", answer, err)
	}
}

func TestRendezvousRefusesTablesThatCannotWork(t *testing.T) {
	r := newRendezvous([]mpi.Host{{Name: "a.demo"}})
	for name, request := range map[string]string{
		"not JSON":     "addresses please",
		"missing host": `{"hosts":[{"name":"b.demo","address":"10.0.0.1"}]}`,
		"a name":       `{"hosts":[{"name":"a.demo","address":"evil.example"}]}`,
		"no address":   `{"hosts":[{"name":"a.demo","address":""}]}`,
	} {
		if answer, err := r.answer(context.Background(), []byte(request)); err == nil {
			t.Errorf("%s: accepted, %v", name, answer)
		}
	}
}

func TestRendezvousForgetsAPusherWhoLeaves(t *testing.T) {
	r := newRendezvous(nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.answer(ctx, []byte(`{}`)); err == nil {
		t.Error("answered")
	}
}
