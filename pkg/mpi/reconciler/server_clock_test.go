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
