package lead

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// leaseServer keeps the lease as an API server would, and may take its time.
type leaseServer struct {
	record resourcelock.LeaderElectionRecord
	delay  time.Duration
}

func (s *leaseServer) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record := s.record
	raw, err := json.Marshal(record) // as client-go does
	return &record, raw, err
}

func (s *leaseServer) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return s.Update(ctx, record)
}

func (s *leaseServer) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	time.Sleep(s.delay)
	s.record = record
	return nil
}

func (s *leaseServer) RecordEvent(string) {}
func (s *leaseServer) Identity() string   { return "me" }
func (s *leaseServer) Describe() string   { return "lease" }

func TestHeldLease(t *testing.T) {
	mine, nobodys := resourcelock.LeaderElectionRecord{HolderIdentity: "me"}, resourcelock.LeaderElectionRecord{}
	theirs := resourcelock.LeaderElectionRecord{HolderIdentity: "another"}
	for name, tc := range map[string]struct {
		why  string
		do   func(t *testing.T, l *Guard, s *leaseServer)
		lost bool
	}{
		"Renewed": {"a renewal counts from when it was sent", func(t *testing.T, l *Guard, _ *leaseServer) {
			for range 10 {
				time.Sleep(heldFor - time.Millisecond)
				wanted(t, l.Update(t.Context(), mine), nil)
			}
		}, false},
		"CutOff": {"nobody may work when a standby may", func(_ *testing.T, _ *Guard, _ *leaseServer) { time.Sleep(heldFor + time.Millisecond) }, true},
		"Slow": {"the API server may have written at once what it answered late", func(t *testing.T, l *Guard, s *leaseServer) {
			s.delay = heldFor - 100*time.Millisecond
			wanted(t, l.Update(t.Context(), mine), nil)
			time.Sleep(200 * time.Millisecond)
		}, true},
		"Given back": {"work ended before in order", func(t *testing.T, l *Guard, _ *leaseServer) {
			_, _, err := l.Get(t.Context())
			wanted(t, err, nil)
			wanted(t, l.Update(t.Context(), nobodys), nil)
			time.Sleep(time.Hour)
		}, false},
		"Robbed": {"a process that slept finds another holder", func(t *testing.T, l *Guard, s *leaseServer) {
			s.record = theirs
			_, _, err := l.Get(t.Context())
			wanted(t, err, ErrLost)
			wanted(t, l.Update(t.Context(), nobodys), ErrLost)
			if s.record.HolderIdentity != "another" {
				t.Error("it gave back the lease of another one")
			}
			time.Sleep(time.Hour) // it ends once
		}, true},
		"Closed": {"what began after it must not end with it", func(_ *testing.T, l *Guard, _ *leaseServer) {
			l.IgnoreLoss()
			time.Sleep(heldFor + time.Millisecond)
		}, false},
		"Not asked again": {"a lost lease is for the next start", func(t *testing.T, l *Guard, _ *leaseServer) {
			time.Sleep(heldFor + time.Millisecond)
			synctest.Wait()
			_, _, err := l.Get(t.Context())
			wanted(t, err, ErrLost)
			wanted(t, l.Update(t.Context(), mine), ErrLost)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, ended := &leaseServer{}, 0
				l := &Guard{Interface: s, end: func() { ended++ }}
				wanted(t, l.Create(t.Context(), mine), nil)
				tc.do(t, l, s)
				synctest.Wait()
				if l.IsLost() != tc.lost || ended != map[bool]int{true: 1}[tc.lost] {
					t.Errorf("%s: lost %t, ended %d times", tc.why, l.IsLost(), ended)
				}
				if l.left != nil {
					l.left.Stop()
				}
			})
		})
	}
}

// A standby gives back what it never held when it ends: client-go tries.
func TestStandbyLeavesTheLease(t *testing.T) {
	s := &leaseServer{record: resourcelock.LeaderElectionRecord{HolderIdentity: "another"}}
	l := &Guard{Interface: s, end: func() { t.Error("it has nothing to lose") }}
	_, _, err := l.Get(t.Context())
	wanted(t, err, nil)
	wanted(t, l.Update(t.Context(), resourcelock.LeaderElectionRecord{}), ErrLost)
}

// Renewals come several times a second, and a standby counts from the last one.
func TestRenewalsDiffer(t *testing.T) {
	s := &leaseServer{record: resourcelock.LeaderElectionRecord{HolderIdentity: "another", RenewTime: metav1.NewTime(time.Unix(1, 0))}}
	l := &Guard{Interface: s}
	_, first, err := l.Get(t.Context())
	wanted(t, err, nil)
	s.record.RenewTime = metav1.NewTime(time.Unix(1, 400_000_000))
	_, second, err := l.Get(t.Context())
	wanted(t, err, nil)
	if bytes.Equal(first, second) {
		t.Errorf("a renewal in the same second is not seen: %s", first)
	}
}

// TestTakeover is the arithmetic behind LeaseDuration and its companions.
func TestTakeover(t *testing.T) {
	const jitter = 22 // tenths: client-go's JitterFactor is how much more than a period
	if worst := LeaseDuration + 2*jitter*RetryPeriod/10; worst > 5*time.Second {
		t.Errorf("a standby may take %s", worst)
	}
	if heldFor >= LeaseDuration || heldFor >= RetryPeriod+RenewDeadline || RenewDeadline >= LeaseDuration {
		t.Error("the end of work comes first")
	}
}

func wanted(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%v, want %v", err, want)
	}
}
