package capacity

import (
	"math"
	"math/bits"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Amounts of objects may be as large as an int64, and their sums larger. Sums and products stop there: what is too much stays too
// much, and never becomes negative.

// addBounded is a + b.
func addBounded(a, b int64) int64 {
	switch {
	case a > 0 && b > math.MaxInt64-a:
		return math.MaxInt64
	case a < 0 && b < math.MinInt64-a:
		return math.MinInt64
	}
	return a + b
}

// multiplyBounded is a * n. Both are 0 or more, or the product is small.
func multiplyBounded(a, n int64) int64 {
	if a <= 0 || n <= 0 {
		return a * n
	}
	if high, low := bits.Mul64(uint64(a), uint64(n)); high > 0 || low > math.MaxInt64 {
		return math.MaxInt64
	}
	return a * n
}

// boundedAmount is an amount in whole units, or in thousandths.
func boundedAmount(q resource.Quantity, thousandths bool) int64 {
	switch {
	case !thousandths && q.CmpInt64(math.MaxInt64) >= 0, thousandths && q.CmpInt64(math.MaxInt64/1000) >= 0:
		return math.MaxInt64
	case thousandths:
		return q.MilliValue()
	}
	return q.Value()
}
