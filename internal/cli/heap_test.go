package cli

import "testing"

// TestGrowth: a small heap grows to 20 MiB before it is collected, a large one by the usual percentage.
func TestGrowth(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 4 << 20: 400, 5 << 20: 300, 10 << 20: 100, 12 << 20: usualPercent, 20 << 20: usualPercent, 1 << 30: usualPercent} {
		if got := growth(live); got != want {
			t.Errorf("%d bytes grow by %d %%, want %d %%", live, got, want)
		}
	}
}
