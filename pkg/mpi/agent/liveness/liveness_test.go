package liveness_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"lockstep.dev/lockstep/pkg/mpi/agent/liveness"
)

// peer answers questions in its own way; the rest of a connection is not used.
type peer struct {
	ssh.Conn
	answer func() error
}

func (p peer) SendRequest(name string, wantReply bool, _ []byte) (bool, []byte, error) {
	if name != "keepalive@openssh.com" || !wantReply {
		return false, nil, errors.New("another request")
	}
	return false, nil, p.answer()
}

var keepalive = liveness.Keepalive{Interval: time.Millisecond, Misses: 3}

func TestWatchReportsSilence(t *testing.T) {
	mute := peer{answer: func() error { select {} }}
	var silent *liveness.SilentError
	if err := keepalive.Watch(t.Context(), mute); !errors.As(err, &silent) || silent.For != 3*time.Millisecond || err.Error() != "no answer for 3ms" {
		t.Errorf("got %v", err)
	}
}

func TestWatchReportsALostConnection(t *testing.T) {
	lost := errors.New("lost")
	if err := keepalive.Watch(t.Context(), peer{answer: func() error { return lost }}); !errors.Is(err, lost) {
		t.Errorf("got %v", err)
	}
}

func TestWatchEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	questions := 0
	patient := liveness.Keepalive{Interval: time.Millisecond, Misses: 60_000}
	err := patient.Watch(ctx, peer{answer: func() error {
		if questions++; questions == 3 {
			cancel()
		}
		return nil
	}})
	if err != nil || questions < 3 {
		t.Errorf("got %v after %d questions", err, questions)
	}
}

// A watch whose context ends between two questions ends at once, and the peer was not silent.
func TestFollowEndsBetweenQuestions(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	answers := peer{answer: func() error { time.AfterFunc(time.Millisecond, cancel); return nil }}
	if silent, err := keepalive100.WatchSilence(ctx, answers); err != nil || silent > time.Minute {
		t.Errorf("silent for %v, %v", silent, err)
	}
}

// A peer that ends its connection has answered until then; one that is gone has not.
func TestFollowTellsHowLongThePeerWasSilent(t *testing.T) {
	const long = 20 * time.Millisecond
	gone := peer{answer: func() error { time.Sleep(long); return errors.New("no route to host") }}
	if silent, err := keepalive100.WatchSilence(t.Context(), gone); err == nil || silent < long {
		t.Errorf("silent for %v, %v", silent, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	mute := peer{answer: func() error { time.AfterFunc(long, cancel); select {} }}
	if silent, err := keepalive100.WatchSilence(ctx, mute); err != nil || silent < long {
		t.Errorf("silent for %v, %v", silent, err)
	}
}

var keepalive100 = liveness.Keepalive{Interval: time.Minute, Misses: 100}
