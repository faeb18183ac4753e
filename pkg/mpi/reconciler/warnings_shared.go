package reconciler

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	eventsPerPage = 500
	// eventPages bounds how much of a namespace is read.
	eventPages = 20
	// sharedFor is how long what was read for one job serves others, at least, and readingShare bounds the share of the time that goes
	// into reading a namespace: what took 300 ms to read serves for 6 s.
	sharedFor    = time.Second
	readingShare = 20
	// keptFor is how long it is kept for nobody.
	keptFor = time.Minute
)

// loud are the reasons of warnings about pods that wide jobs have by the thousand, and whose pods say the same in their status.
var loud = []string{"FailedScheduling", "Failed", "BackOff", "Unhealthy"}

// sharedWarnings reads the warnings of a namespace for all of its jobs at once. The API server has no cache of events: it goes
// through all of a namespace for each question, and a thousand jobs that wait for their pods would keep it from making them.
type sharedWarnings struct {
	live client.Reader
	now  func() time.Time

	mu         sync.Mutex
	namespaces map[string]*namespaceWarnings
}

// namespaceWarnings are what was read last, when that was begun, and how long it took. Who needs them waits for who reads them.
type namespaceWarnings struct {
	// asked is when they were asked for last. The lock of sharedWarnings guards it, mu the rest.
	asked time.Time

	mu     sync.Mutex
	begun  time.Time
	took   time.Duration
	events []corev1.Event
}

func newSharedWarnings(live client.Reader, now func() time.Time) *sharedWarnings {
	return &sharedWarnings{live: live, now: now, namespaces: map[string]*namespaceWarnings{}}
}

// of returns the warnings of a namespace: if fresh, those that were there when it was called, otherwise perhaps earlier ones.
func (s *sharedWarnings) of(ctx context.Context, namespace string, fresh bool) ([]corev1.Event, error) {
	oldest := s.now()
	last := s.enter(namespace, oldest)
	last.mu.Lock()
	defer last.mu.Unlock()
	if !fresh {
		oldest = oldest.Add(-max(sharedFor, readingShare*last.took))
	}
	if !last.begun.IsZero() && !last.begun.Before(oldest) {
		return last.events, nil
	}
	begun := s.now()
	events, err := s.read(ctx, namespace)
	if err != nil {
		return nil, err
	}
	last.begun, last.took, last.events = begun, s.now().Sub(begun), events
	return events, nil
}

// enter returns the place of a namespace, and drops those that nobody has asked for.
func (s *sharedWarnings) enter(namespace string, now time.Time) *namespaceWarnings {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.namespaces, func(_ string, last *namespaceWarnings) bool { return now.Sub(last.asked) > keptFor })
	last := s.namespaces[namespace]
	if last == nil {
		last = &namespaceWarnings{}
		s.namespaces[namespace] = last
	}
	last.asked = now
	return last
}

// read returns warnings about JobSets and Jobs, whose pods the API server refuses, and about pods whose volumes are not there, or
// that kubelet threw out. The fields are those by which the API server finds events of API version v1 (k8s.io/kubernetes
// pkg/apis/core/v1, AddFieldLabelConversionsForEvent).
func (s *sharedWarnings) read(ctx context.Context, namespace string) ([]corev1.Event, error) {
	terms := []fields.Selector{fields.OneTermEqualSelector("type", corev1.EventTypeWarning)}
	for _, reason := range loud {
		terms = append(terms, fields.OneTermNotEqualSelector("reason", reason))
	}
	selector := client.MatchingFieldsSelector{Selector: fields.AndSelectors(terms...)}
	var found []corev1.Event
	var next client.Continue
	for range eventPages {
		var page corev1.EventList
		if err := s.live.List(ctx, &page, client.InNamespace(namespace), selector, client.Limit(eventsPerPage), next); err != nil {
			return nil, fmt.Errorf("list warning events: %w", err)
		}
		for i := range page.Items {
			page.Items[i].ManagedFields = nil // they are kept for a while, by the thousand
		}
		found = append(found, page.Items...)
		if next = client.Continue(page.Continue); next == "" {
			return found, nil
		}
	}
	ctrl.LoggerFrom(ctx).Info("the namespace has more warnings than are read", "namespace", namespace, "read", eventPages*eventsPerPage)
	return found, nil
}
