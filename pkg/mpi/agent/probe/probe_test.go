package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
)

func TestTournamentLetsEverybodyMeetOnce(t *testing.T) {
	for n := 1; n <= 65; n++ {
		met := map[[2]int]int{}
		for round := range countRounds(n) {
			for rank := range n {
				other, plays := opponentOf(rank, round, n)
				if !plays {
					continue
				}
				if back, _ := opponentOf(other, round, n); back != rank || other == rank {
					t.Fatalf("%d ranks, round %d: %d meets %d, who meets %d", n, round, rank, other, back)
				}
				met[[2]int{min(rank, other), max(rank, other)}]++
			}
		}
		if len(met) != n*(n-1)/2 {
			t.Errorf("%d ranks: %d pairs met, want %d", n, len(met), n*(n-1)/2)
		}
		for pair, times := range met {
			if times != 2 { // each of the two was counted
				t.Errorf("%d ranks: %v met %d times", n, pair, times)
			}
		}
	}
}

// play runs a probe of n ranks in goroutines, two on each host.
func play(t *testing.T, n int, change func(*Participant)) (*Report, error) {
	t.Helper()
	var exchange Rendezvous
	meet := func(ctx context.Context, request mpi.ProbeRequest) (reply mpi.ProbeReply, err error) {
		text, err := json.Marshal(request)
		if err != nil {
			return reply, err
		}
		answer, err := exchange.Answer(ctx, text)
		if err == nil {
			reply = answer.(mpi.ProbeReply)
		}
		return reply, err
	}
	var report *Report
	var failure error
	var group sync.WaitGroup
	for rank := range n {
		p := Participant{
			Rank: rank, Size: n, Host: fmt.Sprintf("w-%d", rank/2), Address: "127.0.0.1", Exchange: meet,
			Duration: 200 * time.Millisecond, Deadline: time.Now().Add(10 * time.Minute), // 64 ranks share two processors with other tests
		}
		if change != nil {
			change(&p)
		}
		group.Go(func() {
			got, err := p.Run(t.Context())
			switch {
			case rank == 0:
				report, failure = got, err
			case got != nil:
				t.Errorf("rank %d has a report", rank)
			}
		})
	}
	group.Wait()
	return report, failure
}

func TestAllPairsAreMeasured(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8, 64} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			report, err := play(t, n, nil)
			if err != nil || !report.OK || len(report.Ranks) != n || len(report.Pairs) != n*(n-1)/2 {
				t.Fatalf("%v, %+v", err, report)
			}
			for i, rank := range report.Ranks {
				if rank.Rank != i || rank.Host == "" || rank.CPUs < 1 || rank.Address != "127.0.0.1" {
					t.Errorf("%+v", rank)
				}
			}
			for _, p := range report.Pairs {
				if p.RoundTrip == nil || p.RoundTrip.Min <= 0 || p.RoundTrip.Min > p.RoundTrip.Median || p.RoundTrip.Median > p.RoundTrip.P99 ||
					p.BandwidthThere <= 0 || p.BandwidthBack <= 0 || p.SameHost != (p.From/2 == p.To/2) {
					t.Errorf("%+v, %+v", p, p.RoundTrip)
				}
			}
		})
	}
}

func TestMissingRanksAreNamed(t *testing.T) {
	_, err := play(t, 2, func(p *Participant) { p.Size, p.Deadline = 4, time.Now().Add(4*time.Second) })
	if err == nil || !strings.Contains(err.Error(), "ranks that did not come within") || !strings.HasSuffix(err.Error(), "2, 3") {
		t.Errorf("got %v", err)
	}
}

// TestTimeIsUp: what was measured is told although there was no time for all pairs, and those that lack say so.
func TestTimeIsUp(t *testing.T) {
	report, err := play(t, 8, func(p *Participant) { p.Duration, p.Deadline = time.Hour, time.Now().Add(6*time.Second) })
	if err != nil || report.OK || len(report.Pairs) != 28 {
		t.Fatalf("%v, %+v", err, report)
	}
	if !slices.ContainsFunc(report.Pairs, func(p Pair) bool { return p.Error != "" }) {
		t.Errorf("no pair says that it lacks: %+v", report.Pairs)
	}
}

