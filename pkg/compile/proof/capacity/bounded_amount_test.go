package capacity

import (
	"math"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

// TestBounded: what is too much stays too much.
func TestBounded(t *testing.T) {
	for name, c := range map[string]struct{ got, want int64 }{
		"sum":                {addBounded(2, 3), 5},
		"sum of negative":    {addBounded(-2, -3), -5},
		"sum, too large":     {addBounded(math.MaxInt64, 1), math.MaxInt64},
		"sum, too small":     {addBounded(math.MinInt64, -1), math.MinInt64},
		"sum of extremes":    {addBounded(math.MaxInt64, math.MinInt64), -1},
		"product":            {multiplyBounded(3, 4), 12},
		"product with 0":     {multiplyBounded(0, math.MaxInt64), 0},
		"product, largest":   {multiplyBounded(math.MaxInt64, 1), math.MaxInt64},
		"product, too large": {multiplyBounded(math.MaxInt64/2+1, 2), math.MaxInt64},
		"product, huge":      {multiplyBounded(math.MaxInt64, math.MaxInt64), math.MaxInt64},
		"amount":             {boundedAmount(resource.MustParse("2Gi"), false), 2 << 30},
		"cores":              {boundedAmount(resource.MustParse("1500m"), true), 1500},
		"amount, too large":  {boundedAmount(resource.MustParse("999999999999999999Ei"), false), math.MaxInt64},
		"cores, too large":   {boundedAmount(resource.MustParse("9E"), true), math.MaxInt64},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", name, c.got, c.want)
		}
	}
}
