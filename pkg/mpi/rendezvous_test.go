package mpi

import (
	"encoding/json"
	"strings"
	"testing"
)

// Launchers belong to users: what the controller keeps of their answers is small.
func TestGateResultIsBounded(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	var result GateResult
	for range 1000 {
		result.Failures = append(result.Failures, NodeFailure{Name: long, Address: long, Error: long})
	}
	for range 2 { // the agent bounds what it says, and the controller what it hears
		result = result.Bounded()
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
