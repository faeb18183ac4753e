package reconciler

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"sync"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"lockstep.dev/lockstep/pkg/mpi"
	agent "lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

const (
	// A pod has its address before its container runs. The wait between two tries is a twentieth of the time that has passed,
	// so that a launcher waits at most that much longer, and one that never answers costs little.
	firstTry = 50 * time.Millisecond
	lastTry  = 2 * time.Second
	patience = 20
	// dialTimeout is for networks that drop what a policy does not admit yet.
	dialTimeout = time.Second
	// complainAfter is when a launcher out of reach is reported first, and the pause doubles from then on.
	complainAfter = 10 * time.Second
	complainLast  = 5 * time.Minute
	// askAgain is when a launcher that still waits is asked again.
	askAgain = time.Second
)

// rendezvous hands launchers the addresses of their nodes, one goroutine per job, and keeps their answers. A launcher
// that has answered before gives the same answer again, so a restarted controller learns the truth.
type rendezvous struct {
	live client.Reader
	dial agent.Dial
	// changed tells the controller about answers.
	changed chan event.GenericEvent

	mu       sync.Mutex
	meetings map[client.ObjectKey]*meeting
	closed   bool
	running  sync.WaitGroup
}

// meeting is the business with one launcher.
type meeting struct {
	with   job.Rendezvous
	cancel context.CancelFunc
	gate   job.Gate
	// key is that of the job, nil until it was read, and stale says that one of an earlier job was there; doubted says that the
	// launcher's doubts were reported. Only hold touches them.
	key     *identity.Key
	stale   bool
	doubted bool
}

// covers says whether the launcher knows what there is to tell. That its nodes are up matters only while it waits for them.
func (m *meeting) covers(with job.Rendezvous) bool {
	same := m.with.Launcher == with.Launcher && reflect.DeepEqual(m.with.Table.Hosts, with.Table.Hosts)
	over := m.gate.Result != nil && !m.gate.Result.Waiting || m.gate.GaveUp
	return same && (over || m.with.Table.Up || !with.Table.Up)
}

func newRendezvous(live client.Reader) *rendezvous {
	return &rendezvous{
		live:     live,
		dial:     (&net.Dialer{Timeout: dialTimeout}).DialContext,
		changed:  make(chan event.GenericEvent),
		meetings: map[client.ObjectKey]*meeting{},
	}
}

// Start ends all meetings with the manager.
func (r *rendezvous) Start(ctx context.Context) error {
	<-ctx.Done()
	r.mu.Lock()
	r.closed = true
	for _, m := range r.meetings {
		m.cancel()
	}
	r.mu.Unlock()
	r.running.Wait()
	return nil
}

// meet begins a meeting unless it is already under way. Nil ends it; its answer stays until forget.
func (r *rendezvous) meet(ctx context.Context, name client.ObjectKey, with *job.Rendezvous) {
	r.mu.Lock()
	defer r.mu.Unlock()
	current := r.meetings[name]
	if current != nil && with != nil && current.covers(*with) {
		return
	}
	if current != nil {
		current.cancel()
	}
	if with == nil || r.closed {
		return
	}
	// The meeting outlives the pass that begins it.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	m := &meeting{with: *with, cancel: cancel, gate: job.Gate{Launcher: with.Launcher}}
	if current != nil && current.with.Launcher == with.Launcher {
		m.gate.Error = current.gate.Error // still true, until the next attempt
	}
	r.meetings[name] = m
	r.running.Go(func() { r.hold(ctx, name, m) })
}

func (r *rendezvous) forget(name client.ObjectKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.meetings[name]; m != nil {
		m.cancel()
		delete(r.meetings, name)
	}
}

// gate returns what the launcher said, or nil while it said nothing.
func (r *rendezvous) gate(name client.ObjectKey) *job.Gate {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.meetings[name]
	if m == nil || m.gate.Result == nil && m.gate.Error == "" {
		return nil
	}
	gate := m.gate
	return &gate
}

// hold pushes the table until the launcher answers.
func (r *rendezvous) hold(ctx context.Context, name client.ObjectKey, m *meeting) {
	defer m.cancel()
	begin, complained, again := time.Now(), time.Now(), complainAfter
	for ctx.Err() == nil {
		result, err := r.push(ctx, name, m)
		switch {
		case err == nil && result.Waiting && len(result.Failures) == 0:
			complained, again = time.Now(), complainAfter // it is there
			sleep(ctx, askAgain)
		case err == nil && result.Waiting:
			r.doubt(ctx, name, m, result)
		case err == nil:
			r.tell(ctx, name, m, job.Gate{Launcher: m.with.Launcher, Result: &result})
			return
		case hopeless(err):
			r.complain(ctx, name, m, err, true)
			return
		case time.Since(complained) > again:
			complained, again = time.Now(), min(2*again, complainLast)
			r.complain(ctx, name, m, err, false)
		}
		pause(ctx, time.Since(begin))
	}
}

