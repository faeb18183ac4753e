package events

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"

	"lockstep.dev/lockstep/pkg/mpi"
)

// NewRecorder returns a recorder whose events have both kinds of time. Kubeflow's SDK shows those with a firstTimestamp
// (kubeflow 0.5.0, get_job_events), which the newer API forbids; the order of a job's life is in the finer eventTime,
// which the recorder of the older API does not set. There is one for the process, whatever becomes of its lease:
// events that are sent while a manager stops count too.
func (s Sink) NewRecorder(scheme *runtime.Scheme) (*Recorder, error) {
	broadcaster := events.NewBroadcaster(s)
	if err := broadcaster.StartRecordingToSinkWithContext(context.Background()); err != nil {
		return nil, fmt.Errorf("record events: %w", err)
	}
	return &Recorder{broadcaster.NewRecorder(scheme, mpi.ControllerName)}, nil
}

// Recorder sends events about jobs.
type Recorder struct{ events.EventRecorder }

// Sink writes events of the newer API through the older one.
type Sink struct {
	events typedcorev1.EventsGetter
}

// NewSink returns the Sink of a cluster.
func NewSink(config *rest.Config) (Sink, error) {
	client, err := typedcorev1.NewForConfig(config)
	if err != nil {
		return Sink{}, fmt.Errorf("create client for events: %w", err)
	}
	return Sink{client}, nil
}

// Create creates an event.
func (s Sink) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	_, err := s.events.Events(event.Namespace).Create(ctx, coreEventOf(event), metav1.CreateOptions{FieldManager: mpi.ControllerName})
	return event, err
}

// Update is not asked for: a recorder creates events, and patches the count of a series.
func (s Sink) Update(context.Context, *eventsv1.Event) (*eventsv1.Event, error) {
	return nil, errors.ErrUnsupported
}

// Patch is asked for where an event comes again for the same version of a TrainJob: it was told already. The controller
// has no right to change events; any other kind of error a recorder would try again for minutes.
func (s Sink) Patch(context.Context, *eventsv1.Event, []byte) (*eventsv1.Event, error) {
	return nil, apierrors.NewMethodNotSupported(corev1.Resource("events"), "patch")
}

// coreEventOf is an event as the older API has it, with its time in both forms.
func coreEventOf(event *eventsv1.Event) *corev1.Event {
	at := metav1.NewTime(event.EventTime.Time)
	return &corev1.Event{
		ObjectMeta:     event.ObjectMeta,
		InvolvedObject: event.Regarding, Related: event.Related,
		Type: event.Type, Reason: event.Reason, Action: event.Action, Message: event.Note,
		EventTime: event.EventTime, FirstTimestamp: at, LastTimestamp: at, Count: 1,
		Source:              corev1.EventSource{Component: event.ReportingController},
		ReportingController: event.ReportingController, ReportingInstance: event.ReportingInstance,
	}
}
