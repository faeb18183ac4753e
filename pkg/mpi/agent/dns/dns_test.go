package dns_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/dns/dnsmessage"

	"lockstep.dev/lockstep/pkg/mpi/agent/dns"
	"lockstep.dev/lockstep/pkg/mpi/agent/dns/dnstest"
)

const keep = 30 * time.Second

// clock is a time that only the test moves.
type clock struct{ passed atomic.Int64 }

func (c *clock) now() time.Time { return time.Unix(1, c.passed.Load()) }

func (c *clock) pass(d time.Duration) { c.passed.Add(int64(d)) }

// cluster is a DNS server and a pod's resolver.
func cluster(t *testing.T) (*dnstest.Server, *dns.Resolver, *clock) {
	t.Helper()
	server, time := dnstest.Start(t, "127.0.0.1:0", keep), &clock{}
	server.SetClock(time.now)
	return server, &dns.Resolver{
		Config: dns.Config{Servers: []string{server.Address}, Search: []string{"team.svc.corp.test", "svc.corp.test"}, Dots: 5},
		Dial:   (&net.Dialer{}).DialContext, Now: time.now,
	}, time
}

var (
	first  = netip.MustParseAddr("10.0.0.1")
	second = netip.MustParseAddr("10.0.0.2")
)

const pod = "demo-node-0-0.demo.team.svc.corp.test."

func TestAMissingNameIsFoundAsSoonAsItExists(t *testing.T) {
	server, resolver, _ := cluster(t)
	lookup := resolver.Lookup("demo-node-0-0.demo")
	for range 20 {
		var missing *dns.NotFoundError
		if _, err := lookup.Address(t.Context()); !errors.As(err, &missing) || err.Error() != "127.0.0.1 does not know `"+pod+"`" {
			t.Fatalf("got %v", err)
		}
	}
	server.SetAddress(pod, first)
	// No time has passed: a cache that had been asked for the address would say for 30 s that there is none.
	if got, err := lookup.Address(t.Context()); err != nil || got != first {
		t.Errorf("got %v, %v", got, err)
	}
	for _, query := range server.Queries()[:60] {
		if query.Type < 65280 || query.Type > 65534 {
			t.Fatalf("asked for %v while the name was missing", query.Type)
		}
	}
}

