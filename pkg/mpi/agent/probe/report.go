package probe

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Schema names the format of a Report. It changes when a field loses its meaning.
const Schema = "lockstep.dev/probe/v1"

// Report is the result of a probe.
type Report struct {
	Schema string `json:"schema"`
	// OK reports whether all ranks reported, all pairs were measured and the limits hold. Otherwise Problems says why not.
	OK       bool     `json:"ok"`
	Problems []string `json:"problems,omitempty"`
	// Ranks are all ranks, in order.
	Ranks []Rank `json:"ranks"`
	// Pairs are all pairs, by From and To; From is the lower rank.
	Pairs []Pair `json:"pairs"`
	// BetweenHosts and WithinHosts sum the pairs up, nil when there is none.
	BetweenHosts *Summary `json:"betweenHosts,omitempty"`
	WithinHosts  *Summary `json:"withinHosts,omitempty"`
	// Seconds is how long the probe took on rank 0.
	Seconds float64 `json:"seconds"`
}

// Rank is what a rank says of itself.
type Rank struct {
	Rank int `json:"rank"`
	// Host is the host name of the pod, Address its IP address on the way to the others.
	Host    string `json:"host"`
	Address string `json:"address"`
	PID     int    `json:"pid"`
	UID     int    `json:"uid"`
	GID     int    `json:"gid"`
	// CPUs is the number of cores that the rank may use, GPUs that of the NVIDIA devices in the container.
	CPUs int `json:"cpus"`
	GPUs int `json:"gpus"`
}

// Pair is what two ranks measured.
type Pair struct {
	From int `json:"from"`
	To   int `json:"to"`
	// SameHost reports whether both run in one pod, so that no network was measured.
	SameHost bool `json:"sameHost,omitempty"`
	// RoundTrip is that of one byte over TCP.
	RoundTrip *RoundTrip `json:"roundTrip,omitempty"`
	// BandwidthThere and BandwidthBack are those of one TCP connection, in Mbit/s, from From to To and back.
	BandwidthThere float64 `json:"bandwidthThere,omitempty"`
	BandwidthBack  float64 `json:"bandwidthBack,omitempty"`
	// Error says why the pair was not measured.
	Error string `json:"error,omitempty"`
}

// RoundTrip is the time of a message there and back, in microseconds.
type RoundTrip struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	P99    float64 `json:"p99"`
	// Count is the number of messages that were measured.
	Count int `json:"count"`
}

// Summary is about several pairs: the median and the worst of their median round trips, in microseconds, and of their
// bandwidths in the slower direction, in Mbit/s.
type Summary struct {
	Pairs            int     `json:"pairs"`
	RoundTripMedian  float64 `json:"roundTripMedian"`
	RoundTripWorst   float64 `json:"roundTripWorst"`
	BandwidthMedian  float64 `json:"bandwidthMedian"`
	BandwidthSlowest float64 `json:"bandwidthSlowest"`
	SlowestFrom      int     `json:"slowestFrom"`
	SlowestTo        int     `json:"slowestTo"`
	RoundTripWorstOf [2]int  `json:"roundTripWorstOf"`
}

// Limits are what a network must hold for a report to be OK. They are about pairs on different hosts; zero values ask
// for nothing.
type Limits struct {
	// Ranks is the exact number of ranks.
	Ranks int
	// RoundTrip is the longest median round trip of a pair.
	RoundTrip time.Duration
	// Bandwidth is the lowest bandwidth of a pair, in either direction, in Mbit/s.
	Bandwidth float64
}

// buildReport sums up what the ranks measured.
func buildReport(ranks []Rank, pairs []Pair, limits Limits, took time.Duration) Report {
	slices.SortFunc(pairs, func(a, b Pair) int { return (a.From-b.From)*len(ranks) + a.To - b.To })
	report := Report{Schema: Schema, Ranks: ranks, Pairs: pairs, Seconds: roundToTenth(took.Seconds())}
	for i := range pairs {
		pairs[i].SameHost = ranks[pairs[i].From].Host == ranks[pairs[i].To].Host
	}
	report.BetweenHosts, report.WithinHosts = summarizePairs(pairs, false), summarizePairs(pairs, true)
	report.Problems = limits.brokenLimits(report)
	report.OK = len(report.Problems) == 0
	return report
}

func summarizePairs(pairs []Pair, sameHost bool) *Summary {
	var trips, bandwidths []float64
	var s Summary
	for _, p := range pairs {
		if p.SameHost != sameHost || p.RoundTrip == nil {
			continue
		}
		slower := min(p.BandwidthThere, p.BandwidthBack)
		if len(trips) == 0 || p.RoundTrip.Median > s.RoundTripWorst {
			s.RoundTripWorst, s.RoundTripWorstOf = p.RoundTrip.Median, [2]int{p.From, p.To}
		}
		if len(bandwidths) == 0 || slower < s.BandwidthSlowest {
			s.BandwidthSlowest, s.SlowestFrom, s.SlowestTo = slower, p.From, p.To
		}
		trips, bandwidths = append(trips, p.RoundTrip.Median), append(bandwidths, slower)
	}
	if len(trips) == 0 {
		return nil
	}
	slices.Sort(trips)
	slices.Sort(bandwidths)
	s.Pairs, s.RoundTripMedian, s.BandwidthMedian = len(trips), trips[len(trips)/2], bandwidths[len(bandwidths)/2]
	return &s
}

// maxProblems bounds the list; the last line counts the rest.
const maxProblems = 10

func (l Limits) brokenLimits(r Report) []string {
	var problems []string
	if l.Ranks > 0 && len(r.Ranks) != l.Ranks {
		problems = append(problems, fmt.Sprintf("%d ranks ran, %d were expected", len(r.Ranks), l.Ranks))
	}
	for _, p := range r.Pairs {
		name := fmt.Sprintf("ranks %d (%s) and %d (%s)", p.From, r.Ranks[p.From].Host, p.To, r.Ranks[p.To].Host)
		slower := min(p.BandwidthThere, p.BandwidthBack)
		switch {
		case p.Error != "":
			problems = append(problems, fmt.Sprintf("%s: %s", name, p.Error))
		case p.SameHost:
		case l.RoundTrip > 0 && p.RoundTrip.Median > float64(l.RoundTrip)/float64(time.Microsecond):
			problems = append(problems, fmt.Sprintf("%s: the median round trip is %.0f µs, at most %v is allowed", name, p.RoundTrip.Median, l.RoundTrip))
		case l.Bandwidth > 0 && slower < l.Bandwidth:
			problems = append(problems, fmt.Sprintf("%s: the bandwidth is %.0f Mbit/s, at least %.0f is asked for", name, slower, l.Bandwidth))
		}
	}
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return problems
}

// roundToTenth keeps a tenth.
func roundToTenth(value float64) float64 { return math.Round(value*10) / 10 }
