package launchers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
	"lockstep.dev/lockstep/pkg/mpi/agent/server"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

var name = client.ObjectKey{Namespace: "team", Name: "demo"}

// secrets is an API server with nothing but the Secret of the job, which says so after the errors.
type secrets struct {
	client.Reader
	secret *corev1.Secret
	errors chan error
}

func (s secrets) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	select {
	case err := <-s.errors:
		return err
	default:
	}
	s.secret.DeepCopyInto(object.(*corev1.Secret)) //nolint:forcetypeassert // nothing else is read
	return nil
}

func secretOf(t *testing.T, draw byte) *corev1.Secret {
	t.Helper()
	secret, err := desired.SSHAuthSecret(job.Job{Name: name.Name, Namespace: name.Namespace, UID: "uid-new"}, bytes.NewReader(bytes.Repeat([]byte{draw}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// launcher is a real server with the key of the job. It answers with answer.
func launcher(t *testing.T, secret *corev1.Secret, answer server.Subsystem) (address string) {
	t.Helper()
	return launcherWithWarnings(t, secret, answer, nil)
}

// launcherWithWarnings is such a server with an answer to questions for warnings, nil for none.
func launcherWithWarnings(t *testing.T, secret *corev1.Secret, answer, warnings server.Subsystem) (address string) {
	t.Helper()
	subsystems := map[string]server.Subsystem{mpi.HostTableSubsystem: answer}
	if warnings != nil {
		subsystems[mpi.WarningsSubsystem] = warnings
	}
	key, err := identity.ParseKey(secret.Data[mpi.PrivateKeyKey])
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	serving := &server.Server{
		Key: key, Limits: server.DefaultLimits, Log: log.New(io.Discard, "", 0),
		Handlers: server.Handlers{Subsystems: subsystems},
	}
	ended := make(chan error, 1)
	go func() { ended <- serving.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// newPusher connects every address to one listener, after the first tries have failed.
func newPusher(t *testing.T, secret *corev1.Secret, address string, failures int) *Pusher {
	t.Helper()
	r := New(secrets{secret: secret})
	r.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		if failures--; failures >= 0 {
			return nil, errors.New("not yet")
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return r
}

func hasPassed(gate *observe.GateState) bool {
	return gate != nil && gate.Result != nil && gate.Result.Passed
}

func tableOf(launcher types.UID) *decide.HostTablePush {
	return &decide.HostTablePush{TrainJob: "uid-new", Launcher: launcher, Table: mpi.HostTable{Hosts: []mpi.HostAddress{
		{Name: "demo-launcher-0-0.demo", Address: "10.0.0.1"}, {Name: "demo-node-0-0.demo", Address: "10.0.0.2"},
	}}}
}

// A job that runs is followed: what its agents see go wrong comes, and that it is over.
func TestWarningsOfARunningJobAreFollowed(t *testing.T) {
	secret := secretOf(t, 7)
	stuck := []mpi.JobWarning{{Reason: mpi.ReasonLaunchStuck, Message: "all ranks have ended"}}
	asked := make(chan mpi.JobWarnings, 8)
	address := launcherWithWarnings(t, secret, func(context.Context, []byte) (any, error) {
		return mpi.GateResult{Passed: true}, nil
	}, func(ctx context.Context, request []byte) (any, error) {
		var known mpi.JobWarnings
		if err := json.Unmarshal(request, &known); err != nil {
			return nil, err
		}
		asked <- known
		switch len(asked) {
		case 1:
			return mpi.JobWarnings{Warnings: stuck}, nil
		case 2:
			return mpi.JobWarnings{}, nil
		}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	r := newPusher(t, secret, address, 0)
	r.Ensure(t.Context(), name, tableOf("launcher-0"))
	for i, want := range [][]mpi.JobWarning{nil, stuck, nil} {
		<-r.Changed
		gate := r.GateOf(name)
		if !hasPassed(gate) {
			t.Fatalf("%d: the gate is not known any more: %+v", i, gate)
		}
		if diff := cmp.Diff(want, gate.Warnings); diff != "" {
			t.Errorf("%d: %s", i, diff)
		}
	}
	if first, second := <-asked, <-asked; len(first.Warnings) != 0 || len(second.Warnings) != 1 {
		t.Errorf("asked with %v and then %v: a launcher answers once they differ", first, second)
	}
}

// An image that answers in place of the agent, at once and always the same, does not keep the controller busy.
func TestWarningsThatComeAtOnceCostLittle(t *testing.T) {
	secret := secretOf(t, 7)
	var asked atomic.Int32
	address := launcherWithWarnings(t, secret, func(context.Context, []byte) (any, error) {
		return mpi.GateResult{Passed: true}, nil
	}, func(context.Context, []byte) (any, error) {
		asked.Add(1)
		return mpi.JobWarnings{}, nil
	})
	r := newPusher(t, secret, address, 0)
	r.Ensure(t.Context(), name, tableOf("launcher-0"))
	<-r.Changed
	time.Sleep(askAgain / 2)
	if n := asked.Load(); n > 1 {
		t.Errorf("asked %d times in half of a pause", n)
	}
}

func TestRendezvousHandsOverTheTable(t *testing.T) {
	secret := secretOf(t, 7)
	var got mpi.HostTable
	address := launcher(t, secret, func(_ context.Context, request []byte) (any, error) {
		return mpi.GateResult{Passed: true, Seconds: 0.25}, json.Unmarshal(request, &got)
	})
	r := newPusher(t, secret, address, 3)
	r.Ensure(t.Context(), name, tableOf("pod-1"))
	changed := <-r.Changed
	if got := client.ObjectKeyFromObject(changed.Object); got != name {
		t.Errorf("want news about %v, got %v", name, got)
	}
	want := &observe.GateState{Launcher: "pod-1", Result: &mpi.GateResult{Passed: true, Seconds: 0.25}}
	if diff := cmp.Diff(want, r.GateOf(name)); diff != "" {
		t.Errorf("the launcher's answer: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(tableOf("pod-1").Table, got); diff != "" {
		t.Errorf("the launcher's table: -want, +got:\n%s", diff)
	}

	r.Ensure(t.Context(), name, nil)
	if r.GateOf(name) == nil {
		t.Error("the answer stays when the launcher is over, or the status would flap before the JobSet ends")
	}
	r.Forget(name)
	if r.GateOf(name) != nil {
		t.Error("nothing is kept about a job that is gone")
	}
}

func TestRendezvousBeginsAnewWithAnotherLauncher(t *testing.T) {
	secret := secretOf(t, 7)
	pushes := make(chan struct{}, 10)
	address := launcher(t, secret, func(context.Context, []byte) (any, error) {
		pushes <- struct{}{}
		return mpi.GateResult{Passed: true}, nil
	})
	r := newPusher(t, secret, address, 0)
	for range 3 {
		r.Ensure(t.Context(), name, tableOf("pod-1"))
	}
	<-r.Changed
	r.Ensure(t.Context(), name, tableOf("pod-2"))
	<-r.Changed
	if got := r.GateOf(name); got.Launcher != "pod-2" {
		t.Errorf("want the answer of the second launcher, got %+v", got)
	}
	if len(pushes) != 2 {
		t.Errorf("each launcher is told once, got %d pushes", len(pushes))
	}
}

func TestRendezvousEndsWhileTheLauncherIsSilent(t *testing.T) {
	secret := secretOf(t, 7)
	asked, ended := make(chan struct{}), make(chan struct{})
	address := launcher(t, secret, func(ctx context.Context, _ []byte) (any, error) {
		close(asked)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	})
	r := newPusher(t, secret, address, 0)
	r.Ensure(t.Context(), name, tableOf("pod-1"))
	<-asked
	r.Forget(name)
	<-ended
}

func TestRendezvousReportsARefusal(t *testing.T) {
	secret := secretOf(t, 7)
	address := launcher(t, secret, func(context.Context, []byte) (any, error) {
		return nil, errors.New("the table lacks demo-node-0-1")
	})
	r := newPusher(t, secret, address, 0)
	r.Ensure(t.Context(), name, tableOf("pod-1"))
	<-r.Changed
	got := r.GateOf(name)
	if got == nil || got.Result != nil || !got.GaveUp || !bytes.Contains([]byte(got.Error), []byte("the table lacks demo-node-0-1")) {
		t.Errorf("want the launcher's words, got %+v", got)
	}
}

// An API server that is away for a moment costs a launcher no more than that moment.
func TestRendezvousReadsTheKeyAgain(t *testing.T) {
	secret := secretOf(t, 7)
	address := launcher(t, secret, func(context.Context, []byte) (any, error) { return mpi.GateResult{Passed: true}, nil })
	r := newPusher(t, secret, address, 0)
	failures := make(chan error, 3)
	failures <- apierrors.NewTooManyRequests("slow down", 1)
	failures <- apierrors.NewServiceUnavailable("away")
	failures <- apierrors.NewForbidden(corev1.Resource("secrets"), "demo", errors.New("the binding comes in a moment"))
	r.live = secrets{secret: secret, errors: failures}
	r.Ensure(t.Context(), name, tableOf("pod-1"))
	<-r.Changed
	if got := r.GateOf(name); !hasPassed(got) {
		t.Errorf("the key was there, got %+v", got)
	}
}

func TestRendezvousEndsWithoutAKey(t *testing.T) {
	missing := make(chan error, 1)
	missing <- apierrors.NewNotFound(corev1.Resource("secrets"), "demo-mpi-ssh-auth")
	broken := secretOf(t, 7)
	broken.Data[mpi.PrivateKeyKey] = []byte("no key")
	squatted := secretOf(t, 7)
	squatted.OwnerReferences = nil
	otherGroup := secretOf(t, 7)
	otherGroup.OwnerReferences[0].APIVersion = "squat.test/v1"
	const foreign = "Secret `demo-mpi-ssh-auth` does not belong to the TrainJob"
	for what, tc := range map[string]struct {
		live   secrets
		reason string
	}{
		"Missing":    {secrets{errors: missing}, `read the key of the job: secrets "demo-mpi-ssh-auth" not found`},
		"Broken":     {secrets{secret: broken}, "parse the key of the job"},
		"Squatted":   {secrets{secret: squatted}, foreign},
		"OtherGroup": {secrets{secret: otherGroup}, foreign},
	} {
		r := newPusher(t, broken, "", 0)
		r.live = tc.live
		r.Ensure(t.Context(), name, tableOf("pod-1"))
		<-r.Changed
		if got := r.GateOf(name); !got.GaveUp || !strings.Contains(got.Error, tc.reason) {
			t.Errorf("%s: no second try helps, want %q, got %+v", what, tc.reason, got)
		}
	}
}

// replaced is an API server whose Secret is another one at each read, until the last.
type replaced struct {
	client.Reader
	reads []secrets
}

func (r *replaced) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	now := r.reads[0]
	if len(r.reads) > 1 {
		r.reads = r.reads[1:]
	}
	return now.Get(ctx, key, object, opts...)
}

// Somebody may know the key of a TrainJob that is gone, or that never was: names can be foreseen, and UIDs cannot.
func TestRendezvousUsesNoKeyOfAnotherTrainJob(t *testing.T) {
	own, known, gone := secretOf(t, 7), secretOf(t, 9), make(chan error, 1)
	known.OwnerReferences[0].UID = "made by hand"
	gone <- apierrors.NewNotFound(corev1.Resource("secrets"), known.Name)
	address := launcher(t, own, func(context.Context, []byte) (any, error) { return mpi.GateResult{Passed: true}, nil })
	r := newPusher(t, own, address, 0)
	r.live = &replaced{reads: []secrets{{secret: known}, {errors: gone}, {secret: own}}}
	r.Ensure(t.Context(), name, tableOf("pod-1"))
	<-r.Changed
	if got := r.GateOf(name); !hasPassed(got) {
		t.Errorf("the key of the job was there in the end, got %+v", got)
	}
}

func TestRendezvousOutlivesThePassThatBeganIt(t *testing.T) {
	secret := secretOf(t, 7)
	address := launcher(t, secret, func(context.Context, []byte) (any, error) { return mpi.GateResult{Passed: true}, nil })
	r := newPusher(t, secret, address, 2)
	pass, over := context.WithCancel(t.Context())
	r.Ensure(pass, name, tableOf("pod-1"))
	over()
	<-r.Changed
	if r.GateOf(name).Result == nil {
		t.Error("the session ended with the pass")
	}
}

func TestRendezvousMeetsNobodyAfterTheEnd(t *testing.T) {
	r := New(secrets{secret: secretOf(t, 7)})
	r.dial = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("nobody") }
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if err := r.Start(ctx); err != nil {
		t.Fatal(err)
	}
	r.Ensure(t.Context(), name, tableOf("pod-1"))
	if len(r.sessions) != 0 {
		t.Error("a session began after the manager had ended")
	}
}

func upTableOf(launcher types.UID) *decide.HostTablePush {
	with := tableOf(launcher)
	with.Table.Up = true
	return with
}

func TestRendezvousPassesOnDoubtsAndThenTheEnd(t *testing.T) {
	secret := secretOf(t, 7)
	doubts := mpi.GateResult{Waiting: true, Failures: []mpi.NodeFailure{{Name: "demo-node-0-0.demo", Error: "connection refused"}}}
	answers := make(chan mpi.GateResult, 2)
	answers <- doubts
	address := launcher(t, secret, func(context.Context, []byte) (any, error) { return <-answers, nil })
	r := newPusher(t, secret, address, 0)
	r.Ensure(t.Context(), name, upTableOf("pod-1"))
	<-r.Changed
	if diff := cmp.Diff(&observe.GateState{Launcher: "pod-1", Result: &doubts}, r.GateOf(name)); diff != "" {
		t.Errorf("the launcher's doubts: -want, +got:\n%s", diff)
	}
	answers <- mpi.GateResult{Passed: true}
	<-r.Changed
	if got := r.GateOf(name); !hasPassed(got) {
		t.Errorf("the gate passed after all, got %+v", got)
	}
}

// A launcher whose gate takes long is asked again, without a word to its user.
func TestRendezvousAsksALauncherThatStillWaitsAgain(t *testing.T) {
	secret := secretOf(t, 7)
	answers := make(chan mpi.GateResult, 2)
	answers <- mpi.GateResult{Waiting: true}
	answers <- mpi.GateResult{Passed: true}
	address := launcher(t, secret, func(context.Context, []byte) (any, error) { return <-answers, nil })
	r := newPusher(t, secret, address, 0)
	r.Ensure(t.Context(), name, tableOf("pod-1"))
	<-r.Changed
	if got := r.GateOf(name); !hasPassed(got) {
		t.Errorf("the first word about the gate must be that it passed, got %+v", got)
	}
}

// Whatever a launcher answers, not much of it comes into the controller.
func TestRendezvousTakesNoLargeAnswer(t *testing.T) {
	secret := secretOf(t, 7)
	address := launcher(t, secret, func(context.Context, []byte) (any, error) {
		return mpi.GateResult{Failures: []mpi.NodeFailure{{Error: strings.Repeat("x", 4<<20)}}}, nil
	})
	r := newPusher(t, secret, address, 0)
	_, err := r.pushOnce(t.Context(), name, &launcherSession{target: *tableOf("pod-1")})
	if err == nil || !strings.Contains(err.Error(), "larger than 64 KiB") || len(err.Error()) > 1000 {
		t.Errorf("got %v", err)
	}
}

func TestRendezvousTellsAWaitingLauncherThatItsNodesAreUp(t *testing.T) {
	secret := secretOf(t, 7)
	ups := make(chan bool, 10)
	address := launcher(t, secret, func(ctx context.Context, request []byte) (any, error) {
		var table mpi.HostTable
		if err := json.Unmarshal(request, &table); err != nil {
			return nil, err
		}
		ups <- table.Up
		if !table.Up {
			<-ctx.Done() // the gate waits
			return nil, ctx.Err()
		}
		return mpi.GateResult{Passed: true}, nil
	})
	r := newPusher(t, secret, address, 0)
	r.Ensure(t.Context(), name, tableOf("pod-1"))
	if up := <-ups; up {
		t.Error("the nodes were not up yet")
	}
	r.Ensure(t.Context(), name, upTableOf("pod-1"))
	if up := <-ups; !up {
		t.Error("the launcher must hear that the nodes are up")
	}
	<-r.Changed
	for _, with := range []*decide.HostTablePush{tableOf("pod-1"), upTableOf("pod-1")} {
		r.Ensure(t.Context(), name, with)
	}
	if got := r.GateOf(name); len(ups) != 0 || !hasPassed(got) {
		t.Errorf("a launcher that has passed is left alone: %d pushes, %+v", len(ups), got)
	}
}

func TestRendezvousTellsNobodyThatHasPassedThatItsNodesAreUp(t *testing.T) {
	secret := secretOf(t, 7)
	pushes := make(chan struct{}, 10)
	address := launcher(t, secret, func(context.Context, []byte) (any, error) {
		pushes <- struct{}{}
		return mpi.GateResult{Passed: true}, nil
	})
	r := newPusher(t, secret, address, 0)
	r.Ensure(t.Context(), name, tableOf("pod-1"))
	<-r.Changed
	r.Ensure(t.Context(), name, upTableOf("pod-1"))
	if got := r.GateOf(name); !hasPassed(got) || len(pushes) != 1 {
		t.Errorf("%+v after %d pushes", got, len(pushes))
	}
}
