// Package liveness notices that the other side of an SSH connection is gone although nobody closed the connection: a
// lost node, a frozen pod, a cut network. TCP alone would wait for many minutes.
package liveness

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/crypto/ssh"
)

// Request is the name of the global request that asks for a sign of life; OpenSSH's name.
const Request = "keepalive@openssh.com"

// Patience says how long a silent connection counts as alive.
type Patience struct {
	// Interval is the time between two questions.
	Interval time.Duration
	// Misses is the number of intervals without an answer after which the other side is lost, at least 1.
	Misses int
}

// Default notices a lost peer within 8 seconds.
var Default = Patience{Interval: 2 * time.Second, Misses: 3}

// SilentError says that the other side stopped answering.
type SilentError struct{ For time.Duration }

func (e *SilentError) Error() string { return fmt.Sprintf("no answer for %v", e.For) }

// Watch asks for signs of life until one stays out or the connection ends, and returns why, or until the context is
// done, and returns nil. Any answer is a sign of life, a refusal too.
func (p Patience) Watch(ctx context.Context, conn ssh.Conn) error {
	limit := p.Interval * time.Duration(p.Misses)
	answers := make(chan error, 1)
	for {
		go func() {
			_, _, err := conn.SendRequest(Request, true, nil)
			answers <- err
		}()
		select {
		case err := <-answers:
			if err != nil {
				return err
			}
		case <-time.After(limit):
			return &SilentError{For: limit}
		case <-ctx.Done():
			return nil
		}
		select {
		case <-time.After(p.Interval):
		case <-ctx.Done():
			return nil
		}
	}
}
