package main

import (
	"strings"
	"testing"
)

func TestVerdict(t *testing.T) {
	still := Reading{Goroutines: 100, ResidentMegabytes: 50, Watches: 40}
	cases := map[string]struct {
		reason string
		after  func(*Reading)
		failed []string
		says   string
	}{
		"Still":      {"nothing grew", func(*Reading) {}, nil, ""},
		"Breathing":  {"pools come and go", func(r *Reading) { r.Goroutines = 120 }, nil, ""},
		"Goroutines": {"a leak", func(r *Reading) { r.Goroutines = 600 }, nil, "goroutines grew from 100 to 600"},
		"Watches":    {"a leak", func(r *Reading) { r.Watches = 90 }, nil, "watches"},
		"Series":     {"series outlive their jobs", func(r *Reading) { r.Series = 1 }, nil, "series"},
		"Orphans":    {"objects outlive their jobs", func(r *Reading) { r.Orphans = []string{"Secret x"} }, nil, "Secret x"},
		"Failed":     {"a job did not do what was asked", func(*Reading) {}, []string{"soak-1: lost"}, "soak-1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := Report{Before: still, After: still, Failed: tc.failed}
			tc.after(&r.After)
			err := r.Verdict()
			if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: Verdict = %v, want %q", tc.reason, err, tc.says)
			}
		})
	}
}
