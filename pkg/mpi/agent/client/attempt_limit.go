package client

import "time"

// Attempt bounds one attempt to reach a node, and longestAttempt the longest one, which is what a server gives a handshake. A pod that is just
// coming up may swallow the first packets.
const (
	Attempt        = 2 * time.Second
	longestAttempt = 10 * time.Second
)

// AttemptLimit bounds attempts to ask one node, one after the other. A machine that accepts connections has twice as long after each that its
// agent did not answer in time: one that gets little of a processor would never be done within the first limit. The zero value is for the first.
type AttemptLimit struct{ last time.Duration }

// Next is how long the next attempt may take: from Attempt to 10 s.
func (l AttemptLimit) Next() time.Duration { return max(l.last, Attempt) }

// NoteFailure takes in how an attempt failed that had all of its time.
func (l *AttemptLimit) NoteFailure(err error) {
	if !HasCause(err, NoHandshake) {
		*l = AttemptLimit{}
		return
	}
	l.last = min(2*l.Next(), longestAttempt)
}
