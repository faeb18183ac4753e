package fetch

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// JobEvent is one event about a job or what was made for it.
type JobEvent struct {
	At     time.Time `json:"at"`
	Type   string    `json:"type"`
	Reason string    `json:"reason"`
	// Object is `Kind/name`.
	Object  string `json:"object"`
	Message string `json:"message"`
	Count   int32  `json:"count"`
}

// ReadEvents reads the events about a job, its JobSet, its Jobs and its pods, the oldest first. Events usually live for an hour.
func ReadEvents(ctx context.Context, c client.Reader, trainJob client.ObjectKey) ([]JobEvent, error) {
	var list corev1.EventList
	if err := c.List(ctx, &list, client.InNamespace(trainJob.Namespace)); err != nil {
		return nil, err
	}
	job := &metav1.PartialObjectMetadata{}
	job.SetGroupVersionKind(TrainJobKind)
	if err := c.Get(ctx, trainJob, job); client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	var events []JobEvent
	for i := range list.Items {
		if !isAboutJob(&list.Items[i], trainJob.Name) {
			continue
		}
		// Older ones are about a job that had the name before.
		if event := eventOf(&list.Items[i]); !event.At.Before(job.CreationTimestamp.Time) {
			events = append(events, event)
		}
	}
	slices.SortStableFunc(events, func(a, b JobEvent) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Object, b.Object), strings.Compare(a.Reason, b.Reason))
	})
	return events, nil
}

// parts are the kinds whose names begin with the name of the job and a role.
var parts = []string{"Job", "Pod"}

// isAboutJob reports whether an event is about a job. Of a pod that is gone only the event knows the name.
func isAboutJob(event *corev1.Event, name string) bool {
	object := event.InvolvedObject
	if object.Name == name {
		return object.Kind == "TrainJob" || object.Kind == "JobSet"
	}
	rest, found := strings.CutPrefix(object.Name, name+"-")
	if !found || !slices.Contains(parts, object.Kind) {
		return object.Kind == "Workload" && strings.HasPrefix(object.Name, "trainjob-"+name+"-")
	}
	role, index, _ := strings.Cut(rest, "-")
	return (role == "launcher" || role == "node") && strings.HasPrefix(index, "0")
}

func eventOf(event *corev1.Event) JobEvent {
	at := event.LastTimestamp.Time
	if event.Series != nil && event.Series.LastObservedTime.After(at) {
		at = event.Series.LastObservedTime.Time
	}
	for _, other := range []time.Time{event.EventTime.Time, event.FirstTimestamp.Time, event.CreationTimestamp.Time} {
		if at.IsZero() {
			at = other
		}
	}
	// Of the controller's events both times are there, and those of a second come in the order of a job's life by the finer one.
	if fine := event.EventTime.Time; fine.Truncate(time.Second).Equal(at) {
		at = fine
	}
	count := max(event.Count, 1)
	if event.Series != nil {
		count = max(count, event.Series.Count)
	}
	return JobEvent{At: at, Type: event.Type, Reason: event.Reason, Object: event.InvolvedObject.Kind + "/" + event.InvolvedObject.Name, Message: event.Message, Count: count}
}
