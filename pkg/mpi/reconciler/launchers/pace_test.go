package launchers

import (
	"slices"
	"testing"
	"time"
)

// A program that reports all the time has its progress written three times soon, and then every half minute; one
// that rarely reports is never late.
func TestThePaceOfProgress(t *testing.T) {
	begin := time.Unix(1000, 0)
	for name, c := range map[string]struct {
		every time.Duration
		want  []float64
	}{
		"all the time": {0, []float64{0, 5, 10, 30, 60, 90}},
		"rarely":       {40 * time.Second, []float64{0, 40, 80, 120}},
	} {
		var pace trainingPace
		now, told := begin, []float64{}
		for len(told) < len(c.want) {
			now = now.Add(pace.delay(now))
			pace.note(now)
			told = append(told, now.Sub(begin).Seconds())
			now = now.Add(c.every)
		}
		if !slices.Equal(told, c.want) {
			t.Errorf("%s: %v", name, told)
		}
	}
}
