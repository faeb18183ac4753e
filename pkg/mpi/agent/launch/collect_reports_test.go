package launch

import (
	"context"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/server"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// asking is a launcher that asks the nodes of a gate for their reports.
func (g *gateTest) asking(dial client.Dial) *runningJob {
	gate := g.gate
	gate.Dial = dial
	return &runningJob{Launcher: Launcher{Gate: gate}, servedEndpoints: &servedEndpoints{times: newTimeline(time.Now)}, table: g.table, lastReports: newLastReports()}
}

// A policy that is being renewed rejects a connection and admits it a moment later. What a node knows of a failure must not
// get lost by that: the node would count as lost instead.
func TestReportsAreAskedForAgain(t *testing.T) {
	for name, how := range map[string]reportInquiry{"Success": afterSuccess, "Failure": afterFailure} {
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
			reports, _ := launcher.collectReports(context.Background(), nil, how, time.Time{})
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
		mpi.ReportSubsystem:   func(context.Context, []byte) (any, error) { return client.ReportReply{LaunchAge: &then}, nil },
		mpi.ProgressSubsystem: func(context.Context, []byte) (any, error) { return mpi.Progress{DaemonAge: &late}, nil },
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
	_, launches := g.asking((&net.Dialer{}).DialContext).collectReports(t.Context(), nil, afterSuccess, time.Time{})
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
	reports, _ := launcher.collectReports(context.Background(), nil, afterStop, time.Time{})
	if len(reports) != 2 || reports[1].Error != "connection refused" || dials.Load() != 2 {
		t.Errorf("after %d dials %+v", dials.Load(), reports)
	}
	for _, status := range []process.Status{agenttest.StatusOfCode(143), agenttest.StatusOfSignal(syscall.SIGTERM), agenttest.StatusOfCode(0)} {
		if got := inquiryFor(status, syscall.SIGTERM); got != afterStop {
			t.Errorf("%v: %v", status, got)
		}
	}
	if got := inquiryFor(agenttest.StatusOfCode(1), 0); got != afterFailure {
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
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	reports, _ := launcher.collectReports(ctx, nil, afterFailure, time.Time{})
	reports[0].Ranks = []mpi.RankEnd{{Rank: new(int), Code: 134, Signal: "SIGABRT", Ago: 1}}
	if got, _ := verdict.Judge(verdict.Evidence{Argv: []string{"mpirun"}, Status: agenttest.StatusOfCode(134), Reports: reports}); got.Reason != diagnose.WorkerLost || got.Lost != g.table.Hosts[1].Name {
		t.Errorf("%+v", got)
	}
}

func TestANodeThatIsGoneHasNoReport(t *testing.T) {
	g := newGateTest(t, 1)
	// A real dial could take longer on a busy machine than a lost node is asked.
	launcher := g.asking(func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED })
	reports, launches := launcher.collectReports(context.Background(), []verdict.Loss{{Host: g.table.Hosts[0].Name, Error: "connection lost"}}, afterFailure, time.Time{})
	if len(reports) != 1 || reports[0].Error != "connection refused" || reports[0].Name != g.table.Hosts[0].Name || len(launches) != 0 {
		t.Errorf("%+v, %v", reports, launches)
	}
}

// A machine that is busy accepts connections and answers seconds later. Its job has done its work, or its node knows which rank failed.
func TestAnEndWaitsForABusyNode(t *testing.T) {
	for _, how := range []reportInquiry{afterSuccess, afterFailure} {
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
		reports, _ := launcher.collectReports(context.Background(), nil, how, time.Time{})
		if len(reports) != 1 || reports[0].Error != "" {
			t.Errorf("%v: %+v", how, reports)
		}
	}
}

// Each connection to it takes longer than the first attempt may: asked as often as one likes, it would never answer within that.
func TestASlowNodeIsGivenLonger(t *testing.T) {
	t.Parallel()
	slow := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return &slowConn{Conn: conn}, err
	}
	t.Run("Report", func(t *testing.T) {
		t.Parallel()
		g := newGateTest(t, 1)
		g.serve(0, g.gate.Key)
		reports, _ := g.asking(slow).collectReports(t.Context(), nil, afterSuccess, time.Time{})
		if len(reports) != 1 || reports[0].Error != "" {
			t.Errorf("%+v", reports)
		}
	})
	t.Run("Gate", func(t *testing.T) {
		t.Parallel()
		g := newGateTest(t, 1)
		g.serve(0, g.gate.Key)
		g.gate.Dial, g.gate.UnreachableTimeout = slow, 10*time.Second
		if result, _ := g.pass(g.table); !result.Passed {
			t.Errorf("%+v", result)
		}
	})
}

// slowConn is a connection whose first bytes come late.
type slowConn struct {
	net.Conn
	once sync.Once
}

func (c *slowConn) Read(p []byte) (int, error) {
	c.once.Do(func() { time.Sleep(client.Attempt + client.Attempt/4) })
	return c.Conn.Read(p)
}

// One whose machine is there and refuses is not waited for, once the job has failed.
func TestAFailureDoesNotWaitForANodeThatRefuses(t *testing.T) {
	g := newGateTest(t, 1)
	launcher := g.asking(func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED })
	begin := time.Now()
	launcher.collectReports(context.Background(), nil, afterFailure, time.Time{})
	if took := time.Since(begin); took < reportLimit || took > busyLimit/2 {
		t.Errorf("it was asked for %v", took)
	}
}

