package series_test

import (
	"context"
	"testing"
	"time"

	"lockstep.dev/lockstep/test/bench/meter"
	"lockstep.dev/lockstep/test/bench/series"
)

// TestSpread: the median of an even number lies between the two in the middle.
func TestSpread(t *testing.T) {
	u := series.Usage{Runs: []meter.Usage{{User: 4}, {User: 1}, {System: 2}, {User: 2, System: 1}}}
	u.Summarize()
	if want := (series.Spread{Min: 1, Median: 2.5, Max: 4}); u.CPU != want {
		t.Errorf("got %+v, want %+v", u.CPU, want)
	}
	if got := u.CPU.Times(2); got != "5 (2–8)" {
		t.Errorf("twice of it is %q", got)
	}
}

// TestOnce: the commands of a run are one after the other, and a command at its limit is the last.
func TestOnce(t *testing.T) {
	m, err := meter.New(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	prepared := 0
	p := series.Plan{
		Name:    "sleeping",
		Prepare: func(context.Context, int) error { prepared++; return nil },
		Commands: func(int) []meter.Command {
			return []meter.Command{{Args: []string{"true"}}, {Args: []string{"sleep", "60"}, Limit: 10 * time.Millisecond}, {Args: []string{"false"}}}
		},
	}
	u, err := p.Once(t.Context(), m, 0)
	if err != nil || prepared != 1 || !u.Stopped || u.Wall > 30 {
		t.Errorf("got %+v, %v, prepared %d times", u, err, prepared)
	}
}
