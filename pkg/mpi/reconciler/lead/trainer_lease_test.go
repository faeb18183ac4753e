package lead

import (
	"errors"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"lockstep.dev/lockstep/pkg/mpi"
)

func watchful(now time.Time) *TrainerWatch {
	return NewTrainerWatch(nil, func() time.Time { return now }, nil)
}

func TestKept(t *testing.T) {
	now := time.Unix(1000, 0)
	lease := func(holder string, age time.Duration) coordinationv1.Lease {
		return coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: ptr.To[int32](15), RenewTime: ptr.To(metav1.NewMicroTime(now.Add(-age))),
		}}
	}
	cases := map[string]struct {
		reason string
		lease  coordinationv1.Lease
		want   string
	}{
		"Kept":      {"", lease("trainer-0", 2*time.Second), "trainer-0"},
		"Ahead":     {"the clock of the holder may be ahead", lease("trainer-0", -10*time.Second), "trainer-0"},
		"RunOut":    {"a Trainer that was killed leaves its lease behind", lease("trainer-0", 16*time.Second), ""},
		"GivenBack": {"", lease("", time.Second), ""},
		"Empty":     {"", coordinationv1.Lease{}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			var foreign *ConflictingControllerError
			if errors.As(watchful(now).errorIfHeld(tc.lease), &foreign) {
				got = foreign.Holder
			}
			if got != tc.want {
				t.Errorf("%s: want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

// A holder whose clock is behind writes times that have run out when they come. That it writes shows that it lives.
func TestKeptByAClockBehind(t *testing.T) {
	now := time.Unix(1000, 0)
	s := watchful(now)
	lease := coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("trainer-0"), LeaseDurationSeconds: ptr.To[int32](15), RenewTime: ptr.To(metav1.NewMicroTime(now.Add(-time.Minute))),
	}}
	if err := s.errorIfHeld(lease); err != nil {
		t.Errorf("at first it looks like one that was left behind: %v", err)
	}
	if err := s.errorIfHeld(lease); err != nil {
		t.Errorf("and stays so: %v", err)
	}
	lease.Spec.RenewTime = ptr.To(metav1.NewMicroTime(now.Add(-30 * time.Second)))
	if err := s.errorIfHeld(lease); err == nil {
		t.Error("it was renewed, so somebody keeps it")
	}
}

// Everybody who may edit some namespace can write a lease there: it must not stop the executor of the whole cluster.
func TestOnlyNamespacesOfTrainerAreBelieved(t *testing.T) {
	now := time.Unix(1000, 0)
	for namespace, want := range map[string]bool{"kubeflow-system": true, "team-vision": false} {
		lease := &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: trainerLease},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: ptr.To("me"), LeaseDurationSeconds: ptr.To[int32](1 << 30), RenewTime: ptr.To(metav1.NewMicroTime(now)),
			},
		}
		live := fake.NewClientBuilder().WithObjects(lease).
			WithIndex(lease, "metadata.name", func(o client.Object) []string { return []string{o.GetName()} }).Build()
		s := NewTrainerWatch(live, func() time.Time { return now }, mpi.TrainerNamespaces())
		var foreign *ConflictingControllerError
		if got := errors.As(s.checkLeases(t.Context()), &foreign); got != want {
			t.Errorf("a lease in namespace %s stops the executor: %v, want %v", namespace, got, want)
		}
	}
}

// A controller that waits for Trainer looks again when the lease may have run out, and every 30 s at the latest.
func TestForeignAgain(t *testing.T) {
	for left, want := range map[time.Duration]time.Duration{4 * time.Second: 5 * time.Second, time.Hour: leaseCheckInterval, -time.Second: time.Second} {
		if got := (&ConflictingControllerError{Left: left}).nextCheck(); got != want {
			t.Errorf("%s left: want %s, got %s", left, want, got)
		}
	}
}
