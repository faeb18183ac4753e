package reconciler

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
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
)

// loud are the reasons of warnings about pods that wide jobs have by the thousand, and whose pods say the same in their status.
var loud = []string{"FailedScheduling", "Failed", "BackOff", "Unhealthy"}

// warnings are the only trace of pods that the API server refuses, which are events about the JobSet and its Jobs, and of volumes
// that are not there and pods that kubelet threw out, which are events about pods. The fields are those by which the API
// server finds events of API version v1 (k8s.io/kubernetes pkg/apis/core/v1, AddFieldLabelConversionsForEvent).
func (r *Reconciler) warnings(ctx context.Context, o job.Observed) ([]corev1.Event, error) {
	about := []fields.Selector{fields.OneTermEqualSelector("involvedObject.uid", string(o.JobSet.UID))}
	for _, job := range o.Jobs {
		about = append(about, fields.OneTermEqualSelector("involvedObject.uid", string(job.UID)))
	}
	if len(o.Pods) > 0 {
		about = append(about, aboutPods())
	}
	found := make([][]corev1.Event, len(about))
	group, ctx := errgroup.WithContext(ctx)
	for i, selector := range about {
		group.Go(func() (err error) {
			found[i], err = r.warningsAbout(ctx, o, selector)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("list warning events: %w", err)
	}
	return slices.Concat(found...), nil
}

func aboutPods() fields.Selector {
	terms := []fields.Selector{fields.OneTermEqualSelector("involvedObject.kind", "Pod")}
	for _, reason := range loud {
		terms = append(terms, fields.OneTermNotEqualSelector("reason", reason))
	}
	return fields.AndSelectors(terms...)
}

// warningsAbout reads page by page, and keeps what is about objects of the job: all of them begin with its name.
func (r *Reconciler) warningsAbout(ctx context.Context, o job.Observed, about fields.Selector) ([]corev1.Event, error) {
	selector := fields.AndSelectors(fields.OneTermEqualSelector("type", corev1.EventTypeWarning), about)
	var found []corev1.Event
	var next client.Continue
	for range eventPages {
		var page corev1.EventList
		err := r.live.List(ctx, &page, client.InNamespace(o.TrainJob.Namespace), client.MatchingFieldsSelector{Selector: selector},
			client.Limit(eventsPerPage), next)
		if err != nil {
			return nil, err
		}
		for _, event := range page.Items {
			if strings.HasPrefix(event.InvolvedObject.Name, o.TrainJob.Name) {
				found = append(found, event)
			}
		}
		if next = client.Continue(page.Continue); next == "" {
			return found, nil
		}
	}
	ctrl.LoggerFrom(ctx).Info("the namespace has more warnings than are read for one job", "about", about.String(), "read", eventPages*eventsPerPage)
	return found, nil
}