func TestPairsThatCannotReachEachOtherAreNamed(t *testing.T) {
	p := Participant{Rank: 0, Size: 2, Deadline: time.Now().Add(time.Minute)}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	peers := []endpoint{{}, {Rank: Rank{Address: "127.0.0.1"}, Port: closed.Addr().(*net.TCPAddr).Port}}
	pair := p.measurePair(t.Context(), peers, 1, time.Second)
	if !strings.Contains(pair.Error, "connection refused") || pair.To != 1 {
		t.Errorf("%+v", pair)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if pair := p.measurePair(over, peers, 1, time.Second); pair.Error != "the time was up before it was measured" {
		t.Errorf("%+v", pair)
	}
}

func TestConnectionsWithoutTokenAreClosed(t *testing.T) {
	for name, greeting := range map[string][]byte{
		"wrong token":  append(make([]byte, 16), 0),
		"no such rank": append([]byte("0123456789abcdef"), 9),
	} {
		here, there := net.Pipe()
		inbox := []chan net.Conn{make(chan net.Conn, 1)}
		done := make(chan struct{})
		go func() { defer close(done); Participant{}.sortByCaller(there, []byte("0123456789abcdef"), inbox) }()
		if _, err := here.Write(greeting); err != nil {
			t.Fatal(err)
		}
		<-done
		if _, err := here.Read(make([]byte, 1)); err == nil || len(inbox[0]) != 0 {
			t.Errorf("%s: let in", name)
		}
	}
}

func TestExchangeRefusesNonsense(t *testing.T) {
	for name, request := range map[string]string{
		"not JSON":    "x",
		"no size":     `{"rank":0}`,
		"too many":    `{"rank":0,"size":129}`,
		"no rank":     `{"rank":2,"size":2}`,
		"backwards":   `{"rank":0,"size":2,"seconds":-1}`,
		"nobody else": `{"rank":0,"size":2,"seconds":0}`,
	} {
		var e Rendezvous
		if _, err := e.Answer(t.Context(), []byte(request)); err == nil || len(e.tables) != 0 {
			t.Errorf("%s: %v, %d tables are left", name, err, len(e.tables))
		}
	}
}

func TestExchangeForgetsWhoLeaves(t *testing.T) {
	var e Rendezvous
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Answer(gone, []byte(`{"rank":1,"size":2,"seconds":60}`)); err == nil {
		t.Fatal("met alone")
	}
	if len(e.tables) != 0 {
		t.Error("a table without anybody is left")
	}
}

func TestReport(t *testing.T) {
	trip := func(median float64) *RoundTrip { return &RoundTrip{Min: 1, Median: median, P99: 900, Count: 10} }
	ranks := []Rank{{Rank: 0, Host: "a"}, {Rank: 1, Host: "a"}, {Rank: 2, Host: "b"}}
	pairs := func() []Pair {
		return []Pair{
			{From: 1, To: 2, RoundTrip: trip(300), BandwidthThere: 100, BandwidthBack: 50},
			{From: 0, To: 2, RoundTrip: trip(100), BandwidthThere: 1000, BandwidthBack: 2000},
			{From: 0, To: 1, RoundTrip: trip(5000), BandwidthThere: 1, BandwidthBack: 1},
		}
	}
	got := buildReport(ranks, pairs(), Limits{Ranks: 3}, 1500*time.Millisecond)
	want := &Summary{
		Pairs: 2, RoundTripMedian: 300, RoundTripWorst: 300, RoundTripWorstOf: [2]int{1, 2},
		BandwidthMedian: 1000, BandwidthSlowest: 50, SlowestFrom: 1, SlowestTo: 2,
	}
	if diff := cmp.Diff(want, got.BetweenHosts); diff != "" || !got.OK || got.Seconds != 1.5 || got.WithinHosts.Pairs != 1 {
		t.Errorf("%s %+v", diff, got)
	}
	limits := map[string]struct {
		limits Limits
		want   []string
	}{
		"ranks":      {Limits{Ranks: 4}, []string{"3 ranks ran, 4 were expected"}},
		"round trip": {Limits{RoundTrip: 200 * time.Microsecond}, []string{"ranks 1 (a) and 2 (b): the median round trip is 300 µs, at most 200µs is allowed"}},
		"bandwidth":  {Limits{Bandwidth: 500}, []string{"ranks 1 (a) and 2 (b): the bandwidth is 50 Mbit/s, at least 500 is asked for"}},
	}
	for name, c := range limits {
		report := buildReport(ranks, pairs(), c.limits, 0)
		if diff := cmp.Diff(c.want, report.Problems); diff != "" || report.OK {
			t.Errorf("%s: %s", name, diff)
		}
		var table strings.Builder
		if err := report.WriteTable(&table); err != nil || !strings.Contains(table.String(), "NOT OK: 3 ranks on 2 hosts") || !strings.Contains(table.String(), c.want[0]) {
			t.Errorf("%s: %v\n%s", name, err, &table)
		}
	}
	broken := pairs()
	broken[0] = Pair{From: 1, To: 2, Error: "no answer"}
	if report := buildReport(ranks, broken, Limits{}, 0); report.OK || report.Problems[0] != "ranks 1 (a) and 2 (b): no answer" {
		t.Errorf("%+v", report)
	}
}

func TestWorldOf(t *testing.T) {
	cases := map[string]struct {
		environment []string
		rank, size  int
		session     string
		err         string
	}{
		"Open MPI 4": {[]string{"OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=8", "OMPI_MCA_ess_base_jobid=77"}, 3, 8, "77", ""},
		"Open MPI 5": {[]string{"PMIX_RANK=0", "OMPI_COMM_WORLD_SIZE=2", "PMIX_NAMESPACE=prterun-a@1"}, 0, 2, "prterun-a@1", ""},
		"Hydra":      {[]string{"PMI_RANK=1", "PMI_SIZE=2"}, 1, 2, "", ""},
		"by hand":    {[]string{"HOME=/"}, 0, 0, "", "run the probe under mpirun"},
		"no size":    {[]string{"PMI_RANK=1"}, 0, 0, "", "allowed are 1 to 128 ranks"},
		"too many":   {[]string{"PMI_RANK=1", "PMI_SIZE=1000"}, 0, 0, "", "allowed are 1 to 128 ranks"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			rank, size, session, err := WorldOf(c.environment)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || rank != c.rank || size != c.size || session != c.session {
				t.Errorf("got %d of %d in %q, %v", rank, size, session, err)
			}
		})
	}
}

// FuzzAnswer feeds the other side of a pair with anything: it must end, and not fall over.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte("pp"))
	f.Add(append([]byte("d"), make([]byte, block+1)...))
	f.Add([]byte("b\x00\x00\x00\x00\x00\x00\x00\x01"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		here, there := net.Pipe()
		done := make(chan struct{})
		go func() { defer close(done); _ = serveMeasurements(there); there.Close() }()
		go func() {
			buffer := make([]byte, block)
			for {
				if _, err := here.Read(buffer); err != nil {
					return
				}
			}
		}()
		_, _ = here.Write(text)
		here.Close()
		<-done
	})
}

func FuzzExchange(f *testing.F) {
	f.Add([]byte(`{"rank":0,"size":1,"deliver":true,"text":[1]}`))
	f.Add([]byte(`{"rank":0,"size":2}`))
	f.Fuzz(func(t *testing.T, request []byte) {
		var e Rendezvous
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, _ = e.Answer(ctx, request)
		if len(e.tables) != 0 {
			t.Errorf("%q leaves something behind", request)
		}
	})
}
