package mpi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVerdictFitsATerminationMessage(t *testing.T) {
	cases := map[string]struct {
		reason  string
		verdict Verdict
		nodes   int
	}{
		"Small":       {"nothing is lost", Verdict{ExitCode: 7, Message: "m", Nodes: make([]NodeReport, 2)}, 2},
		"ManyNodes":   {"reports go first", Verdict{Message: "m", Nodes: make([]NodeReport, 1000)}, 100},
		"LongMessage": {"then the message", Verdict{Message: strings.Repeat("x", 10_000), Nodes: make([]NodeReport, 3)}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text, err := tc.verdict.Encode()
			if err != nil || len(text) > MaxVerdictBytes {
				t.Fatalf("%s: %d bytes, error %v", tc.reason, len(text), err)
			}
			got, err := DecodeVerdict(string(text))
			if err != nil || got.ExitCode != tc.verdict.ExitCode || got.Message == "" || len(got.Nodes) < min(tc.nodes, 50) {
				t.Errorf("%s: read back %d nodes, message of %d bytes, error %v", tc.reason, len(got.Nodes), len(got.Message), err)
			}
		})
	}
}

func TestEncodeLeavesTheVerdictAlone(t *testing.T) {
	verdict := Verdict{Nodes: make([]NodeReport, 1000)}
	if _, err := verdict.Encode(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(1000, len(verdict.Nodes)); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeVerdictRefusesOtherMessages(t *testing.T) {
	for _, message := range []string{"", "panic: oh no", "[]"} {
		if _, err := DecodeVerdict(message); err == nil {
			t.Errorf("DecodeVerdict(%q) must fail: no agent wrote that", message)
		}
	}
}

func FuzzDecodeVerdict(f *testing.F) {
	f.Add(`{"reason":"CommandFailed","exitCode":7}`)
	f.Add(`{"nodes":[null]}`)
	f.Fuzz(func(t *testing.T, message string) {
		verdict, err := DecodeVerdict(message)
		if err != nil {
			return
		}
		if text, err := verdict.Encode(); err != nil || len(text) > MaxVerdictBytes {
			t.Errorf("%d bytes, error %v", len(text), err)
		}
	})
}
