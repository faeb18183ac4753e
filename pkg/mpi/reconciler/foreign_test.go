package reconciler

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestHeldBy(t *testing.T) {
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
		"Late":      {"or behind", lease("trainer-0", 40*time.Second), "trainer-0"},
		"RunOut":    {"a Trainer that was removed leaves its lease behind", lease("trainer-0", time.Minute), ""},
		"GivenBack": {"", lease("", time.Second), ""},
		"Empty":     {"", coordinationv1.Lease{}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := heldBy(tc.lease, now); got != tc.want {
				t.Errorf("%s: want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}
