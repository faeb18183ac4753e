package loop

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// eventStore is an API server with the events of a namespace, which come in pages.
type eventStore struct {
	client.Reader
	events []corev1.Event
	// takes is how long an answer takes.
	takes time.Duration

	mu    sync.Mutex
	pages int
}

func (s *eventStore) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	s.mu.Lock()
	s.pages++
	s.mu.Unlock()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(s.takes):
	}
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
	told := []corev1.Event{
		warning("JobSet", "demo", "s", "JobCreationFailed"), warning("Job", "demo-launcher-0", "l", "FailedCreate"),
		warning("Job", "demo-node-0", "n", "FailedCreate"), warning("Pod", "demo-node-0-1-x7x2p", "p", "FailedMount"), warning("Pod", "demo-node-0-2-x7x2p", "q", "Evicted"),
	}
	store.events = append(store.events, told...)
	store.events = append(store.events, corev1.Event{Type: corev1.EventTypeNormal, Reason: "SuccessfulCreate", InvolvedObject: told[1].InvolvedObject})

	words := func(events []corev1.Event) []string {
		var list []string
		for _, e := range events {
			list = append(list, fmt.Sprint(e.InvolvedObject.Kind, " ", e.Message, " ", e.Reason))
		}
		slices.Sort(list)
		return list
	}
	for i := range store.events {
		store.events[i].ManagedFields, store.events[i].LastTimestamp = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}, metav1.Unix(1000, 0)
	}
	all, err := newSharedWarnings(store, time.Now).warningsIn(t.Context(), "team", true)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(all, func(e corev1.Event) bool { return e.ManagedFields != nil || e.LastTimestamp.IsZero() }) {
		t.Error("what nobody reads is kept, or when it was is not")
	}
	if diff := cmp.Diff(words(told), words(aboutObjectsOf(all, "demo"))); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// No namespace makes the controller read forever.
func TestWarningsAreBounded(t *testing.T) {
	store := &eventStore{}
	for i := range eventsPerPage * (eventPages + 1) {
		other := "wide-node-0-" + strconv.Itoa(i)
		store.events = append(store.events, warning("Pod", other, types.UID(other), "FailedMount"))
	}
	if _, err := newSharedWarnings(store, time.Now).warningsIn(t.Context(), "team", true); err != nil || store.pages != eventPages {
		t.Errorf("%d pages, %v", store.pages, err)
	}
}

// A job that does not start is looked at whenever one of its pods changes, and asks for warnings now and then.
func TestWarningsAreReadNowAndThen(t *testing.T) {
	begin := time.Unix(1000, 0)
	trainJob := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, UID: "t"}}
	js := &jobset.JobSet{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, UID: "s", OwnerReferences: []metav1.OwnerReference{{
		APIVersion: trainer.GroupVersion.String(), Kind: trainer.TrainJobKind, Name: name.Name, UID: "t", Controller: new(true),
	}}}}
	js.Spec.ReplicatedJobs = []jobset.ReplicatedJob{{Name: "launcher"}, {Name: "node"}}
	store := &eventStore{events: []corev1.Event{warning("Job", name.Name+"-node-0", "n", "FailedCreate")}}
	now := begin
	r := &Reconciler{cache: newJobCache(), warnings: newSharedWarnings(store, func() time.Time { return now })}
	for _, step := range []struct {
		after       time.Duration
		pages, told int
	}{{0, 0, 0}, {5 * time.Second, 1, 1}, {6 * time.Second, 1, 1}, {14 * time.Second, 1, 1}, {16 * time.Second, 2, 1}, {65 * time.Second, 3, 1}, {90 * time.Second, 3, 1}, {100 * time.Second, 4, 1}} {
		now = begin.Add(step.after)
		o := observe.Observed{Now: now, TrainJob: trainJob, JobSet: js}
		r.cache.rememberFacts(name, &o)
		got, err := r.warningsOf(t.Context(), name, phase.DeriveFacts(o))
		if err != nil || store.pages != step.pages || len(got) != step.told {
			t.Errorf("after %s: %d warnings after %d pages, %v", step.after, len(got), store.pages, err)
		}
	}
	r.cache.forgetJob(name)
	if len(r.cache.warnings) != 0 {
		t.Error("nothing is kept about a job that is gone")
	}
}

// A thousand jobs that wait in one namespace cost the API server what one costs, and one that has failed is not told what was there
// before.
func TestWarningsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		namespace, store := "team", &eventStore{}
		shared := newSharedWarnings(store, time.Now)
		read := func(reason string, fresh bool, pages, told int) {
			t.Helper()
			got, err := shared.warningsIn(t.Context(), namespace, fresh)
			if err != nil || store.pages != pages || len(got) != told {
				t.Errorf("%s: %d warnings after %d pages, %v; want %d after %d", reason, len(got), store.pages, err, told, pages)
			}
		}
		read("the first one", false, 1, 0)
		store.events = append(store.events, warning("Pod", "demo-node-0-0", "p", "Evicted"))
		for range 1000 {
			read("what others have read", false, 1, 0)
		}
		time.Sleep(time.Millisecond)
		read("a failure", true, 2, 1)
		time.Sleep(sharedFor + time.Millisecond)
		if shared.lastRead(namespace) != nil {
			t.Error("what serves nobody any more is kept")
		}
		store.takes = time.Second
		read("too old", false, 3, 1)
		time.Sleep((readingShare-1)*time.Second - time.Millisecond)
		read("what costs much is read seldom", false, 3, 1)
		namespace = "other"
		read("another namespace", false, 4, 1)
		time.Sleep(readingShare * time.Second)
		if shared.lastRead(namespace) != nil {
			t.Error("what served long is kept")
		}
	})
}

// While the API server does not answer, all workers wait for one answer, none longer than it has time, and all hear why there is none.
func TestWorkersThatWaitForWarningsHearTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &eventStore{takes: time.Minute}
		shared := newSharedWarnings(store, time.Now)
		hurried, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		heard := make(chan time.Duration, 10)
		for i := range 10 {
			go func() {
				ctx := t.Context()
				if i == 0 {
					ctx = hurried
				}
				if _, err := shared.warningsIn(ctx, "team", i%2 == 0); err == nil {
					t.Error("nobody has answered")
				}
				heard <- time.Since(begin)
			}()
			synctest.Wait()
		}
		for i := range 10 {
			if after := <-heard; i == 0 && after != time.Second || after > readLimit {
				t.Errorf("worker %d waited for %s", i, after)
			}
		}
		if store.pages != 1 {
			t.Errorf("%d requests", store.pages)
		}
	})
}

// What was asked for before a job failed does not tell why.
func TestAReadingThatWasBegunBeforeIsNotFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &eventStore{takes: 2 * time.Second}
		shared := newSharedWarnings(store, time.Now)
		go func() { _, _ = shared.warningsIn(t.Context(), "team", false) }()
		time.Sleep(time.Second)
		if _, err := shared.warningsIn(t.Context(), "team", true); err != nil || store.pages != 2 {
			t.Errorf("%d requests, %v", store.pages, err)
		}
	})
}
