package launch

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/dns"
	"lockstep.dev/lockstep/pkg/mpi/agent/dns/dnstest"
	"lockstep.dev/lockstep/pkg/mpi/agent/sleep"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
)

// withDNS takes the last host for the launcher and gives the gate a DNS server whose cache keeps answers for longer than
// any test lasts.
func (g *gateTest) withDNS() *dnstest.Server {
	g.t.Helper()
	launcher := len(g.table.Hosts) - 1
	g.serve(launcher, g.gate.Key)
	g.gate.Address = g.table.Hosts[launcher].Address
	g.gate.Hosts, g.table.Hosts = g.gate.Hosts[:launcher], g.table.Hosts[:launcher]
	server := dnstest.Start(g.t, "127.0.0.1:0", time.Hour)
	g.gate.Discovery = &Discovery{Resolver: &dns.Resolver{
		Config: dns.Config{Servers: []string{server.Address}, Search: []string{"team.svc.corp.test"}, Dots: 5},
		Dial:   (&net.Dialer{}).DialContext, Now: time.Now,
	}}
	return server
}

// publish gives node i a record.
func (g *gateTest) publish(server *dnstest.Server, i int, address string) {
	server.SetAddress(g.table.Hosts[i].Name+".team.svc.corp.test.", netip.MustParseAddr(address))
}

func TestGateFindsNodesByDNSWhenNobodySendsTheirAddresses(t *testing.T) {
	g := newGateTest(t, 3)
	server := g.withDNS()
	g.serve(0, g.gate.Key)
	g.publish(server, 0, g.table.Hosts[0].Address)
	late := make(chan struct{})
	go func() { // the record comes after the first questions, as it does on a cluster
		defer close(late)
		for len(server.Queries()) < 6 {
			time.Sleep(time.Millisecond)
		}
		g.serve(1, g.gate.Key)
		g.publish(server, 1, g.table.Hosts[1].Address)
	}()
	result, table := g.pass()
	<-late
	want := mpi.HostTable{Hosts: append([]mpi.HostAddress{{Name: "demo-launcher-0-0.demo", Address: g.gate.Address}}, g.table.Hosts...)}
	if diff := cmp.Diff(want, table); !result.Passed || diff != "" {
		t.Errorf("%+v, %s", result, diff)
	}
	if result.TableFrom != mpi.TableFromDNS || result.Connect == nil {
		t.Errorf("%+v", result)
	}
}

func TestGateBelievesAnAddressOnlyWithTheKeyOfTheJob(t *testing.T) {
	g := newGateTest(t, 3)
	server := g.withDNS()
	g.serve(0, agenttest.NewKey(t)) // the pod of another job has the address now
	g.publish(server, 0, g.table.Hosts[0].Address)
	g.gate.Hosts = g.gate.Hosts[:1]
	g.hostnames[1] = g.hostnames[0] // the pod of the node is elsewhere
	moved := make(chan struct{})
	go func() {
		defer close(moved)
		for len(server.Queries()) < 2 {
			time.Sleep(time.Millisecond)
		}
		g.serve(1, g.gate.Key)
		g.publish(server, 0, g.table.Hosts[1].Address)
	}()
	result, table := g.pass() // the cache still has the old address, for an hour
	<-moved
	if !result.Passed || table.Hosts[1].Address != g.table.Hosts[1].Address {
		t.Errorf("%+v, %+v", result, table)
	}
}

// DNS may give the address of another pod of the same job, which holds the same key.
func TestGateAsksDNSAgainWhenAnotherPodAnswers(t *testing.T) {
	g := newGateTest(t, 3)
	server := g.withDNS()
	g.serve(0, g.gate.Key)
	g.serve(1, g.gate.Key)
	g.publish(server, 0, g.table.Hosts[1].Address)
	g.publish(server, 1, g.table.Hosts[1].Address)
	moved := make(chan struct{})
	go func() {
		defer close(moved)
		for len(server.Queries()) < 4 {
			time.Sleep(time.Millisecond)
		}
		g.publish(server, 0, g.table.Hosts[0].Address)
	}()
	result, table := g.pass()
	<-moved
	if !result.Passed || table.Hosts[1].Address != g.table.Hosts[0].Address {
		t.Errorf("%+v, %+v", result, table)
	}
}

