package testjob

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseRank(t *testing.T) {
	cases := map[string]struct {
		line string
		want Rank
		ok   bool
	}{
		"Right":    {"rank=2 size=4 host=a-node-0-1 sum=10 expected=10 ok", Rank{2, 4, "a-node-0-1", 10, 10, true}, true},
		"Mismatch": {"rank=0 size=4 host=a sum=9 expected=10 mismatch", Rank{0, 4, "a", 9, 10, false}, true},
		"Other":    {"library=Open MPI v5.0.7", Rank{}, false},
		"Torn":     {"rank=2 size=4 host=a sum=10", Rank{}, false},
		"Overflow": {"rank=99999999999999999999 size=4 host=a sum=1 expected=1 ok", Rank{}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := ParseRank(tc.line)
			if diff := cmp.Diff(tc.want, got); diff != "" || ok != tc.ok {
				t.Errorf("ParseRank(%q) = %+v, %t", tc.line, got, ok)
			}
		})
	}
}

func TestCheckRanks(t *testing.T) {
	world := func() []Rank {
		return []Rank{{0, 4, "a", 10, 10, true}, {1, 4, "a", 10, 10, true}, {2, 4, "b", 10, 10, true}, {3, 4, "b", 10, 10, true}}
	}
	cases := map[string]struct {
		reason string
		change func([]Rank) []Rank
		err    string
	}{
		"Right":    {"a full world", func(r []Rank) []Rank { return r }, ""},
		"Missing":  {"a rank is missing", func(r []Rank) []Rank { return r[:3] }, "3 ranks"},
		"Twice":    {"a rank twice hides a missing one", func(r []Rank) []Rank { r[3] = r[2]; return r }, "twice"},
		"Alone":    {"every rank in a world of its own: mpirun and library differ", func(r []Rank) []Rank { r[1].Size = 1; return r }, "world of 1"},
		"WrongSum": {"MPI lost a message", func(r []Rank) []Rank { r[0].Sum = 9; return r }, "sum 9"},
		"OneHost": {"all ranks in the launcher, the worst defect of the field", func(r []Rank) []Rank {
			for i := range r {
				r[i].Host = "a"
			}
			return r
		}, "ran 4 ranks"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := checkRanks(tc.change(world()), 2, 2)
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: error = %v, want %q", tc.reason, err, tc.err)
			}
		})
	}
}
