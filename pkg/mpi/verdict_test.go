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

func TestEncodeKeepsWhatMatters(t *testing.T) {
	rank := 7
	verdict := Verdict{Message: strings.Repeat("é", 100), Rank: &RankEnd{Rank: &rank, Code: 3}, Nodes: make([]NodeReport, 50)}
	for range 40 {
		verdict.Lines = append(verdict.Lines, strings.Repeat("x", 200))
	}
	verdict.Lines[39] = "the last line"
	text, err := verdict.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeVerdict(string(text))
	if err != nil || len(got.Nodes) != 0 || got.Message != verdict.Message || got.Rank == nil || got.Lines[len(got.Lines)-1] != "the last line" {
		t.Errorf("the reports go first, then the oldest lines: %d reports, %d lines, %+v, %v", len(got.Nodes), len(got.Lines), got.Rank, err)
	}
	odd := Verdict{Message: "a" + strings.Repeat("é", 10_000)}
	if text, err = odd.Encode(); err != nil || strings.Contains(string(text), `\ufffd`) || strings.Contains(string(text), "\uFFFD") {
		t.Errorf("a message is cut at the border of a character: %v", err)
	}
	if _, err := (Verdict{Reason: Reason(strings.Repeat("x", 5000))}).Encode(); err == nil {
		t.Error("a verdict that cannot be made smaller was encoded")
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
		if text, err := verdict.Encode(); err == nil && len(text) > MaxVerdictBytes {
			t.Errorf("%d bytes", len(text))
		}
	})
}
