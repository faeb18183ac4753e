package mpi

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSpreadOf(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		want   *Spread
	}{
		"none":     {nil, nil},
		"one":      {[]float64{2}, &Spread{2, 2, 2}},
		"unsorted": {[]float64{9, 1, 3}, &Spread{1, 3, 9}},
	} {
		if diff := cmp.Diff(c.want, SpreadOf(c.values)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
