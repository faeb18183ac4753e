package testjob

import (
	"strings"
	"testing"
)

func TestCheckLearned(t *testing.T) {
	const good = `rank=0 size=2 host=a loss=1.5->0.1 accuracy=0.9900 weights=ab
[1]<stdout>:rank=1 size=2 host=b loss=1.5->0.1 accuracy=0.9900 weights=ab
a.demo: difference=4.3e-06 from one process
`
	cases := map[string]struct{ from, to, want string }{
		"Good":        {"", "", ""},
		"World":       {"rank=1 size=2", "rank=1 size=1", "rank 1 lives in a world of 1, want 2"},
		"Bad":         {"accuracy=0.9900", "accuracy=0.9800", "rank 0 has the accuracy 0.9800"},
		"Missing":     {"rank=1 ", "rang=1 ", "1 ranks have learned, want 2"},
		"Apart":       {"weights=ab\n[1]", "weights=cd\n[1]", "2 different weights"},
		"OneNode":     {"host=b", "host=a", "host a ran 2 ranks, want 1"},
		"NotCompared": {"difference", "distance", "has not compared"},
		"Different":   {"4.3e-06", "4.3e-02", "differ by 4.3e-02"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := CheckLearned(strings.Replace(good, tc.from, tc.to, 1), 2, 1, 0.01)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
