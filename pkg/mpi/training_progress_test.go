package mpi

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNewerProgressCompletesWhatIsKnown(t *testing.T) {
	number := func(n int32) *int32 { return &n }
	known := TrainingProgress{Percent: number(10), RemainingSeconds: number(90),
		Metrics: []TrainingMetric{{"epoch", 1}, {"loss", 2}}, Updated: 1}
	for name, c := range map[string]struct{ newer, want TrainingProgress }{
		"a metric": {TrainingProgress{Metrics: []TrainingMetric{{"loss", 1}, {"acc", .5}}, Updated: 2},
			TrainingProgress{Percent: number(10), RemainingSeconds: number(90),
				Metrics: []TrainingMetric{{"acc", .5}, {"epoch", 1}, {"loss", 1}}, Updated: 2}},
		"a percent": {TrainingProgress{Percent: number(20), Updated: 2}, TrainingProgress{Percent: number(20),
			Metrics: known.Metrics, Updated: 2}},
		"time": {TrainingProgress{RemainingSeconds: number(5), Updated: 2},
			TrainingProgress{Percent: number(10), RemainingSeconds: number(5), Metrics: known.Metrics, Updated: 2}},
		"nothing but no": {TrainingProgress{Percent: number(101), RemainingSeconds: number(-1),
			Metrics: []TrainingMetric{{"", 1}, {"a b", 1}, {"x", math.NaN()}},
			Updated: -2}, TrainingProgress{Metrics: known.Metrics}},
	} {
		if diff := cmp.Diff(c.want, known.With(c.newer)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A verdict has room for the most that may be reported, or leaves out metrics.
func TestAVerdictWithMuchProgressFits(t *testing.T) {
	var much TrainingProgress
	for i := range 10 * MaxTrainingMetrics {
		much.Metrics = append(much.Metrics, TrainingMetric{fmt.Sprintf("%s%d", strings.Repeat("m", 60), i),
			-1.2345678901234567e-300})
	}
	percent := int32(100)
	much.Percent = &percent
	much = much.WithinBounds()
	for _, lines := range [][]string{nil, {strings.Repeat("x", 3000), "the cause"}} {
		text, err := Verdict{Training: &much, Lines: lines}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		verdict, err := DecodeVerdict(string(text))
		whole := len(verdict.Training.Metrics) == MaxTrainingMetrics
		if err != nil || *verdict.Training.Percent != 100 || len(verdict.Lines) != len(lines) || whole != (lines == nil) {
			t.Errorf("%d bytes, %+v, %v", len(text), verdict, err)
		}
	}
}
