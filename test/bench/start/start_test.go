package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"lockstep.dev/lockstep/test/testjob"
)

func TestQuantileIsAMeasuredNumber(t *testing.T) {
	cases := map[string]struct {
		values []float64
		q      float64
		want   float64
	}{
		"median of one":    {[]float64{7}, 0.5, 7},
		"median of even":   {[]float64{4, 1, 3, 2}, 0.5, 2},
		"95th of twenty":   {[]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}, 0.95, 19},
		"95th of few":      {[]float64{1, 2, 3}, 0.95, 3},
		"the first is one": {[]float64{1, 2}, 0, 1},
	}
	for name, tc := range cases {
		if got := quantile(tc.values, tc.q); got != tc.want {
			t.Errorf("%s: quantile = %g, want %g", name, got, tc.want)
		}
	}
}

// A job that is complete without having run is not a fast job.
func TestJobsThatNeverRanAreCountedApart(t *testing.T) {
	var s Series
	for _, seconds := range []time.Duration{0, 14 * time.Second, 0, 15 * time.Second} {
		s.add(testjob.Result{FirstRank: seconds, End: seconds + time.Second})
	}
	if s.NeverRan != 2 || quantile(s.ran(), 0.5) != 14 || s.Timings[len(s.Timings)-1].Seconds != 14 {
		t.Errorf("2 of 4 never ran, and the median of the others is 14 s: %+v", s)
	}
	var none Series
	none.add(testjob.Result{})
	if svg := (Report{Stock: Side{Series: []Series{none}}}).Drawing(); !strings.Contains(svg, "</svg>") || none.row() == "" {
		t.Error("a series in which nothing ran is still a report")
	}
}

// A timing that was seen late must not push the bar beyond the first rank.
func TestDrawingIsWellFormedAndEndsAtTheFirstRank(t *testing.T) {
	timings := []Timing{{"JobSet", 0.1}, {"all pods", 0.2}, {"all scheduled", 0.3}, {"all addresses", 2}, {"first rank", 1}}
	svg := Report{Lockstep: Side{Series: []Series{{Runtime: "a<b", Names: "fresh", Nodes: 2, Timings: timings}}}}.Drawing()
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the drawing is no XML: %v", err)
		}
	}
	if !strings.Contains(svg, ">1.00 s</text>") {
		t.Errorf("the bar does not end at the first rank:\n%s", svg)
	}
}
