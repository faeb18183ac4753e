// Package liveness notices that the other side of an SSH connection is gone although nobody closed the connection: a
// lost node, a frozen pod, a cut network. TCP alone would wait for many minutes.
package liveness

import (
	"context"
	"fmt"
	"net"
	"time"

	"golang.org/x/crypto/ssh"
)

// Request is the name of the global request that asks for a sign of life; OpenSSH's name.
const Request = "keepalive@openssh.com"

// Keepalive says how long a silent connection counts as alive.
type Keepalive struct {
	// Interval is the time between two questions.
	Interval time.Duration
	// Misses is the number of intervals without an answer after which the other side is lost, at least 1. An interval counts
	// once however late this process comes out of it: a time in which it did not run itself proves nothing.
	Misses int
	// Patience is how long the other side may be silent while its kernel acknowledges what it is sent: machine and network are
	// well then, and only its process does not run. Less than all misses is as long as these.
	Patience time.Duration
	// Doubt is how long the other side may be silent while its kernel acknowledges before it is doubted, 0 for
	// never.
	Doubt time.Duration
}

// Default notices within 22 seconds a peer whose machine is gone or cut off. It could be sooner, but machines with many times more work than
// processors have left an agent without an answer for 30 seconds, and a job that works must not end for that. So a machine that acknowledges
// packets has as long as Kubernetes gives one by default before it counts as lost (kube-controller-manager's --node-monitor-grace-period).
// A doubt ends nothing, and users should read of a frozen worker within 30 seconds.
var Default = Keepalive{Interval: 2 * time.Second, Misses: 10, Patience: 50 * time.Second, Doubt: 16 * time.Second}

// SilentError says that the other side stopped answering.
type SilentError struct {
	For time.Duration
	// Acknowledged reports whether its kernel still took what it was sent.
	Acknowledged bool
}

func (e *SilentError) Error() string {
	text := fmt.Sprintf("no answer for %v", e.For)
	if e.Acknowledged {
		text += ", although its machine takes what it is sent: frozen, or without processor time"
	}
	return text
}

// Watch asks for signs of life until one stays out or the connection ends, and returns why, or until the context is
// done, and returns nil. Any answer is a sign of life, a refusal too. wire is what carries the connection.
func (k Keepalive) Watch(ctx context.Context, conn ssh.Conn, wire net.Conn) error {
	_, err := k.WatchSilence(ctx, conn, wire, func(bool) {})
	return err
}

// WatchSilence is Watch, and also returns for how long the other side had left a question without an answer when the
// watch ended: a peer that ends its connection by itself answers until then, a peer that is gone has been silent
// before. Doubt is called with true once the other side is doubted, and with false when it answers after all.
func (k Keepalive) WatchSilence(ctx context.Context, conn ssh.Conn, wire net.Conn, doubt func(bool)) (silent time.Duration, err error) {
	kernel := probed(wire, k.Interval)
	for {
		asked := time.Now()
		if err := k.ask(ctx, conn, kernel, doubt); err != nil || ctx.Err() != nil {
			return time.Since(asked), err
		}
		select {
		case <-time.After(k.Interval):
		case <-ctx.Done():
			return 0, nil
		}
	}
}

// ask returns nil once a question is answered or the context is done.
func (k Keepalive) ask(ctx context.Context, conn ssh.Conn, kernel acknowledging, doubt func(bool)) error {
	doubted := false
	answer := make(chan error, 1)
	go func() {
		_, _, err := conn.SendRequest(Request, true, nil)
		answer <- err
	}()
	for missed := 1; ; missed++ {
		select {
		case err := <-answer:
			if doubted && err == nil {
				doubt(false)
			}
			return err
		case <-ctx.Done():
			return nil
		case <-time.After(k.Interval):
		}
		if silence := k.silenceAfter(missed, kernel); silence != nil && len(answer) == 0 {
			return silence
		}
		if !doubted && k.isDoubtful(missed, kernel) && len(answer) == 0 {
			doubted = true
			doubt(true)
		}
	}
}

// isDoubtful reports whether a peer is silent for long enough to be doubted, while its kernel acknowledges.
func (k Keepalive) isDoubtful(missed int, kernel acknowledging) bool {
	silent := time.Duration(missed) * k.Interval
	return k.Doubt > 0 && silent >= k.Doubt && kernel.acknowledgedWithin(acknowledgements*k.Interval)
}

// silenceAfter is the error of a peer that is lost after so many intervals without an answer, nil for one that may come back.
func (k Keepalive) silenceAfter(missed int, kernel acknowledging) error {
	silent := time.Duration(missed) * k.Interval
	switch {
	case missed < k.Misses:
		return nil
	case !kernel.acknowledgedWithin(acknowledgements * k.Interval):
		return &SilentError{For: silent}
	case silent < k.Patience:
		return nil
	}
	return &SilentError{For: silent, Acknowledged: true}
}
