package origin_test

import (
	"testing"

	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// TestKnown: what is written, patched or rendered is at a place; what nobody wrote has a reason.
func TestKnown(t *testing.T) {
	place := source.WholeFile(source.NewFile("tenants/a.yaml", nil))
	for name, c := range map[string]struct {
		origin *origin.Origin
		want   bool
	}{
		"nothing":              {nil, false},
		"written":              {&origin.Origin{Kind: origin.Written, At: place}, true},
		"written nowhere":      {&origin.Origin{Kind: origin.Written, Why: "somebody did"}, false},
		"rendered":             {&origin.Origin{Kind: origin.Rendered, At: place}, true},
		"default":              {&origin.Origin{Kind: origin.Default, Why: "of the kind"}, true},
		"default by no reason": {&origin.Origin{Kind: origin.Default, At: place}, false},
		"rule":                 {origin.Rule("quota", "bounds"), true},
	} {
		if got := c.origin.Known(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestOver: what a value overrides is told from the nearest to the farthest, and what was there stays as it was.
func TestOver(t *testing.T) {
	first := origin.Origin{Why: "first"}
	second := origin.Origin{Why: "second"}.Overriding("1", &first)
	third := origin.Origin{Why: "third"}.Overriding("2", &second)
	if len(third.Lost) != 2 || third.Lost[0].Value != "2" || third.Lost[0].Origin.Why != "second" || third.Lost[1].Value != "1" || third.Lost[1].Origin.Why != "first" {
		t.Errorf("%+v", third.Lost)
	}
	if len(second.Lost) != 1 || len(first.Lost) != 0 {
		t.Errorf("%+v, %+v", second.Lost, first.Lost)
	}
}
