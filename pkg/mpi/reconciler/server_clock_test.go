package reconciler

import (
	"net/http"
	"testing"
	"time"
)

func TestClockFollowsTheAPIServer(t *testing.T) {
	local := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	cases := map[string]struct {
		reason string
		heard  []time.Duration
		want   time.Duration
	}{
		"Silent":     {"who hears nothing believes its own clock", nil, 0},
		"Same":       {"", []time.Duration{0}, 0},
		"Truncated":  {"the header has whole seconds", []time.Duration{-time.Second}, 0},
		"Ahead":      {"a machine that is an hour ahead would end jobs an hour early", []time.Duration{-time.Hour}, -time.Hour},
		"Behind":     {"and one that is behind would never end them", []time.Duration{time.Minute}, time.Minute},
		"Jitter":     {"an answer that took a second longer is no other clock", []time.Duration{-time.Hour, -time.Hour - time.Second}, -time.Hour},
		"Set right":  {"somebody set the clock right", []time.Duration{-time.Hour, 0}, 0},
		"Other time": {"", []time.Duration{-time.Hour, time.Minute}, time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newServerClock(func() time.Time { return local })
			for _, offset := range tc.heard {
				c.correctByDate(local.Add(offset).Format(http.TimeFormat))
			}
			if got := c.now().Sub(local); got != tc.want {
				t.Errorf("%s: corrected by %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
	c := newServerClock(func() time.Time { return local })
	c.correctByDate("yesterday")
	if !c.now().Equal(local) {
		t.Error("what is no time corrects nothing")
	}
}

// A clock that steps forward by hours ends no job and deletes none: not that of the API server, not that of our
// machine, and not both at once unless they go on to agree, as after a machine has slept.
func TestAClockThatStepsForwardIsNotBelieved(t *testing.T) {
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	type answer struct{ local, wall, server time.Duration }
	const step, m = 3 * time.Hour, time.Minute
	for name, tc := range map[string]struct {
		answers []answer
		want    time.Duration
	}{
		"APIServer":           {[]answer{{0, 0, 0}, {0, 0, step}, {time.Hour, time.Hour, time.Hour + step}}, time.Hour},
		"APIServerAtTheStart": {[]answer{{0, 0, step}}, 0},
		"AheadBefore":         {[]answer{{0, 0, -5 * time.Minute}, {0, 0, step}}, -5 * time.Minute},
		"OurMachine":          {[]answer{{0, 0, 0}, {time.Minute, time.Minute + step, time.Minute}}, time.Minute},
		"BothForAMoment":      {[]answer{{0, step, step}, {1 * m, 1*m + step, 1*m + step}}, 1 * m},
		"BothInTurns":         {[]answer{{0, step, step}, {5 * m, 5 * m, 5 * m}, {11 * m, 11*m + step, 11*m + step}}, 11 * m},
		"Slept":               {[]answer{{0, step, step}, {11 * m, 11*m + step, 11*m + step}}, 11*m + step},
	} {
		t.Run(name, func(t *testing.T) {
			var local, wall time.Duration
			c := newServerClock(func() time.Time { return begin.Add(local) })
			c.wall = func() time.Time { return begin.Add(wall) }
			for _, a := range tc.answers {
				local, wall = a.local, a.wall
				c.correctByDate(begin.Add(a.server).Format(http.TimeFormat))
			}
			if got := c.now().Sub(begin); got != tc.want {
				t.Errorf("it is %s after the begin, want %s", got, tc.want)
			}
		})
	}
}

func TestASteadyClockGoesOn(t *testing.T) {
	clock := steadyClock()
	before := clock()
	time.Sleep(time.Millisecond)
	passed := clock().Round(0).Sub(before.Round(0))
	if passed < time.Millisecond || time.Since(before).Abs() > time.Minute {
		t.Errorf("%s have passed since %s", passed, before)
	}
}