// push hands the table over once. The key is read before the first time, as often as that takes.
func (r *rendezvous) push(ctx context.Context, name client.ObjectKey, m *meeting) (mpi.GateResult, error) {
	if m.key == nil {
		key, err := r.key(ctx, name, m.with.TrainJob)
		m.stale = m.stale || errors.Is(err, errStaleKey)
		if m.stale && apierrors.IsNotFound(err) {
			err = errStaleKey // gone now, and the new one comes
		}
		if err != nil {
			return mpi.GateResult{}, err
		}
		m.key = &key
	}
	return agent.Push(ctx, r.dial, *m.key, m.with.Table)
}

// hopeless says whether no second try helps: the launcher refuses, or there is no key, or none that can be used.
func hopeless(err error) bool {
	var refused *agent.RefusedError
	var useless uselessKeyError
	return errors.As(err, &refused) || errors.As(err, &useless) || apierrors.IsNotFound(err)
}

// doubt reports what the launcher thinks is in the way, once: how the gate ends says it again, and of all nodes.
func (r *rendezvous) doubt(ctx context.Context, name client.ObjectKey, m *meeting, result mpi.GateResult) {
	if !m.doubted {
		m.doubted = true
		r.tell(ctx, name, m, job.Gate{Launcher: m.with.Launcher, Result: &result})
	}
	sleep(ctx, askAgain)
}

// complain reports what went wrong; whether a user gets to see it is decided by the state of the launcher.
func (r *rendezvous) complain(ctx context.Context, name client.ObjectKey, m *meeting, err error, gaveUp bool) {
	if ctx.Err() != nil {
		return
	}
	ctrl.LoggerFrom(ctx).V(1).Info("launcher out of reach", "reason", err.Error(), "gaveUp", gaveUp)
	r.tell(ctx, name, m, job.Gate{Launcher: m.with.Launcher, Error: reason(err), GaveUp: gaveUp})
}

func reason(err error) string {
	var failure *agent.Failure
	if errors.As(err, &failure) {
		return fmt.Sprintf("%s; %s", failure, failure.Cause.Remedy())
	}
	return err.Error()
}

func (r *rendezvous) tell(ctx context.Context, name client.ObjectKey, m *meeting, gate job.Gate) {
	r.mu.Lock()
	m.gate = gate
	r.mu.Unlock()
	trainJob := &trainer.TrainJob{}
	trainJob.Namespace, trainJob.Name = name.Namespace, name.Name
	select {
	case r.changed <- event.GenericEvent{Object: trainJob}:
	case <-ctx.Done():
	}
}

// key reads the private key of the job. It is kept nowhere else than in the meeting.
func (r *rendezvous) key(ctx context.Context, name client.ObjectKey, trainJob types.UID) (identity.Key, error) {
	var secret corev1.Secret
	secretName := client.ObjectKey{Namespace: name.Namespace, Name: mpi.SSHAuthSecretName(name.Name)}
	if err := r.live.Get(ctx, secretName, &secret); err != nil {
		return identity.Key{}, fmt.Errorf("read the key of the job: %w", err)
	}
	switch owner := metav1.GetControllerOf(&secret); {
	// Kubeflow Trainer would use it; whoever made it can pretend to be the launcher.
	case owner == nil || !isTrainJob(*owner) || owner.Name != name.Name:
		return identity.Key{}, uselessKeyError{fmt.Errorf("Secret `%s` does not belong to the TrainJob, and the controller uses no key that others may have", secret.Name)}
	case owner.UID != trainJob:
		return identity.Key{}, errStaleKey
	}
	key, err := identity.Parse(secret.Data[mpi.PrivateKeyKey])
	if err != nil {
		return identity.Key{}, uselessKeyError{err}
	}
	return key, nil
}

func isTrainJob(owner metav1.OwnerReference) bool {
	version, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && version.Group == trainer.GroupVersion.Group && owner.Kind == trainer.TrainJobKind
}

// errStaleKey: a reference can be written by hand, but not the UID of a TrainJob that is not there yet. The garbage collector takes
// away what belongs to a UID that is not there any more, or never was, and Kubeflow Trainer makes a key then.
var errStaleKey = errors.New("the key under the name of the job belongs to an earlier TrainJob of that name; it goes in a moment, and the controller uses no key that others may have")

// uselessKeyError says why a key that is there is none, or none to use.
type uselessKeyError struct{ error }

func pause(ctx context.Context, since time.Duration) {
	sleep(ctx, min(max(since/patience, firstTry), lastTry))
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
