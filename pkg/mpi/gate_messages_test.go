package mpi

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// Launchers belong to users: what the controller keeps of their answers is small.
func TestGateResultIsBounded(t *testing.T) {
	long := "x" + strings.Repeat("ü", 5_000)
	var result GateResult
	for range 1000 {
		result.Failures = append(result.Failures, NodeFailure{Name: long, Address: long, Error: long})
	}
	for range 2 { // the agent bounds what it says, and the controller what it hears
		result = result.WithinBounds()
	}
	if name := result.Failures[0].Name; !utf8.ValidString(name) {
		t.Errorf("a character is cut: %q", name)
	}
	text, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 32<<10 {
		t.Errorf("%d bytes are kept", len(text))
	}
	if got := len(result.Failures) + result.More; got != 1000 {
		t.Errorf("%d failures are counted, want 1000", got)
	}
}
