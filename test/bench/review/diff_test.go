package main

import (
	"slices"
	"strings"
	"testing"
)

// TestOpens: the report of a line that opens egress for all must be one critical entry, at that line, for all tenants, and short.
func TestOpens(t *testing.T) {
	const file, line, tenants = "overlays/a/kustomization.yaml", 16, 2
	good := func() *review {
		r := &review{Worst: "critical", Entries: []entry{{Consequence: "opens-network", Severity: "critical"}}}
		r.Entries[0].After.File, r.Entries[0].After.Line, r.Entries[0].Blast.Tenants = file, line, []string{"x", "y"}
		return r
	}
	for name, tc := range map[string]struct {
		reason string
		change func(r *review)
		lines  int
		want   string
	}{
		"Good":      {"as it should be", func(*review) {}, 40, ""},
		"TwoCauses": {"a cause is one entry", func(r *review) { r.Entries = slices.Repeat(r.Entries, 2) }, 20, "is 2 entries, not one"},
		"Nothing":   {"that is false calm", func(r *review) { r.Entries = nil }, 20, "is 0 entries, not one"},
		"Milder":    {"nobody would look", func(r *review) { r.Entries[0].Severity = "warning" }, 20, "it is warning and opens-network, not critical"},
		"Elsewhere": {"the line is what a reviewer must see", func(r *review) { r.Entries[0].After.Line = 3 }, 20, "it is at overlays/a/kustomization.yaml:3, not overlays/a/kustomization.yaml:16"},
		"Fewer":     {"all tenants are concerned", func(r *review) { r.Entries[0].Blast.Tenants = nil }, 20, "it is for 0 tenants, not 2"},
		"Long":      {"nobody reads that", func(*review) {}, 41, "it takes 41 lines of text, more than 40"},
	} {
		t.Run(name, func(t *testing.T) {
			r := good()
			tc.change(r)
			err := r.opens(file, line, tenants, tc.lines)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

// TestParse: what cannot be measured is refused before anything is built.
func TestParse(t *testing.T) {
	if o, err := parse([]string{"--tenants", "50"}); err != nil || o.Tenants != 50 {
		t.Errorf("%d tenants, %v", o.Tenants, err)
	}
	for _, wrong := range [][]string{{"--runs", "0"}, {"--small", "0"}, {"--tenants", "0"}} {
		if _, err := parse(wrong); err == nil {
			t.Errorf("%v is taken", wrong)
		}
	}
}
