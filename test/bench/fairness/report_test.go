package main

import (
	"strings"
	"testing"
)

func TestVerdict(t *testing.T) {
	for reason, tc := range map[string]struct {
		beside delays
		want   string
	}{
		"all are in time":      {delays{0.1, 2}, ""},
		"one is too late":      {delays{0.1, 2.1, 0.2}, "waited 2.1 s"},
		"nothing was measured": {nil, "no job of the calm tenant"},
	} {
		err := Report{Beside: tc.beside}.Verdict()
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v", reason, err)
		}
	}
}

func TestDelays(t *testing.T) {
	if got := (delays{3, 1, 2}).String(); got != "median 2.00 s, worst 3.00 s of 3" {
		t.Error(got)
	}
}
