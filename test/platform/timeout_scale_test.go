package platform

import (
	"testing"
	"time"
)

func TestTimes(t *testing.T) {
	cases := map[string]time.Duration{"": time.Minute, "1": time.Minute, "10": 10 * time.Minute, "0": time.Minute, "-3": time.Minute, "very": time.Minute}
	for slow, want := range cases {
		if got := times(time.Minute, slow); got != want {
			t.Errorf("%s=%q makes a minute %s, want %s", SlowVariable, slow, got, want)
		}
	}
}
