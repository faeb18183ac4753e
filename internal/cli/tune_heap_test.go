package cli

import "testing"

// TestGrowth: a small heap grows to 20 MiB before it is collected, or to three and a half times itself, a large one by the percentage that the program wants.
func TestGrowth(t *testing.T) {
	for live, want := range map[uint64]int{0: 250, 4 << 20: 250, 5 << 20: 250, 10 << 20: 100, 12 << 20: 70, 20 << 20: 70, 1 << 30: 70} {
		if got := growthPercent(live, 70); got != want {
			t.Errorf("%d bytes grow by %d %%, want %d %%", live, got, want)
		}
	}
}
