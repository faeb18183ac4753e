package reconciler

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi/job"
)

// eventStore is an API server with the events of a namespace, which come in pages.
type eventStore struct {
	client.Reader
	events []corev1.Event

	mu    sync.Mutex
	pages int
}

func (s *eventStore) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages++
	options := (&client.ListOptions{}).ApplyOptions(opts)
	from, _ := strconv.Atoi(options.Continue)
	page := list.(*corev1.EventList) //nolint:forcetypeassert // nothing else is listed
	*page = corev1.EventList{}
	for i := from; i < len(s.events); i++ {
		if int64(len(page.Items)) == options.Limit {
			page.Continue = strconv.Itoa(i)
			return nil
		}
		if options.FieldSelector.Matches(selectable(s.events[i])) {
			page.Items = append(page.Items, s.events[i])
		}
	}
	return nil
}

// selectable are fields by which the API server finds events (k8s.io/kubernetes pkg/registry/core/event, ToSelectableFields).
func selectable(e corev1.Event) fields.Set {
	return fields.Set{"involvedObject.kind": e.InvolvedObject.Kind, "involvedObject.uid": string(e.InvolvedObject.UID), "reason": e.Reason, "type": e.Type}
}

func warning(kind, about string, uid types.UID, reason string) corev1.Event {
	return corev1.Event{Type: corev1.EventTypeWarning, Reason: reason, Message: about, InvolvedObject: corev1.ObjectReference{Kind: kind, Name: about, UID: uid}}
}

// waitingJob is a job without all of its pods.
func waitingJob(pods ...corev1.Pod) job.Observed {
	meta := func(name string, uid types.UID) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "team", Name: name, UID: uid}
	}
	return job.Observed{
		TrainJob: &trainer.TrainJob{ObjectMeta: meta("demo", "t")}, JobSet: &jobset.JobSet{ObjectMeta: meta("demo", "s")},
		Jobs: []metav1.PartialObjectMetadata{{ObjectMeta: meta("demo-launcher-0", "l")}, {ObjectMeta: meta("demo-node-0", "n")}},
		Pods: pods,
	}
}

// However much happens in a namespace, what happened to a job is found.
func TestWarningsOfABusyNamespace(t *testing.T) {
	store := &eventStore{}
	for i := range 3000 {
		other := "wide-node-0-" + strconv.Itoa(i)
		for _, reason := range []string{"FailedScheduling", "Failed", "BackOff", "Unhealthy", "FailedMount"} {
			store.events = append(store.events, warning("Pod", other, types.UID(other), reason))
		}
		store.events = append(store.events, warning("Job", "other", "o", "FailedCreate"))
	}
	about := []corev1.Event{
		warning("JobSet", "demo", "s", "JobCreationFailed"), warning("Job", "demo-launcher-0", "l", "FailedCreate"),
		warning("Job", "demo-node-0", "n", "FailedCreate"), warning("Pod", "demo-node-0-1-x7x2p", "p", "FailedMount"), warning("Pod", "demo-node-0-2-x7x2p", "q", "Evicted"),
	}
	store.events = append(store.events, about...)
	store.events = append(store.events, corev1.Event{Type: corev1.EventTypeNormal, Reason: "SuccessfulCreate", InvolvedObject: about[1].InvolvedObject})

	words := func(events []corev1.Event) []string {
		var list []string
		for _, e := range events {
			list = append(list, fmt.Sprint(e.InvolvedObject.Kind, " ", e.Message, " ", e.Reason))
		}
		slices.Sort(list)
		return list
	}
	r := &Reconciler{live: store}
	got, err := r.warnings(t.Context(), waitingJob(corev1.Pod{}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(words(about), words(got)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}

	store.pages = 0
	if got, err = r.warnings(t.Context(), waitingJob()); err != nil || len(got) != 3 || store.pages != 3 {
		t.Errorf("a job without pods has no warnings about any: %v after %d pages, %v", words(got), store.pages, err)
	}
}

// No namespace makes the controller read for ever.
func TestWarningsAreBounded(t *testing.T) {
	store := &eventStore{}
	for i := range eventsPerPage * (eventPages + 1) {
		other := "wide-node-0-" + strconv.Itoa(i)
		store.events = append(store.events, warning("Pod", other, types.UID(other), "FailedMount"))
	}
	if _, err := (&Reconciler{live: store}).warnings(t.Context(), waitingJob(corev1.Pod{})); err != nil || store.pages != 3+eventPages {
		t.Errorf("%d pages, %v", store.pages, err)
	}
}