func TestAnotherClientsQueryMaySpoilTheCache(t *testing.T) {
	server, resolver, _ := cluster(t)
	plain := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server.Address)
	}}
	if _, err := plain.LookupHost(t.Context(), pod); err == nil {
		t.Fatal("found what is not there")
	}
	server.SetAddress(pod, first)
	if _, err := plain.LookupHost(t.Context(), pod); err == nil {
		t.Fatal("the server of this test keeps nothing")
	}
	if got, err := resolver.Lookup(pod).Address(t.Context()); err != nil || got != first {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestAStaleAddressIsAskedForPastTheCache(t *testing.T) {
	server, resolver, time := cluster(t)
	server.SetAddress(pod, first)
	if got, err := resolver.Lookup(pod).Address(t.Context()); err != nil || got != first { // an earlier job
		t.Fatal(got, err)
	}
	server.SetAddress(pod, second)
	lookup := resolver.Lookup(pod)
	stale, err := lookup.Address(t.Context())
	if err != nil || stale != first {
		t.Fatalf("the cache of this test is not one: %v, %v", stale, err)
	}
	if got, err := lookup.Address(t.Context()); err != nil || got != second {
		t.Errorf("past the cache: %v, %v", got, err)
	}
	// When all ways past the cache are used up, the last address stands until the first of them is fresh again.
	third := netip.MustParseAddr("10.0.0.3")
	for range 4 {
		if _, err := lookup.Address(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	server.SetAddress(pod, third)
	asked := len(server.Queries())
	if got, err := lookup.Address(t.Context()); err != nil || got != second || len(server.Queries()) != asked+1 {
		t.Errorf("with nothing left to ask: %v, %v, %d queries", got, err, len(server.Queries())-asked)
	}
	time.pass(keep + 1)
	if got, err := lookup.Address(t.Context()); err != nil || got != third {
		t.Errorf("after the cache has forgotten: %v, %v", got, err)
	}
}

func TestAddressFamiliesAndTruncation(t *testing.T) {
	server, resolver, _ := cluster(t)
	six := netip.MustParseAddr("fd00::1")
	server.SetAddress(pod, six)
	if got, err := resolver.Lookup(pod).Address(t.Context()); err != nil || got != six {
		t.Errorf("IPv6 only: %v, %v", got, err)
	}
	server.SetAddress(pod, first)
	server.TruncateUDP()
	resolver.Now = func() time.Time { return time.Unix(1, 0) }
	server.SetClock(func() time.Time { return time.Unix(1000, 0) })
	if got, err := resolver.Lookup(pod).Address(t.Context()); err != nil || got != first {
		t.Errorf("by TCP: %v, %v", got, err)
	}
}

func TestServersAreAskedInTurn(t *testing.T) {
	server, resolver, _ := cluster(t)
	broken := dnstest.Start(t, "127.0.0.1:0", keep)
	broken.FailWith(dnsmessage.RCodeServerFailure)
	server.SetAddress(pod, first)
	resolver.Config.Servers = []string{broken.Address, server.Address}
	if got, err := resolver.Lookup("demo-node-0-0.demo").Address(t.Context()); err != nil || got != first {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestBrokenServersAreNamed(t *testing.T) {
	cases := map[string]struct {
		set  func(*dnstest.Server, *dns.Resolver)
		want string
	}{
		"fails":  {func(s *dnstest.Server, _ *dns.Resolver) { s.FailWith(dnsmessage.RCodeServerFailure) }, "127.0.0.1: answers RCodeServerFailure"},
		"closed": {func(_ *dnstest.Server, r *dns.Resolver) { r.Config.Servers = []string{"127.0.0.1:1"} }, "connection refused"},
		"none":   {func(_ *dnstest.Server, r *dns.Resolver) { r.Config.Servers = nil }, "there is no DNS server"},
		"mute":   {func(s *dnstest.Server, _ *dns.Resolver) { s.StopAnswering() }, "127.0.0.1: "},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, resolver, _ := cluster(t)
			c.set(server, resolver)
			_, err := resolver.Lookup("a").Address(t.Context())
			var broken *dns.ServerError
			if !errors.As(err, &broken) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestParse(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		want         dns.Config
	}{
		"Kubernetes": {
			reason: "what kubelet writes, with a domain that is not cluster.local",
			text:   "search team.svc.corp.test svc.corp.test corp.test.\nnameserver 10.96.0.10\noptions ndots:5\n",
			want:   dns.Config{Servers: []string{"10.96.0.10:53"}, Search: []string{"team.svc.corp.test", "svc.corp.test", "corp.test"}, Dots: 5},
		},
		"IPv6 and comments": {
			reason: "lines that are not understood are skipped",
			text:   "# made by hand\nnameserver fd00::a ; first\nsortlist 1.2.3.4\nnameserver nonsense\n",
			want:   dns.Config{Servers: []string{"[fd00::a]:53"}, Dots: 1},
		},
		"LastSearchCounts": {
			reason: "resolv.conf(5)", text: "domain a\nsearch b c\noptions edns0 ndots:99 timeout:1\n",
			want: dns.Config{Search: []string{"b", "c"}, Dots: 15},
		},
		"FourServers": {
			reason: "glibc asks three", text: strings.Repeat("nameserver 10.0.0.1\n", 4),
			want: dns.Config{Servers: []string{"10.0.0.1:53", "10.0.0.1:53", "10.0.0.1:53"}, Dots: 1},
		},
		"Empty": {reason: "defaults", want: dns.Config{Dots: 1}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := dns.ParseConfig(strings.NewReader(c.text))
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("%s: %v %s", c.reason, err, diff)
			}
		})
	}
}

// TestLoad: a container without a usable resolv.conf is told so, and which file it is about.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"servers":   {"nameserver 10.96.0.10\n", ""},
		"no server": {"search corp.test\n", "no server names no server"},
		"one line":  {"nameserver 10.96.0.10\nsearch " + strings.Repeat("a", 1<<17), "read the configuration of DNS"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := dns.LoadConfig(path)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := dns.LoadConfig(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestNamesThatDNSCannotHave are said to be such, whatever the server is.
func TestNamesThatDNSCannotHave(t *testing.T) {
	_, resolver, _ := cluster(t)
	_, err := resolver.Lookup(strings.Repeat("a", 300) + ".").Address(t.Context())
	if err == nil || !strings.Contains(err.Error(), "is not a name in DNS") {
		t.Errorf("got %v", err)
	}
}

// TestAnswersThatBreakOff: a server that says by UDP that it has more, and closes the connection, is broken; that is not taken for a missing name.
func TestAnswersThatBreakOff(t *testing.T) {
	server, resolver, _ := cluster(t)
	server.SetAddress(pod, first)
	server.TruncateUDP()
	for name, sent := range map[string]string{"nothing": "", "half a length": "\x00", "half a message": "\x00\x10abc"} {
		resolver.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if network == "udp" {
				return (&net.Dialer{}).DialContext(ctx, network, address)
			}
			ours, theirs := net.Pipe()
			go func() {
				_, _ = theirs.Read(make([]byte, 512))
				_, _ = theirs.Write([]byte(sent))
				theirs.Close()
			}()
			return ours, nil
		}
		_, err := resolver.Lookup(pod).Address(t.Context())
		var broken *dns.ServerError
		if !errors.As(err, &broken) || broken.Server != "127.0.0.1" || !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNamesAreCompletedAsResolversDo(t *testing.T) {
	server, resolver, _ := cluster(t)
	for name, want := range map[string][]string{
		"a.b":         {"a.b.team.svc.corp.test.", "a.b.svc.corp.test.", "a.b."},
		"a.b.c.d.e.f": {"a.b.c.d.e.f.", "a.b.c.d.e.f.team.svc.corp.test.", "a.b.c.d.e.f.svc.corp.test."},
		"a.b.":        {"a.b."},
	} {
		before := len(server.Queries())
		_, _ = resolver.Lookup(name).Address(t.Context()) // there is none
		var got []string
		for _, query := range server.Queries()[before:] {
			got = append(got, query.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("nameserver 10.0.0.1\nsearch a b\noptions ndots:5")
	f.Add("options ndots:-1\nnameserver ::")
	f.Fuzz(func(t *testing.T, text string) {
		config, err := dns.ParseConfig(strings.NewReader(text))
		if err == nil && (len(config.Servers) > 3 || config.Dots < 0 || config.Dots > 15) {
			t.Errorf("%q: %+v", text, config)
		}
	})
}
