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

// Keepalive says how long a silent connection counts as alive.
type Keepalive struct {
	// Interval is the time between two questions.
	Interval time.Duration
	// Misses is the number of intervals without an answer after which the other side is lost, at least 1.
	Misses int
}

// Default notices a lost peer within 22 seconds. It could be sooner, but machines with many times more work than processors have left an
// agent without an answer for 12 seconds, and a job that works must not end for that. A job whose node is lost shall have failed within 30.
var Default = Keepalive{Interval: 2 * time.Second, Misses: 10}

// SilentError says that the other side stopped answering.
type SilentError struct{ For time.Duration }

func (e *SilentError) Error() string { return fmt.Sprintf("no answer for %v", e.For) }

// Watch asks for signs of life until one stays out or the connection ends, and returns why, or until the context is
// done, and returns nil. Any answer is a sign of life, a refusal too.
func (k Keepalive) Watch(ctx context.Context, conn ssh.Conn) error {
	_, err := k.WatchSilence(ctx, conn)
	return err
}

// WatchSilence is Watch, and also returns for how long the other side had left a question without an answer when the watch
// ended: a peer that ends its connection by itself answers until then, one that is gone has been silent before.
func (k Keepalive) WatchSilence(ctx context.Context, conn ssh.Conn) (silent time.Duration, err error) {
	limit := k.Interval * time.Duration(k.Misses)
	answers := make(chan error, 1)
	for {
		asked := time.Now()
		go func() {
			_, _, err := conn.SendRequest(Request, true, nil)
			answers <- err
		}()
		select {
		case err := <-answers:
			if err != nil {
				return time.Since(asked), err
			}
		case <-time.After(limit):
			return time.Since(asked), &SilentError{For: limit}
		case <-ctx.Done():
			return time.Since(asked), nil
		}
		select {
		case <-time.After(k.Interval):
		case <-ctx.Done():
			return 0, nil
		}
	}
}
