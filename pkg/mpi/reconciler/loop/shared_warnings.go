package loop

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
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
	// readLimit bounds one reading, whoever waits for it.
	readLimit = 30 * time.Second
)

// loud are the reasons of warnings about pods that wide jobs have by the thousand, and whose pods say the same in their status.
var loud = []string{"FailedScheduling", "Failed", "BackOff", "Unhealthy"}

// sharedWarnings reads the warnings of a namespace for all of its jobs at once. The API server has no cache of events: it goes
// through all of a namespace for each question, and a thousand jobs that wait for their pods would keep it from making them. Who needs
// them while they are being read waits for who reads them, and gets the same, an error too.
type sharedWarnings struct {
	live client.Reader
	now  func() time.Time

	reading singleflight.Group

	mu         sync.Mutex
	namespaces map[string]*namespaceWarnings
}

// namespaceWarnings are what was read, when that was begun, and how long it serves those to whom it need not be fresh.
type namespaceWarnings struct {
	begun  time.Time
	serves time.Duration
	events []corev1.Event
}

func newSharedWarnings(live client.Reader, now func() time.Time) *sharedWarnings {
	return &sharedWarnings{live: live, now: now, namespaces: map[string]*namespaceWarnings{}}
}

// warningsIn returns the warnings of a namespace: if fresh, those that were there when it was called, otherwise perhaps earlier ones.
func (s *sharedWarnings) warningsIn(ctx context.Context, namespace string, fresh bool) ([]corev1.Event, error) {
	asked := s.now()
	if last := s.lastRead(namespace); last != nil && last.isFreshEnough(asked, fresh) {
		return last.events, nil
	}
	for {
		read := s.reading.DoChan(namespace, func() (any, error) { return s.readAndKeep(context.WithoutCancel(ctx), namespace) })
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for warning events: %w", ctx.Err())
		case result := <-read:
			if result.Err != nil {
				return nil, result.Err
			}
			// A reading that was begun before is not fresh; the next one is.
			if last, is := result.Val.(*namespaceWarnings); is && last.isFreshEnough(asked, fresh) {
				return last.events, nil
			}
		}
	}
}

// isFreshEnough reports whether what was read serves who asked then.
func (w *namespaceWarnings) isFreshEnough(asked time.Time, fresh bool) bool {
	if fresh {
		return !w.begun.Before(asked)
	}
	return !w.begun.Add(w.serves).Before(asked)
}

func (s *sharedWarnings) lastRead(namespace string) *namespaceWarnings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.namespaces[namespace]
}

// readAndKeep reads the warnings of a namespace and keeps them for as long as they serve others.
func (s *sharedWarnings) readAndKeep(ctx context.Context, namespace string) (*namespaceWarnings, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	read := &namespaceWarnings{begun: s.now()}
	var err error
	if read.events, err = s.readWarnings(ctx, namespace); err != nil {
		return nil, err
	}
	took := s.now().Sub(read.begun)
	read.serves = max(sharedFor, readingShare*took)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.namespaces[namespace] = read
	time.AfterFunc(read.serves-took, func() { s.dropRead(namespace, read) })
	return read, nil
}

// dropRead forgets what was read of a namespace, unless it has been read again.
func (s *sharedWarnings) dropRead(namespace string, read *namespaceWarnings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.namespaces[namespace] == read {
		delete(s.namespaces, namespace)
	}
}

// readWarnings returns warnings about JobSets and Jobs, whose pods the API server refuses, and about pods whose volumes are not there, or
// that kubelet threw out. The fields are those by which the API server finds events of API version v1 (k8s.io/kubernetes
// pkg/apis/core/v1, AddFieldLabelConversionsForEvent).
func (s *sharedWarnings) readWarnings(ctx context.Context, namespace string) ([]corev1.Event, error) {
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
			found = append(found, stripEvent(&page.Items[i]))
		}
		if next = client.Continue(page.Continue); next == "" {
			return found, nil
		}
	}
	ctrl.LoggerFrom(ctx).Info("the namespace has more warnings than are read", "namespace", namespace, "read", eventPages*eventsPerPage)
	return found, nil
}

// stripEvent leaves of a warning what package job looks at: they are kept for a while, by the thousand.
func stripEvent(event *corev1.Event) corev1.Event {
	about := event.InvolvedObject
	return corev1.Event{
		InvolvedObject: corev1.ObjectReference{Kind: about.Kind, Name: about.Name, UID: about.UID},
		Type:           event.Type, Reason: event.Reason, Message: event.Message,
		FirstTimestamp: event.FirstTimestamp, LastTimestamp: event.LastTimestamp,
	}
}
