package client_test

import (
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi/agent/client"
)

// A machine that is busy gets longer each time, one that cannot be reached is tried as often as before.
func TestAttemptsOfABusyNodeTakeLonger(t *testing.T) {
	var limit client.AttemptLimit
	busy, away := &client.Failure{Cause: client.NoHandshake}, &client.Failure{Cause: client.TimedOut}
	for i, step := range []struct {
		failure error
		want    time.Duration
	}{{busy, 4 * time.Second}, {busy, 8 * time.Second}, {busy, 10 * time.Second}, {busy, 10 * time.Second}, {away, client.Attempt}, {away, client.Attempt}, {busy, 4 * time.Second}} {
		if limit.NoteFailure(step.failure); limit.Next() != step.want {
			t.Errorf("after failure %d: %v, want %v", i, limit.Next(), step.want)
		}
	}
}