func TestGatePrefersTheTableOfTheController(t *testing.T) {
	g := newGateTest(t, 2)
	server := g.withDNS()
	g.gate.Discovery.After = time.Hour
	g.serve(0, g.gate.Key)
	result, _ := g.pass(g.table)
	if !result.Passed || result.TableFrom != mpi.TableFromController || len(server.Queries()) != 0 {
		t.Errorf("%+v after %d questions", result, len(server.Queries()))
	}
}

func TestGateTakesTheTableOfTheControllerWhileItAsksDNS(t *testing.T) {
	g := newGateTest(t, 2)
	server := g.withDNS()
	g.serve(0, g.gate.Key)
	tables := make(chan mpi.HostTable)
	go func() {
		for len(server.Queries()) == 0 {
			time.Sleep(time.Millisecond)
		}
		tables <- g.table
	}()
	if result, _ := g.gate.Pass(t.Context(), tables); !result.Passed || result.TableFrom != mpi.TableFromController {
		t.Errorf("%+v", result)
	}
}

func TestGateSaysWhatDNSSaid(t *testing.T) {
	cases := map[string]struct {
		set          func(*gateTest, *dnstest.Server)
		want, remedy string
	}{
		"missing name": {func(*gateTest, *dnstest.Server) {}, "its name is not in DNS (127.0.0.1 does not know `demo-node-0-0.demo.team.svc.corp.test.`)", "Service of the job"},
		"no server": {func(g *gateTest, _ *dnstest.Server) {
			g.gate.Discovery.Resolver.Config.Servers = []string{"127.0.0.1:1"}
		}, "DNS does not answer (127.0.0.1: ", "port 53"},
		"nobody listens": {func(g *gateTest, s *dnstest.Server) { g.publish(s, 0, g.table.Hosts[0].Address) }, "connection refused", "runs the agent"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGateTest(t, 2)
			c.set(g, g.withDNS())
			g.gate.Deadline = 3 * time.Second
			result, _ := g.pass()
			if result.Passed || len(result.Failures) != 1 || !strings.HasPrefix(result.Failures[0].Error, c.want) {
				t.Fatalf("%+v", result)
			}
			if got := verdict.GateFailed(result).Message; !strings.Contains(got, c.remedy) {
				t.Errorf("the remedy is %q", got)
			}
		})
	}
}

func TestSelfKeepsTheLaunchersPlaceAmongTheRanks(t *testing.T) {
	nodes := []mpi.HostAddress{{Name: "demo-node-0-0.demo", Address: "127.0.0.1"}}
	for name, c := range map[string]struct {
		hosts []mpi.Host
		want  string
	}{
		"without ranks": {nil, "demo-launcher-0-0.demo"},
		"with ranks":    {[]mpi.Host{{Name: "demo-launcher-0-0.demo.team"}}, "demo-launcher-0-0.demo.team"},
	} {
		got := Gate{Hosts: c.hosts, Hostname: "demo-launcher-0-0"}.launcherAddress(nodes)
		if got.Name != c.want || got.Address != "127.0.0.1" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := client.LocalAddress("not an address"); got != "not an address" {
		t.Errorf("got %s", got)
	}
}

func TestEndedSearchNeverLooksLikeASuccess(t *testing.T) {
	s := &nodeSearch{waiting: newWaitingNodes(0), last: "w-1"}
	if got := s.stop(func() {}); len(got) != 1 || got[0].Name != "w-1" {
		t.Errorf("%+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if sleep.For(ctx, time.Hour) {
		t.Error("slept")
	}
}

// What the gate's own deadline cut off says nothing about DNS.
func TestAQuestionThatWasCutOffSaysNothing(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		took time.Duration
		want bool
	}{
		"cut off":      {&dns.ServerError{Err: context.DeadlineExceeded}, 300 * time.Millisecond, true},
		"no answer":    {&dns.ServerError{Err: context.DeadlineExceeded}, time.Second, false},
		"refused":      {&dns.ServerError{Err: syscall.ECONNREFUSED}, time.Millisecond, false},
		"not there":    {&dns.NotFoundError{}, time.Millisecond, false},
		"node is mute": {context.DeadlineExceeded, client.Attempt, false},
	} {
		if got := endedByGateDeadline(client.ExplainSessionEnd(c.err), c.took, client.Attempt); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
