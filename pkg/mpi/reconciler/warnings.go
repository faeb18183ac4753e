package reconciler

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/mpi/job"
)

const (
	eventsPerPage = 500
	// eventPages bounds how much of a namespace is read for one job.
	eventPages = 20
	// warningsRead is how soon they are read again for a job that does not start, at first; later half as long as it has waited. The
	// API server has no cache of events: it goes through all of a namespace each time, and the jobs of a busy cluster that
	// wait for their pods would keep it busier still.
	warningsRead = 10 * time.Second
)

// loud are the reasons of warnings about pods that wide jobs have by the thousand, and whose pods say the same in their status.
var loud = []string{"FailedScheduling", "Failed", "BackOff", "Unhealthy"}

// recentWarnings are what was read last for a job, and when it was first.
type recentWarnings struct {
	first, last time.Time
	events      []corev1.Event
}

// due says whether to read them again.
func (r recentWarnings) due(now time.Time) bool {
	return now.Sub(r.last) >= max(warningsRead, r.last.Sub(r.first)/2)
}

// warnings returns what nothing but events tells about a job, where something has to be explained.
func (r *Reconciler) warnings(ctx context.Context, name client.ObjectKey, o job.Observed) ([]corev1.Event, error) {
	unexplained := o.Unexplained()
	if !unexplained && !o.MissingPods() && !o.Unmounted() {
		return nil, nil
	}
	recent, read := r.memory.recent(name)
	if read && !unexplained && !recent.due(o.Now) {
		return recent.events, nil
	}
	events, err := r.readWarnings(ctx, o.TrainJob.Namespace, o.TrainJob.Name)
	if err != nil {
		return nil, err
	}
	if !read {
		recent.first = o.Now
	}
	recent.last, recent.events = o.Now, events
	r.memory.read(name, recent)
	return events, nil
}

// readWarnings returns warnings about objects whose name begins with that of a job: about JobSet and Jobs, whose pods the API server
// refuses, and about pods whose volumes are not there, or that kubelet threw out. The fields are those by which the API server finds
// events of API version v1 (k8s.io/kubernetes pkg/apis/core/v1, AddFieldLabelConversionsForEvent).
func (r *Reconciler) readWarnings(ctx context.Context, namespace, prefix string) ([]corev1.Event, error) {
	terms := []fields.Selector{fields.OneTermEqualSelector("type", corev1.EventTypeWarning)}
	for _, reason := range loud {
		terms = append(terms, fields.OneTermNotEqualSelector("reason", reason))
	}
	selector := client.MatchingFieldsSelector{Selector: fields.AndSelectors(terms...)}
	var found []corev1.Event
	var next client.Continue
	for range eventPages {
		var page corev1.EventList
		if err := r.live.List(ctx, &page, client.InNamespace(namespace), selector, client.Limit(eventsPerPage), next); err != nil {
			return nil, fmt.Errorf("list warning events: %w", err)
		}
		for _, event := range page.Items {
			if strings.HasPrefix(event.InvolvedObject.Name, prefix) {
				found = append(found, event)
			}
		}
		if next = client.Continue(page.Continue); next == "" {
			return found, nil
		}
	}
	ctrl.LoggerFrom(ctx).Info("the namespace has more warnings than are read for one job", "read", eventPages*eventsPerPage)
	return found, nil
}
