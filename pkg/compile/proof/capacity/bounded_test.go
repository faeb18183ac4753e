package capacity

import (
	"math"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

// TestBounded: what is too much stays too much.
func TestBounded(t *testing.T) {
	for name, c := range map[string]struct{ got, want int64 }{
		"sum":                {sum(2, 3), 5},
		"sum of negative":    {sum(-2, -3), -5},
		"sum, too large":     {sum(math.MaxInt64, 1), math.MaxInt64},
		"sum, too small":     {sum(math.MinInt64, -1), math.MinInt64},
		"sum of extremes":    {sum(math.MaxInt64, math.MinInt64), -1},
		"product":            {times(3, 4), 12},
		"product with 0":     {times(0, math.MaxInt64), 0},
		"product, largest":   {times(math.MaxInt64, 1), math.MaxInt64},
		"product, too large": {times(math.MaxInt64/2+1, 2), math.MaxInt64},
		"product, huge":      {times(math.MaxInt64, math.MaxInt64), math.MaxInt64},
		"amount":             {bounded(resource.MustParse("2Gi"), false), 2 << 30},
		"cores":              {bounded(resource.MustParse("1500m"), true), 1500},
		"amount, too large":  {bounded(resource.MustParse("999999999999999999Ei"), false), math.MaxInt64},
		"cores, too large":   {bounded(resource.MustParse("9E"), true), math.MaxInt64},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", name, c.got, c.want)
		}
	}
}
