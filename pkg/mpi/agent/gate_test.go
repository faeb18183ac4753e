package agent

import (
	"context"
	"encoding/json"
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
	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/server"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
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
	addresses, port := agenttest.Addresses(t, nodes)
	g := &gateTest{t: t, gate: Gate{
		Hostname: "demo-launcher-0-0", Key: agenttest.Key(t), Dial: (&net.Dialer{}).DialContext, Port: port,
		Deadline: time.Minute, Stubborn: time.Minute, Dark: time.Minute, Log: quiet,
	}}
	for i, name := range (mpi.World{Nodes: int32(nodes)}).Hosts("demo") {
		g.gate.Hosts = append(g.gate.Hosts, mpi.Host{Name: name, Slots: 1})
		g.table.Hosts = append(g.table.Hosts, mpi.HostAddress{Name: name, Address: addresses[i]})
		g.hostnames = append(g.hostnames, firstLabel(name))
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
	node := Node{
		Settings: Settings{StateDir: g.t.TempDir(), Port: g.gate.Port}, Hostname: g.hostnames[i],
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
	g.gate.Deadline = 300 * time.Millisecond
	result, _ = g.pass(swapped)
	if result.Passed || len(result.Failures) != 2 || result.Failures[0].Error != "another pod of the job answers there: demo-node-0-1" {
		t.Errorf("%+v", result)
	}
	if got := remedies(result.Failures); strings.Count(got, "hostNetwork") != 1 {
		t.Errorf("the remedy is %q", got)
	}
	if err := g.gate.introduce(t.Context(), g.table.Hosts[0].Name, net.JoinHostPort(g.table.Hosts[1].Address, strconv.Itoa(g.gate.Port)), g.table); err == nil {
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
		if err := recognise(c.name, mpi.Hello{Hostname: c.hostname}); (err == nil) != c.want {
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

// Who pushes a table hears that the launcher is there, however long its gate takes.
func TestRendezvousSaysThatTheGateStillWaits(t *testing.T) {
	r := newRendezvous(nil)
	r.holds = time.Millisecond
	for _, taken := range []bool{false, true} {
		if taken {
			go func() { <-r.tables }()
		}
		answer, err := r.answer(context.Background(), []byte(`{}`))
		if diff := cmp.Diff(mpi.GateResult{Waiting: true}, answer); err != nil || diff != "" {
			t.Errorf("table taken: %v: %v\n%s", taken, err, diff)
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
	g.gate.Deadline = 300 * time.Millisecond
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
	if text := remedies(result.Failures); !strings.Contains(text, "NetworkPolicy") {
		t.Errorf("the remedy is %q", text)
	}
}

func TestNeighbours(t *testing.T) {
	hosts := func(n int) (table mpi.HostTable) {
		table.Hosts = append(table.Hosts, mpi.HostAddress{Name: "demo-launcher-0-0.demo"})
		for i := range int32(n) {
			table.Hosts = append(table.Hosts, mpi.HostAddress{Name: mpi.HostName("demo", mpi.NodeJob, i)})
		}
		return table
	}
	cases := map[string]struct {
		reason   string
		nodes    int
		hostname string
		want     []string
	}{
		"Small": {"all others", 3, "demo-node-0-1", []string{"demo-launcher-0-0", "demo-node-0-0", "demo-node-0-2"}},
		"Large": {"the launcher and the next", 100, "demo-node-0-41", []string{"demo-launcher-0-0", "demo-node-0-42"}},
		"Last":  {"the next of the last is the launcher", 100, "demo-node-0-99", []string{"demo-launcher-0-0"}},
		"Alone": {"nobody else", 0, "demo-launcher-0-0", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, host := range neighbours(hosts(tc.nodes), tc.hostname) {
				got = append(got, firstLabel(host.Name))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// asking is a launcher that asks the nodes of a gate for their reports.
func (g *gateTest) asking(dial client.Dial) Launcher {
	return Launcher{
		Settings: Settings{Port: g.gate.Port}, Hostname: g.gate.Hostname, Key: g.gate.Key, Hosts: g.gate.Hosts, Log: quiet, Dial: dial,
	}
}

// unknown are nodes that have said nothing yet.
func unknown(mpi.Host) (client.Account, bool) { return client.Account{}, false }

// A policy that is being renewed rejects a connection and admits it a moment later. What a node knows of a failure must not
// get lost by that: the node would count as lost instead.
func TestReportsAreAskedForAgain(t *testing.T) {
	for name, how := range map[string]inquiry{"Success": afterSuccess, "Failure": afterFailure} {
		t.Run(name, func(t *testing.T) {
			g := newGateTest(t, 1)
			g.serve(0, g.gate.Key)
			var rejected atomic.Int32
			launcher := g.asking(func(ctx context.Context, network, address string) (net.Conn, error) {
				if rejected.Add(1) <= 3 {
					return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
				}
				return (&net.Dialer{}).DialContext(ctx, network, address)
			})
			reports, _ := launcher.collect(context.Background(), g.table, nil, how, newTimeline(time.Now), unknown)
			if len(reports) != 1 || reports[0].Error != "" {
				t.Errorf("%+v", reports)
			}
		})
	}
}

// A node that is slow to answer the next question has not launched later.
func TestALaunchBeganWhenTheReportSays(t *testing.T) {
	g := newGateTest(t, 1)
	listener, err := net.Listen("tcp", net.JoinHostPort(g.table.Hosts[0].Address, strconv.Itoa(g.gate.Port)))
	if err != nil {
		t.Fatal(err)
	}
	then, late := 60.0, 50.0
	s := server.Server{Key: g.gate.Key, Limits: server.DefaultLimits, Log: quiet, Handlers: server.Handlers{Subsystems: map[string]server.Subsystem{
		mpi.ReportSubsystem:   func(context.Context, []byte) (any, error) { return client.Answer{LaunchAge: &then}, nil },
		mpi.ProgressSubsystem: func(context.Context, []byte) (any, error) { return mpi.Progress{LaunchAge: &late}, nil },
	}}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, listener) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	_, launches := g.asking((&net.Dialer{}).DialContext).collect(t.Context(), g.table, nil, afterSuccess, newTimeline(time.Now), unknown)
	if began := time.Since(launches[g.hostnames[0]]); began < time.Minute || began > 2*time.Minute {
		t.Errorf("it began %v ago", began)
	}
}

// Who stops the launcher has most often stopped its nodes too.
func TestAStoppedLauncherAsksOnce(t *testing.T) {
	g := newGateTest(t, 2)
	var dials atomic.Int32
	launcher := g.asking(func(context.Context, string, string) (net.Conn, error) {
		dials.Add(1)
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	})
	reports, _ := launcher.collect(context.Background(), g.table, nil, afterStop, newTimeline(time.Now), unknown)
	if len(reports) != 2 || reports[1].Error != "connection refused" || dials.Load() != 2 {
		t.Errorf("after %d dials %+v", dials.Load(), reports)
	}
	for _, status := range []process.Status{exited(143), killed(syscall.SIGTERM), exited(0)} {
		if got := inquiryFor(status, syscall.SIGTERM); got != afterStop {
			t.Errorf("%v: %v", status, got)
		}
	}
	if got := inquiryFor(exited(1), 0); got != afterFailure {
		t.Errorf("nobody stopped it: %v", got)
	}
}

// No packet of a machine that has died comes back, and its peers fail by that before rsh notices.
func TestANodeThatDiedIsBlamedForItsPeers(t *testing.T) {
	g := newGateTest(t, 2)
	g.serve(0, g.gate.Key)
	launcher := g.asking(func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, g.table.Hosts[0].Address+":") {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
		return nil, &net.OpError{Op: "dial", Err: syscall.ETIMEDOUT}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	reports, _ := launcher.collect(ctx, g.table, nil, afterFailure, newTimeline(time.Now), unknown)
	reports[0].Ranks = []mpi.RankEnd{died(0, 134, "SIGABRT", 1)}
	if got := judge(facts{argv: []string{"mpirun"}, status: exited(134), reports: reports}); got.Reason != diagnose.WorkerLost || got.Lost != g.table.Hosts[1].Name {
		t.Errorf("%+v", got)
	}
}

func TestANodeThatIsGoneHasNoReport(t *testing.T) {
	g := newGateTest(t, 1)
	// A real dial could take longer on a busy machine than a lost node is asked.
	launcher := g.asking(func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED })
	reports, launches := launcher.collect(context.Background(), g.table, []loss{{Host: g.table.Hosts[0].Name, Error: "connection lost"}}, afterFailure, newTimeline(time.Now), unknown)
	if len(reports) != 1 || reports[0].Error != "connection refused" || reports[0].Name != g.table.Hosts[0].Name || len(launches) != 0 {
		t.Errorf("%+v, %v", reports, launches)
	}
}

// A machine that is busy accepts connections and answers seconds later. Its job has done its work, or its node knows which rank failed.
func TestAnEndWaitsForABusyNode(t *testing.T) {
	for _, how := range []inquiry{afterSuccess, afterFailure} {
		g := newGateTest(t, 1)
		g.serve(0, g.gate.Key)
		busy, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer busy.Close()
		var dials atomic.Int32
		launcher := g.asking(func(ctx context.Context, network, address string) (net.Conn, error) {
			if dials.Add(1) <= 2 { // each for as long as a question may take
				address = busy.Addr().String()
			}
			return (&net.Dialer{}).DialContext(ctx, network, address)
		})
		reports, _ := launcher.collect(context.Background(), g.table, nil, how, newTimeline(time.Now), unknown)
		if len(reports) != 1 || reports[0].Error != "" {
			t.Errorf("%v: %+v", how, reports)
		}
	}
}

// One whose machine is there and refuses is not waited for, once the job has failed.
func TestAFailureDoesNotWaitForANodeThatRefuses(t *testing.T) {
	g := newGateTest(t, 1)
	launcher := g.asking(func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED })
	begin := time.Now()
	launcher.collect(context.Background(), g.table, nil, afterFailure, newTimeline(time.Now), unknown)
	if took := time.Since(begin); took < reportLimit || took > busyLimit/2 {
		t.Errorf("it was asked for %v", took)
	}
}

func TestTheEndDoesNotWaitForANodeThatWasLost(t *testing.T) {
	lost, daemon := []loss{{Host: "demo-node-0-1", Error: "connection lost"}}, []loss{{Host: "demo-node-0-1", Error: daemonEnd(137)}}
	cases := map[string]struct {
		reason string
		node   string
		losses []loss
		how    inquiry
		want   time.Duration
	}{
		"lost":             {"nobody will answer", "demo-node-0-1.demo", lost, afterFailure, lostLimit},
		"lost, hidden":     {"nobody will answer", "demo-node-0-1.demo", lost, afterSuccess, lostLimit},
		"another":          {"it knows which rank failed", "demo-node-0-0.demo", lost, afterFailure, busyLimit},
		"daemon":           {"the node is there, and knows which rank failed", "demo-node-0-1.demo", daemon, afterFailure, busyLimit},
		"daemon, success":  {"", "demo-node-0-1.demo", daemon, afterSuccess, successLimit},
		"another, success": {"without its report a success is none", "demo-node-0-0.demo", lost, afterSuccess, successLimit},
	}
	for name, c := range cases {
		if got := limitFor(mpi.Host{Name: c.node}, c.losses, c.how); got != c.want {
			t.Errorf("%s: %s: %v", name, c.reason, got)
		}
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
			g.gate.Dark, g.gate.Deadline = 200*time.Millisecond, time.Second
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

func TestTroubles(t *testing.T) {
	failed := func(cause client.Cause) error { return &client.Failure{Cause: cause, Err: io.EOF} }
	cut := func(cause client.Cause) error { return &cutOffError{mpi.NodeFailure{Error: string(cause)}} }
	cases := map[string]struct {
		reason string
		err    error
		up     bool
		want   trouble
	}{
		"lost":              {"a pod that starts does not swallow packets", failed(client.TimedOut), false, dark},
		"no route":          {"", failed(client.Unreachable), false, dark},
		"refused, starting": {"an image may take minutes", failed(client.Refused), false, none},
		"refused, up":       {"", failed(client.Refused), true, rejected},
		"refused, peer":     {"both nodes have answered the launcher, so both listen", cut(client.Refused), false, rejected},
		"lost, peer":        {"", cut(client.TimedOut), false, dark},
		"mute":              {"a busy node is not a blocked one", failed(client.Mute), true, mute},
		"key":               {"", failed(client.Authentication), false, stranger},
		"another pod":       {"", &otherPodError{hostname: "demo-node-0-1"}, false, misplaced},
		"other":             {"", failed(client.Lost), true, none},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := troubleOf(c.err, c.up); got != c.want {
				t.Errorf("%s: got %v, want %v", c.reason, got, c.want)
			}
		})
	}
}

func TestTheGateGivesUpOnTroubles(t *testing.T) {
	g := Gate{Dark: time.Minute, Stubborn: time.Second}
	for in, want := range map[trouble]time.Duration{dark: time.Minute, rejected: time.Minute, mute: time.Minute, stranger: time.Second} {
		if limit, ends := g.limit(in); !ends || limit != want {
			t.Errorf("trouble %d ends after %v (%v), want %v", in, limit, ends, want)
		}
	}
	if _, ends := g.limit(misplaced); ends {
		t.Error("a newer table may know better")
	}
	for _, in := range []trouble{stranger, dark, rejected, mute, misplaced} {
		if after, found := doubtAfter[in]; !found || after > 10*time.Second {
			t.Errorf("users read of trouble %d after %v", in, after)
		}
	}
	if _, ends := (Gate{}).limit(rejected); ends {
		t.Error("without a limit the deadline decides")
	}
}

func TestATroubleLastsAsLongAsItIsTheSame(t *testing.T) {
	begin, l := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), lasting{}
	for i, now := range []trouble{none, dark, dark, rejected, dark} {
		l.note(now, begin.Add(time.Duration(i)*time.Second))
		want := begin.Add(time.Duration([]int{0, 1, 1, 3, 4}[i]) * time.Second)
		if l.trouble != now || !l.since.Equal(want) {
			t.Errorf("%d: %+v", i, l)
		}
	}
}

func TestGateSaysWhatSeemsToBeInTheWay(t *testing.T) {
	g := newGateTest(t, 2)
	g.serve(0, g.gate.Key)
	g.serve(1, agenttest.Key(t))
	meeting := newRendezvous(g.gate.Hosts)
	g.gate.Doubts = meeting.doubts
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); g.gate.Pass(ctx, meeting.tables) }()
	defer func() { stop(); <-ended }()
	answer, err := meeting.answer(ctx, encode(t, mpi.HostTable{Hosts: g.table.Hosts, Up: true}))
	got, _ := answer.(mpi.GateResult)
	if err != nil || !got.Waiting || got.Passed || len(got.Failures) != 1 || got.Failures[0].Error != "authentication failed" {
		t.Errorf("%+v, %v", answer, err)
	}
}

// A pusher that does not know of Up, such as an older controller, takes every answer for the end.
func TestOnlyWhoSaysUpHearsOfDoubts(t *testing.T) {
	r := newRendezvous(nil)
	answered := make(chan any, 1)
	go func() {
		answer, _ := r.answer(t.Context(), encode(t, mpi.HostTable{}))
		answered <- answer
	}()
	<-r.tables
	select {
	case r.doubts <- []mpi.NodeFailure{{Name: "demo-node-0-0"}}:
		t.Error("somebody took the doubts")
	case <-time.After(50 * time.Millisecond):
	}
	r.decide(mpi.GateResult{Passed: true})
	if diff := cmp.Diff(mpi.GateResult{Passed: true}, <-answered); diff != "" {
		t.Error(diff)
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
			g.gate.Dark = time.Nanosecond
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

// A launch on some of the nodes gets on without one that is gone: what that one said before counts, unless it was lost since.
func TestTheLastWordOfANodeThatIsGone(t *testing.T) {
	g := newGateTest(t, 1)
	node := g.gate.Hosts[len(g.gate.Hosts)-1]
	launcher := g.asking(func(context.Context, string, string) (net.Conn, error) { return nil, syscall.EACCES })
	word := client.Account{Answer: client.Answer{NodeReport: mpi.NodeReport{Daemons: 1}}, Received: time.Now()}
	lost := func(at time.Time) []loss { return []loss{{Host: node.Name, Error: "connection lost", At: at}} }
	cases := map[string]struct {
		how    inquiry
		losses []loss
		silent bool
	}{
		"success":            {afterSuccess, lost(word.Received.Add(-time.Minute)), false},
		"success, lost then": {afterSuccess, lost(word.Received.Add(time.Second)), true},
		"stopped":            {afterStop, nil, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			got, _ := launcher.collect(ctx, g.table, c.losses, c.how, newTimeline(time.Now), func(mpi.Host) (client.Account, bool) { return word, false })
			if (got[0].Error != "") != c.silent || (got[0].Daemons == 0) != c.silent {
				t.Errorf("%+v", got)
			}
		})
	}
}

// What a launch has left behind may work on, as Ray does, and what a node said before a launch says nothing of what is left of it.
func TestNodesOnWhichSomethingRunsAreNotIdle(t *testing.T) {
	nodes := []mpi.Host{{Name: "demo-node-0-0.demo"}, {Name: "demo-node-0-1.demo"}}
	quiet := time.Now()
	now := client.Account{Received: quiet.Add(time.Second)}
	known := settled{accounts: map[string]client.Account{nodes[0].Name: now}}
	for _, c := range []struct {
		reason string
		other  *client.Account
		want   bool
	}{
		{"one has not said anything", nil, false},
		{"one works", &client.Account{Received: now.Received, Progress: mpi.Progress{Processes: 1}}, false},
		{"one said it before the last launch ended", &client.Account{Received: quiet.Add(-time.Second)}, false},
		{"nothing runs", &now, true},
	} {
		delete(known.accounts, nodes[1].Name)
		if c.other != nil {
			known.accounts[nodes[1].Name] = *c.other
		}
		if got := known.idle(nodes, quiet); got != c.want {
			t.Errorf("%s: idle %v", c.reason, got)
		}
	}
}
