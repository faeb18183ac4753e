package launchers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	agent "lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
	"lockstep.dev/lockstep/pkg/mpi/agent/sleep"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

const (
	// A pod has its address before its container runs. The wait between two tries is a twentieth of the time that has passed,
	// so that a launcher waits at most that much longer, and one that never answers costs little.
	firstTry   = 50 * time.Millisecond
	lastTry    = 2 * time.Second
	pauseShare = 20
	// dialTimeout is for networks that drop what a policy does not admit yet.
	dialTimeout = time.Second
	// complainAfter is when a launcher out of reach is reported first, and the pause doubles from then on.
	complainAfter = 10 * time.Second
	complainLast  = 5 * time.Minute
	// askAgain is when a launcher that still waits is asked again.
	askAgain = time.Second
	// lastWarningsPause is the longest pause before a launcher out of reach is asked for warnings again.
	lastWarningsPause = time.Minute
	// warningChanges is how often warnings change before each change costs the longest pause.
	warningChanges = 8
)

// Pusher hands launchers the addresses of their nodes, one goroutine per job, and keeps their answers. A launcher
// that has answered before gives the same answer again, so a restarted controller learns the truth.
type Pusher struct {
	live client.Reader
	dial agent.Dial
	// changed tells the controller about answers.
	Changed chan event.GenericEvent

	mu       sync.Mutex
	sessions map[client.ObjectKey]*launcherSession
	closed   bool
	running  sync.WaitGroup
}

// launcherSession is the push of a host table to one launcher, until it has answered.
type launcherSession struct {
	target decide.HostTablePush
	cancel context.CancelFunc
	gate   observe.GateState
	// key is that of the job, nil until it was read, and stale says that one of an earlier job was there; doubted says that the
	// launcher's doubts were reported. Only hold touches them.
	key     *identity.Key
	stale   bool
	doubted bool
}

// knowsTable reports whether the launcher knows what there is to tell. That its nodes are up matters only while it waits for them.
func (m *launcherSession) knowsTable(with decide.HostTablePush) bool {
	same := m.target.Launcher == with.Launcher && reflect.DeepEqual(m.target.Table.Hosts, with.Table.Hosts)
	over := m.gate.Result != nil && !m.gate.Result.Waiting || m.gate.GaveUp
	return same && (over || m.target.Table.Up || !with.Table.Up)
}

// New returns a Pusher without sessions. Live reads the keys of jobs.
func New(live client.Reader) *Pusher {
	return &Pusher{
		live:     live,
		dial:     (&net.Dialer{Timeout: dialTimeout}).DialContext,
		Changed:  make(chan event.GenericEvent),
		sessions: map[client.ObjectKey]*launcherSession{},
	}
}

// Start ends all sessions with the manager.
func (p *Pusher) Start(ctx context.Context) error {
	<-ctx.Done()
	p.mu.Lock()
	p.closed = true
	for _, m := range p.sessions {
		m.cancel()
	}
	p.mu.Unlock()
	p.running.Wait()
	return nil
}

// Ensure begins a session unless it is already under way. Nil ends it; its answer stays until forget.
func (p *Pusher) Ensure(ctx context.Context, name client.ObjectKey, with *decide.HostTablePush) {
	p.mu.Lock()
	defer p.mu.Unlock()
	current := p.sessions[name]
	if current != nil && with != nil && current.knowsTable(*with) {
		return
	}
	if current != nil {
		current.cancel()
	}
	if with == nil || p.closed {
		return
	}
	// The session outlives the pass that begins it.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	m := &launcherSession{target: *with, cancel: cancel, gate: observe.GateState{Launcher: with.Launcher}}
	if current != nil && current.target.Launcher == with.Launcher {
		m.gate.Error = current.gate.Error // still true, until the next attempt
	}
	p.sessions[name] = m
	p.running.Go(func() { p.pushUntilAnswered(ctx, name, m) })
}

// Forget ends the session of a job, and drops its answer.
func (p *Pusher) Forget(name client.ObjectKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.sessions[name]; m != nil {
		m.cancel()
		delete(p.sessions, name)
	}
}

// GateOf returns what the launcher said, or nil while it said nothing.
func (p *Pusher) GateOf(name client.ObjectKey) *observe.GateState {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.sessions[name]
	if m == nil || m.gate.Result == nil && m.gate.Error == "" {
		return nil
	}
	gate := m.gate
	return &gate
}

// pushUntilAnswered pushes the table until the launcher answers.
func (p *Pusher) pushUntilAnswered(ctx context.Context, name client.ObjectKey, m *launcherSession) {
	defer m.cancel()
	begin, complained, again := time.Now(), time.Now(), complainAfter
	for ctx.Err() == nil {
		result, err := p.pushOnce(ctx, name, m)
		switch {
		case err == nil && result.Waiting && len(result.Failures) == 0:
			complained, again = time.Now(), complainAfter // it is there
			sleep.For(ctx, askAgain)
		case err == nil && result.Waiting:
			p.reportDoubts(ctx, name, m, result)
		case err == nil:
			p.storeGate(ctx, name, m, observe.GateState{Launcher: m.target.Launcher, Result: &result})
			p.followWarnings(ctx, name, m, result)
			return
		case isFinalPushFailure(err):
			p.reportFailure(ctx, name, m, err, true)
			return
		case time.Since(complained) > again:
			complained, again = time.Now(), min(2*again, complainLast)
			p.reportFailure(ctx, name, m, err, false)
		}
		pauseBeforeRetry(ctx, time.Since(begin))
	}
}

