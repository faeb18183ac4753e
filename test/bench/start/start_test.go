package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
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

// A phase that was seen late must not push the bar beyond the first rank.
func TestDrawingIsWellFormedAndEndsAtTheFirstRank(t *testing.T) {
	phases := []Phase{{"JobSet", 0.1}, {"all pods", 0.2}, {"all scheduled", 0.3}, {"all addresses", 2}, {"first rank", 1}}
	svg := Report{Lockstep: Side{Series: []Series{{Runtime: "a<b", Names: "fresh", Nodes: 2, Phases: phases}}}}.Drawing()
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
