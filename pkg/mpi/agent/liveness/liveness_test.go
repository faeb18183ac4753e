package liveness_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
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
	if err := keepalive.Watch(t.Context(), mute, nil); !errors.As(err, &silent) || silent.For != 3*time.Millisecond || err.Error() != "no answer for 3ms" {
		t.Errorf("got %v", err)
	}
}

func TestWatchReportsALostConnection(t *testing.T) {
	lost := errors.New("lost")
	if err := keepalive.Watch(t.Context(), peer{answer: func() error { return lost }}, nil); !errors.Is(err, lost) {
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
	}}, nil)
	if err != nil || questions < 3 {
		t.Errorf("got %v after %d questions", err, questions)
	}
}

// A watch whose context ends between two questions ends at once, and the peer was not silent.
func TestFollowEndsBetweenQuestions(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	answers := peer{answer: func() error { time.AfterFunc(time.Millisecond, cancel); return nil }}
	if silent, err := keepalive100.WatchSilence(ctx, answers, nil, ignore); err != nil || silent > time.Minute {
		t.Errorf("silent for %v, %v", silent, err)
	}
}

// A peer that ends its connection has answered until then; one that is gone has not.
func TestFollowTellsHowLongThePeerWasSilent(t *testing.T) {
	const long = 20 * time.Millisecond
	gone := peer{answer: func() error { time.Sleep(long); return errors.New("no route to host") }}
	if silent, err := keepalive100.WatchSilence(t.Context(), gone, nil, ignore); err == nil || silent < long {
		t.Errorf("silent for %v, %v", silent, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	mute := peer{answer: func() error { time.AfterFunc(long, cancel); select {} }}
	if silent, err := keepalive100.WatchSilence(ctx, mute, nil, ignore); err != nil || silent < long {
		t.Errorf("silent for %v, %v", silent, err)
	}
}

func ignore(bool) {}

var keepalive100 = liveness.Keepalive{Interval: time.Minute, Misses: 100}

// Its kernel takes what it is sent, for as long as there is room: a process that is frozen, or gets no processor time, may go on later.
func TestWatchIsPatientWithAMachineThatAcknowledges(t *testing.T) {
	wire := connected(t)
	mute := peer{answer: func() error { select {} }}
	var silent *liveness.SilentError
	patient := liveness.Keepalive{Interval: 500 * time.Millisecond, Misses: 1, Patience: 2 * time.Second}
	err := patient.Watch(t.Context(), mute, wire)
	if !errors.As(err, &silent) || silent.For != 2*time.Second || err.Error() != "no answer for 2s, although its machine takes what it is sent: frozen, or without processor time" {
		t.Errorf("got %v", err)
	}
	late := 3
	recovers := peer{answer: func() error {
		if late--; late == 1 {
			time.Sleep(time.Second) // more than all misses
		}
		if late == 0 {
			return io.EOF
		}
		return nil
	}}
	if err := patient.Watch(t.Context(), recovers, wire); !errors.Is(err, io.EOF) {
		t.Errorf("who answers late is not lost: %v", err)
	}
}

// A doubt comes long before the end, and goes with the next answer. A machine that is gone is not doubted: it is lost
// soon.
func TestWatchDoubtsAFrozenPeer(t *testing.T) {
	doubting := liveness.Keepalive{Interval: 500 * time.Millisecond, Misses: 30, Patience: 15 * time.Second, Doubt: time.Second}
	doubts := func(wire net.Conn, freeze time.Duration) (told []bool) {
		answers := 0
		late := peer{answer: func() error {
			if answers++; answers == 2 {
				time.Sleep(freeze)
			}
			if answers == 3 {
				return io.EOF
			}
			return nil
		}}
		if _, err := doubting.WatchSilence(t.Context(), late, wire, func(silent bool) { told = append(told, silent) }); !errors.Is(err, io.EOF) {
			t.Errorf("got %v", err)
		}
		return told
	}
	wire := connected(t)
	if told := doubts(wire, 2*time.Second); !slices.Equal(told, []bool{true, false}) {
		t.Errorf("frozen for two seconds: %v", told)
	}
	if told := doubts(wire, 0); told != nil {
		t.Errorf("never frozen: %v", told)
	}
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	if told := doubts(ours, 2*time.Second); told != nil {
		t.Errorf("without a kernel that acknowledges: %v", told)
	}
}

// A connection that the kernel cannot speak for has no more time than its misses.
func TestWatchIsNotPatientWithoutAKernelToAsk(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	mute := peer{answer: func() error { select {} }}
	impatient := liveness.Keepalive{Interval: time.Millisecond, Misses: 3, Patience: time.Hour}
	if err := impatient.Watch(t.Context(), mute, ours); err == nil || err.Error() != "no answer for 3ms" {
		t.Errorf("got %v", err)
	}
}

// connected is a connection whose other side never reads.
func connected(t *testing.T) net.Conn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); listener.Close() })
	return conn
}
