package watch

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
)

func TestHangRuleFrom(t *testing.T) {
	cases := map[string]struct {
		after, progress string
		want            HangRule
		err             string
	}{
		"default":     {"", "", HangRule{}, ""},
		"off":         {"0", "output", HangRule{}, ""},
		"ten minutes": {"10m", "output", HangRule{After: 10 * time.Minute}, ""},
		"CPU counts":  {"1h", "output,cpu", HangRule{After: time.Hour, CPUCounts: true}, ""},
		"too short":   {"10ms", "", HangRule{}, "durations from 1s"},
		"negative":    {"-1m", "", HangRule{}, "durations from 1s"},
		"no unit":     {"600", "", HangRule{}, "such as 10m"},
		"CPU alone":   {"1h", "cpu", HangRule{}, "`output,cpu`"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := HangRuleFrom(c.after, c.progress)
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHangDetector(t *testing.T) {
	did := func(written uint64, cpu float64) mpi.Progress {
		return mpi.Progress{Processes: 2, WrittenBytes: written, CPUSeconds: cpu}
	}
	type pods = map[string]mpi.Progress
	still := pods{"a": did(10, 1), "b": did(20, 1)}
	cases := map[string]struct {
		reason string
		cpu    bool
		looks  []pods // one a minute, the rule is two minutes
		silent bool
		want   bool
	}{
		"nothing happens":        {"that is a hang", false, []pods{still, still, still}, false, true},
		"too early":              {"two minutes are not over", false, []pods{still, still}, false, false},
		"one rank writes":        {"any rank will do", false, []pods{still, still, {"a": did(11, 1), "b": did(20, 1)}}, false, false},
		"a process ends":         {"that is progress too", false, []pods{still, still, {"a": {Processes: 1, WrittenBytes: 10}, "b": did(20, 1)}}, false, false},
		"a deadlock spins":       {"CPU time is no progress by default", false, []pods{still, {"a": did(10, 60), "b": did(20, 60)}, {"a": did(10, 120), "b": did(20, 120)}}, false, true},
		"silent, but computing":  {"where CPU time counts", true, []pods{still, {"a": did(10, 60), "b": did(20, 60)}, {"a": did(10, 120), "b": did(20, 120)}}, false, false},
		"waits, wakes up":        {"a little CPU time is what waiting costs", true, []pods{still, {"a": did(10, 2), "b": did(20, 1)}, {"a": did(10, 3), "b": did(20, 1)}}, false, true},
		"a node does not answer": {"nobody knows what goes on there", false, []pods{still, {"a": did(10, 1)}, {"a": did(10, 1)}}, true, false},
		"a node answers late":    {"what it did before is no progress", false, []pods{{"a": did(10, 1)}, still, still}, false, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := HangDetector{Rule: HangRule{After: 2 * time.Minute, CPUCounts: c.cpu}}
			var got bool
			for i, pods := range c.looks {
				got = s.Observe(time.Unix(int64(60*i), 0), pods, !c.silent)
			}
			if got != c.want {
				t.Errorf("%s: got %v", c.reason, got)
			}
		})
	}
}
