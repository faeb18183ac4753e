package bench

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
)

// EventsOfJobs counts the events about TrainJobs since a time: nobody but their controller sends any. One that came again is a
// request more.
func EventsOfJobs(ctx context.Context, reader client.Reader, namespace string, since time.Time) (int, error) {
	list := &corev1.EventList{}
	if err := reader.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{"involvedObject.kind": trainer.TrainJobKind}); err != nil {
		return 0, fmt.Errorf("count events: %w", err)
	}
	count := 0
	for _, event := range list.Items {
		// Times of objects are whole seconds.
		if event.CreationTimestamp.Time.Before(since.Truncate(time.Second)) {
			continue
		}
		count++
		if event.Series != nil {
			count += int(event.Series.Count) - 1
		}
		count += int(max(event.Count, 1)) - 1
	}
	return count, nil
}
