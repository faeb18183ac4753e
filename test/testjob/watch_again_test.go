package testjob

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// flaky is a client whose watches it has been given end one after the other; nil is one that cannot be begun.
type flaky struct {
	client.WithWatch
	watches chan watch.Interface
}

func (f flaky) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	if w := <-f.watches; w != nil {
		return w, nil
	}
	return nil, errors.New("no connection")
}

func TestAWatchThatTheServerEndsIsBegunAgain(t *testing.T) {
	f := flaky{watches: make(chan watch.Interface, 3)}
	first, last := watch.NewFake(), watch.NewFake()
	for _, w := range []watch.Interface{first, nil, last} {
		f.watches <- w
	}
	seen, err := watchAgain(t.Context(), f, &corev1.PodList{})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		first.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "before"}})
		first.Stop()
		last.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "after"}})
	}()
	for _, want := range []string{"before", "after"} {
		if pod, ok := (<-seen).(*corev1.Pod); !ok || pod.Name != want {
			t.Fatalf("got %v, want pod %s", pod, want)
		}
	}
}

func TestAWatchThatCannotBeBegunIsToldAtOnce(t *testing.T) {
	f := flaky{watches: make(chan watch.Interface, 1)}
	f.watches <- nil
	if _, err := watchAgain(t.Context(), f, &corev1.PodList{}); err == nil {
		t.Error("got no error")
	}
}
