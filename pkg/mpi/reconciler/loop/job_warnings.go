package loop

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// warningsRead is how soon the warnings of a job that does not start are looked at again, at first; later half as long as it has
// waited.
const warningsRead = 10 * time.Second

// recentWarnings are what was read last for a job, and when it was first.
type recentWarnings struct {
	first, last time.Time
	events      []corev1.Event
}

// isReadDue reports whether to read them again.
func (r recentWarnings) isReadDue(now time.Time) bool {
	return now.Sub(r.last) >= max(warningsRead, r.last.Sub(r.first)/2)
}

// warningsOf returns what nothing but events tells about a job, where something has to be explained.
func (r *Reconciler) warningsOf(ctx context.Context, name client.ObjectKey, f *phase.Facts) ([]corev1.Event, error) {
	unexplained := f.End.IsUnexplained()
	if !unexplained && !f.HasMissingPods() && !f.HasUnmountedVolumes() {
		return nil, nil
	}
	recent, read := r.cache.lastWarnings(name)
	if read && !unexplained && !recent.isReadDue(f.Now) {
		return recent.events, nil
	}
	all, err := r.warnings.warningsIn(ctx, f.TrainJob.Namespace, unexplained)
	if err != nil {
		return nil, err
	}
	if !read {
		recent.first = f.Now
	}
	recent.last, recent.events = f.Now, aboutObjectsOf(all, f.TrainJob.Name)
	r.cache.keepWarnings(name, recent)
	return recent.events, nil
}

// aboutObjectsOf returns warnings about objects whose name begins with that of a job.
func aboutObjectsOf(events []corev1.Event, prefix string) []corev1.Event {
	var found []corev1.Event
	for _, event := range events {
		if strings.HasPrefix(event.InvolvedObject.Name, prefix) {
			found = append(found, event)
		}
	}
	return found
}
