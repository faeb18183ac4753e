package api

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNode(t *testing.T) {
	object := func(taints []corev1.Taint, conditions ...corev1.NodeCondition) corev1.Node {
		return corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "node0"},
			Spec:       corev1.NodeSpec{Taints: taints},
			Status:     corev1.NodeStatus{Conditions: conditions},
		}
	}
	ready := func(status corev1.ConditionStatus) corev1.NodeCondition {
		return corev1.NodeCondition{Type: corev1.NodeReady, Status: status, Message: "kubelet says"}
	}
	cases := map[string]struct {
		reason string
		in     corev1.Node
		want   Node
	}{
		"registered": {reason: "kubelet has not reported", in: object([]corev1.Taint{{Key: "k"}}), want: Node{Name: "node0", Why: "kubelet has not reported yet"}},
		"not ready":  {reason: "its message helps", in: object(nil, ready(corev1.ConditionFalse)), want: Node{Name: "node0", Open: true, Why: "kubelet says"}},
		"unknown":    {reason: "kubelet went silent", in: object(nil, ready(corev1.ConditionUnknown)), want: Node{Name: "node0", Open: true, Why: "kubelet says"}},
		"ready": {
			reason: "other conditions do not count",
			in:     object(nil, corev1.NodeCondition{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse}, ready(corev1.ConditionTrue)),
			want:   Node{Name: "node0", Ready: true, Open: true, Why: "kubelet says"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, node(tc.in)); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

func TestUntilTellsTheLastErrorAndTheCause(t *testing.T) {
	failure := errors.New("connection refused")
	err := Until(t.Context(), time.Millisecond, "no answer", func(context.Context) error { return failure })
	if !errors.Is(err, failure) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the last error and the deadline", err)
	}
	died := errors.New("node0 ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(died)
	if err := Until(ctx, time.Hour, "no answer", func(context.Context) error { return failure }); !errors.Is(err, died) {
		t.Errorf("got %v, want the cause of the cancellation", err)
	}
	calls := 0
	if err := Until(t.Context(), time.Hour, "no answer", func(context.Context) error {
		if calls++; calls < 3 {
			return failure
		}
		return nil
	}); err != nil || calls != 3 {
		t.Errorf("got %v after %d calls, want success at the third", err, calls)
	}
}