func TestTheEndDoesNotWaitForANodeThatWasLost(t *testing.T) {
	lost, daemon := []verdict.Loss{{Host: "demo-node-0-1", Error: "connection lost"}}, []verdict.Loss{{Host: "demo-node-0-1", Daemon: 137}}
	cases := map[string]struct {
		reason string
		node   string
		losses []verdict.Loss
		how    reportInquiry
		want   time.Duration
	}{
		"lost":             {"nobody will answer", "demo-node-0-1.demo", lost, afterFailure, lostLimit},
		"lost, hidden":     {"it may be there, and busy", "demo-node-0-1.demo", lost, afterSuccess, passedOverLimit},
		"another":          {"it knows which rank failed", "demo-node-0-0.demo", lost, afterFailure, busyLimit},
		"daemon":           {"the node is there, and knows which rank failed", "demo-node-0-1.demo", daemon, afterFailure, busyLimit},
		"daemon, success":  {"", "demo-node-0-1.demo", daemon, afterSuccess, busySuccessLimit},
		"another, success": {"without its report a success is none", "demo-node-0-0.demo", lost, afterSuccess, busySuccessLimit},
	}
	for name, c := range cases {
		if got := reportLimitFor(mpi.Host{Name: c.node}, c.losses, c.how); got != c.want {
			t.Errorf("%s: %s: %v", name, c.reason, got)
		}
	}
}

// A launch on some of the nodes gets on without one that is gone: what that one said before counts, unless it was lost since.
func TestTheLastWordOfANodeThatIsGone(t *testing.T) {
	g := newGateTest(t, 1)
	node := g.gate.Hosts[len(g.gate.Hosts)-1]
	launcher := g.asking(func(context.Context, string, string) (net.Conn, error) { return nil, syscall.EACCES })
	word := client.NodeAnswer{ReportReply: client.ReportReply{NodeReport: mpi.NodeReport{Daemons: 1}}, Received: time.Now()}
	launcher.lastReports.byName[node.Name] = word
	lost := func(at time.Time) []verdict.Loss {
		return []verdict.Loss{{Host: node.Name, Error: "connection lost", At: at}}
	}
	cases := map[string]struct {
		how    reportInquiry
		losses []verdict.Loss
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
			got, _ := launcher.collectReports(ctx, c.losses, c.how, time.Time{})
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
	now := client.NodeAnswer{Received: quiet.Add(time.Second)}
	known := lastReports{byName: map[string]client.NodeAnswer{nodes[0].Name: now}}
	for _, c := range []struct {
		reason string
		other  *client.NodeAnswer
		want   bool
	}{
		{"one has not said anything", nil, false},
		{"one works", &client.NodeAnswer{Received: now.Received, Progress: mpi.Progress{Processes: 1}}, false},
		{"one said it before the last launch ended", &client.NodeAnswer{Received: quiet.Add(-time.Second)}, false},
		{"nothing runs", &now, true},
	} {
		delete(known.byName, nodes[1].Name)
		if c.other != nil {
			known.byName[nodes[1].Name] = *c.other
		}
		if got := known.areNodesIdle(nodes, quiet); got != c.want {
			t.Errorf("%s: idle %v", c.reason, got)
		}
	}
}
