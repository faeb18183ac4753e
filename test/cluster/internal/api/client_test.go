package api

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
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

// busy is an API server that has no time for the first writes.
type busy struct {
	dynamic.ResourceInterface
	answers []error
}

func (b *busy) Apply(context.Context, string, *unstructured.Unstructured, metav1.ApplyOptions, ...string) (*unstructured.Unstructured, error) {
	answer := b.answers[0]
	b.answers = b.answers[1:]
	return nil, answer
}

func TestApplyTriesABusyServerAgain(t *testing.T) {
	late, refused := apierrors.NewTimeoutError("request did not complete within requested timeout", 0), apierrors.NewBadRequest("no")
	for name, tc := range map[string]struct {
		answers []error
		want    error
	}{
		"Busy":    {[]error{late, apierrors.NewTooManyRequests("later", 1), nil}, nil},
		"Refused": {[]error{refused}, refused},
	} {
		t.Run(name, func(t *testing.T) {
			server := &busy{answers: tc.answers}
			if err := applyTo(t.Context(), server, &unstructured.Unstructured{}); !errors.Is(err, tc.want) || len(server.answers) > 0 {
				t.Errorf("got %v with %d answers left, want %v", err, len(server.answers), tc.want)
			}
		})
	}
}