// followWarnings asks the launcher for warnings, and for progress at its pace, until the session ends. Pauses double
// while the launcher is out of reach; at the longest, its warnings are dropped. Any other answer costs a pause too, a
// longer one after each change: the image of a user may answer instead of the agent.
func (p *Pusher) followWarnings(ctx context.Context, name client.ObjectKey, m *launcherSession, gate mpi.GateResult) {
	var known mpi.JobWarnings
	var pace trainingPace
	store := func(now mpi.JobWarnings) {
		known = now
		p.storeGate(ctx, name, m, observe.GateState{
			Launcher: m.target.Launcher, Result: &gate, Warnings: now.Warnings, Training: now.Training,
		})
	}
	for pause, changes := askAgain, 0; gate.Passed && ctx.Err() == nil; sleep.For(ctx, pause) {
		asked := time.Now()
		wait := pace.delay(asked)
		now, err := agent.AskWarnings(ctx, p.dial, *m.key, m.target.Table.Hosts[0], known, wait)
		var refused *agent.RefusedError
		switch {
		case errors.As(err, &refused):
			return
		case err != nil:
			if pause = min(2*pause, lastWarningsPause); pause == lastWarningsPause && len(known.Warnings) > 0 {
				store(mpi.JobWarnings{Training: known.Training})
			}
		case reflect.DeepEqual(now, known):
			pause = askAgain
		case reflect.DeepEqual(now.Warnings, known.Warnings) && time.Since(asked) >= wait: // progress alone, and not too early
			pace.note(time.Now())
			store(now)
			pause = askAgain
		default:
			store(now)
			changes = min(changes+1, warningChanges)
			pause = min(time.Duration(changes*changes)*askAgain, lastWarningsPause)
		}
	}
}

// pushOnce hands the table over once. The key is read before the first time, as often as that takes.
func (p *Pusher) pushOnce(ctx context.Context, name client.ObjectKey, m *launcherSession) (mpi.GateResult, error) {
	if m.key == nil {
		key, err := p.readKey(ctx, name, m.target.TrainJob)
		m.stale = m.stale || errors.Is(err, errStaleKey)
		if m.stale && apierrors.IsNotFound(err) {
			err = errStaleKey // gone now, and the new one comes
		}
		if err != nil {
			return mpi.GateResult{}, err
		}
		m.key = &key
	}
	return agent.PushHostTable(ctx, p.dial, *m.key, m.target.Table)
}

// isFinalPushFailure reports whether no second try helps: the launcher refuses, or there is no key, or none that can be used.
func isFinalPushFailure(err error) bool {
	var refused *agent.RefusedError
	var useless uselessKeyError
	return errors.As(err, &refused) || errors.As(err, &useless) || apierrors.IsNotFound(err)
}

// reportDoubts reports what the launcher thinks is in the way, once: how the gate ends says it again, and of all nodes.
func (p *Pusher) reportDoubts(ctx context.Context, name client.ObjectKey, m *launcherSession, result mpi.GateResult) {
	if !m.doubted {
		m.doubted = true
		p.storeGate(ctx, name, m, observe.GateState{Launcher: m.target.Launcher, Result: &result})
	}
	sleep.For(ctx, askAgain)
}

// reportFailure reports what went wrong; whether a user gets to see it is decided by the state of the launcher.
func (p *Pusher) reportFailure(ctx context.Context, name client.ObjectKey, m *launcherSession, err error, gaveUp bool) {
	if ctx.Err() != nil {
		return
	}
	ctrl.LoggerFrom(ctx).V(1).Info("launcher out of reach", "reason", err.Error(), "gaveUp", gaveUp)
	p.storeGate(ctx, name, m, observe.GateState{Launcher: m.target.Launcher, Error: describePushFailure(err), GaveUp: gaveUp})
}

func describePushFailure(err error) string {
	var failure *agent.Failure
	if errors.As(err, &failure) {
		return fmt.Sprintf("%s; %s", failure, failure.Cause.Remedy())
	}
	return err.Error()
}

func (p *Pusher) storeGate(ctx context.Context, name client.ObjectKey, m *launcherSession, gate observe.GateState) {
	p.mu.Lock()
	m.gate = gate
	p.mu.Unlock()
	trainJob := &trainer.TrainJob{}
	trainJob.Namespace, trainJob.Name = name.Namespace, name.Name
	select {
	case p.Changed <- event.GenericEvent{Object: trainJob}:
	case <-ctx.Done():
	}
}

// readKey reads the private key of the job. It is kept nowhere else than in the session.
func (p *Pusher) readKey(ctx context.Context, name client.ObjectKey, trainJob types.UID) (identity.Key, error) {
	var secret corev1.Secret
	secretName := client.ObjectKey{Namespace: name.Namespace, Name: mpi.SSHAuthSecretName(name.Name)}
	if err := p.live.Get(ctx, secretName, &secret); err != nil {
		return identity.Key{}, fmt.Errorf("read the key of the job: %w", err)
	}
	switch owner := metav1.GetControllerOf(&secret); {
	// Kubeflow Trainer would use it; whoever made it can pretend to be the launcher.
	case owner == nil || !isTrainJob(*owner) || owner.Name != name.Name:
		return identity.Key{}, uselessKeyError{fmt.Errorf("Secret `%s` does not belong to the TrainJob, and the controller uses no key that others may have", secret.Name)}
	case owner.UID != trainJob:
		return identity.Key{}, errStaleKey
	}
	key, err := identity.ParseKey(secret.Data[mpi.PrivateKeyKey])
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

func pauseBeforeRetry(ctx context.Context, since time.Duration) {
	sleep.For(ctx, min(max(since/pauseShare, firstTry), lastTry))
}
