package main

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// TestWait: the exit code says what became of the job.
func TestWait(t *testing.T) {
	complete := ended(trainer.TrainJobComplete, "Completed", "done")
	failed := ended(trainer.TrainJobFailed, "JobsFailed", "said by JobSet")
	for name, c := range map[string]struct {
		job  *trainer.TrainJob
		args []string
		code int
		want string
	}{
		"complete":             {jobOf("a", complete), nil, 0, "a: Complete"},
		"failed":               {jobOf("a", failed), nil, exitJobFailed, "a failed: JobsFailed: said by JobSet"},
		"failed, but ended":    {jobOf("a", failed), []string{"--for", "ended"}, 0, "a: Failed"},
		"complete, and so ran": {jobOf("a", complete), []string{"--for", "running"}, 0, "a: Complete"},
		"too late":             {jobOf("a"), []string{"--timeout", "50ms"}, exitTimeout, "after 50ms a is Creating, not complete"},
		"not there":            {jobOf("b"), []string{"--timeout", "5s"}, 1, "there is no TrainJob `a`"},
	} {
		got := runWith(t, []client.Object{c.job}, interceptor.Funcs{}, append([]string{"wait", "a"}, c.args...)...)
		if got.code != c.code || !strings.Contains(got.out+got.errOut, c.want) {
			t.Errorf("%s: ended with %d, want %d and `%s`: %s%s", name, got.code, c.code, c.want, got.out, got.errOut)
		}
	}
}

// TestWaitShowsTheCause: a user, or a pipeline, sees what keeps a job, also without a terminal, and may end at once.
func TestWaitShowsTheCause(t *testing.T) {
	const message = "there is no PersistentVolumeClaim `data`. What to do: make it"
	const cause = "VolumeClaimMissing: " + message
	held := jobOf("a", func(trainJob *trainer.TrainJob) {
		trainJob.Labels = map[string]string{mpi.TrainJobLabel: "a"}
		trainJob.Status.Conditions = []metav1.Condition{{
			Type: job.Created, Status: metav1.ConditionFalse, Reason: "VolumeClaimMissing", Message: message,
		}}
	})
	for flags, want := range map[string]struct {
		code int
		text string
	}{
		"--timeout 50ms": {exitTimeout, "a: " + cause + "\n"},
		"--fail-fast": {exitJobFailed, "a cannot run: " + cause +
			"\nIt waits until that is mended; `kubectl mpi delete a --namespace team` ends it\n"},
	} {
		args := append([]string{"wait", "a"}, strings.Fields(flags)...)
		got := runWith(t, []client.Object{held}, interceptor.Funcs{}, args...)
		if got.code != want.code || !strings.Contains(got.errOut, want.text) || strings.Count(got.errOut, cause) > 2 {
			t.Errorf("%s: ended with %d: %s", flags, got.code, got.errOut)
		}
	}
}

// TestWaitSeesTheEnd: a wait goes on after its watch was lost and the API server was away, and asks nothing while nothing happens.
func TestWaitSeesTheEnd(t *testing.T) {
	var watches, reads atomic.Int32
	calls := interceptor.Funcs{
		Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, _ ...client.ListOption) (watch.Interface, error) {
			switch watches.Add(1) {
			case 1: // lost at once
				lost := watch.NewFake()
				go lost.Stop()
				return lost, nil
			case 2:
				return nil, apierrors.NewServiceUnavailable("starting")
			}
			return c.Watch(ctx, list) // the fake knows no field selectors for a watch
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if _, is := object.(*trainer.TrainJob); is {
				reads.Add(1)
			}
			return c.Get(ctx, key, object, options...)
		},
	}
	job := jobOf("a")
	c := clientOf(t, []client.Object{job}, calls)
	go func() {
		for watches.Load() < 3 {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(300 * time.Millisecond)
		changed := &trainer.TrainJob{}
		if err := c.Get(context.Background(), client.ObjectKeyFromObject(job), changed); err != nil {
			t.Error(err)
		}
		ended(trainer.TrainJobComplete, "Completed", "done")(changed)
		if err := c.Update(context.Background(), changed); err != nil {
			t.Error(err)
		}
	}()
	got := runFor(t, t.Context(), c, "wait", "a", "--timeout", "20s")
	if got.code != 0 || !strings.Contains(got.out, "a: Complete") {
		t.Errorf("it ended with %d: %s%s", got.code, got.out, got.errOut)
	}
	if n := reads.Load(); n > 5 { // one is the test's
		t.Errorf("the job was read %d times", n)
	}
}

// TestInterrupted: Ctrl-C leaves the job, and says how to come back.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	got := runFor(t, ctx, clientOf(t, []client.Object{jobOf("a")}, interceptor.Funcs{}), "wait", "a")
	if got.code != exitInterrupted || !strings.Contains(got.errOut, "the job goes on; `kubectl mpi wait a --for=complete --namespace team` waits") {
		t.Errorf("it ended with %d: %s%s", got.code, got.out, got.errOut)
	}
}

// TestInterruptedDelete: who stops in the middle is told so, and the rest stays.
func TestInterruptedDelete(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := clientOf(t, []client.Object{jobOf("a"), jobOf("b"), jobOf("c")}, interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, _ ...client.DeleteOption) error {
			defer cancel()
			return c.Delete(ctx, object)
		},
	})
	got := runFor(t, ctx, c, "delete", "a", "b", "c")
	if got.code != exitInterrupted || got.errOut != "error: interrupted\n" || !strings.Contains(got.out, "trainjob/a deleted") {
		t.Errorf("it ended with %d: %s%s", got.code, got.out, got.errOut)
	}
	if left := runFor(t, t.Context(), c, "list", "-o", "name"); left.out != "trainjob/b\ntrainjob/c\n" {
		t.Error(left.out)
	}
}

// TestSuspendAndDelete change what they say they change, and only that.
func TestSuspendAndDelete(t *testing.T) {
	job := jobOf("a")
	queued := jobOf("q", func(t *trainer.TrainJob) { t.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "lockstep"} })
	over := jobOf("z", ended(trainer.TrainJobComplete, "Completed", "done"))
	c := clientOf(t, []client.Object{job, queued, over}, interceptor.Funcs{})
	for _, step := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"suspend", "a"}, 0, "trainjob/a suspended"},
		{[]string{"suspend", "a"}, 0, "is suspended already"},
		{[]string{"get", "a", "-o", "jsonpath={.phase}"}, 0, "Suspended"},
		{[]string{"why", "a"}, 0, "`kubectl mpi resume a --namespace team` starts it."},
		{[]string{"why", "a"}, 0, "a job like it with N nodes: `kubectl mpi clone a --set nodes=N --namespace team`"},
		{[]string{"resume", "trainjob/a"}, 0, "trainjob/a resumed"},
		{[]string{"suspend", "q"}, 1, "Kueue decides"},
		{[]string{"suspend", "z"}, 1, "is over"},
		{[]string{"delete", "a", "--wait"}, 0, "trainjob/a deleted"},
		{[]string{"get", "a"}, 1, "there is no TrainJob `a`"},
		{[]string{"delete", "a", "z", "b"}, 1, "trainjob/z deleted"},
		{[]string{"delete", "a", "b"}, 1, "there is no TrainJob `b`"},
	} {
		got := runFor(t, t.Context(), c, step.args...)
		if got.code != step.code || !strings.Contains(got.out+got.errOut, step.want) {
			t.Errorf("%v ended with %d, want %d and `%s`: %s%s", step.args, got.code, step.code, step.want, got.out, got.errOut)
		}
	}
}

// A client that has asked much of late holds requests back, and refuses one that it would hold back beyond a deadline.
func TestWaitEndsInItsOwnWords(t *testing.T) {
	limiter := flowcontrol.NewTokenBucketRateLimiter(0.001, 5)
	c := clientOf(t, []client.Object{jobOf("a")}, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if err := limiter.Wait(ctx); err != nil {
				return err
			}
			return c.Get(ctx, key, object, options...)
		},
		Watch: func(ctx context.Context, _ client.WithWatch, _ client.ObjectList, _ ...client.ListOption) (watch.Interface, error) {
			for {
				if err := limiter.Wait(ctx); err != nil { // until nothing is left
					return nil, err
				}
			}
		},
	})
	got := runFor(t, t.Context(), c, "wait", "a", "--timeout", "100ms")
	if got.code != exitTimeout || !strings.Contains(got.errOut, "after 100ms a is") {
		t.Errorf("%+v", got)
	}
}

// TestDeleteFinished: jobs that are over go together; a wrong name is answered without one that would go instead.
func TestDeleteFinished(t *testing.T) {
	before := func(ago time.Duration) func(*trainer.TrainJob) {
		return func(trainJob *trainer.TrainJob) {
			trainJob.Status.Conditions[0].LastTransitionTime = metav1.NewTime(time.Now().Add(-ago))
		}
	}
	objects := func() []client.Object {
		return []client.Object{
			jobOf("old", ended(trainer.TrainJobComplete, "Completed", "done"), before(2*time.Hour)),
			jobOf("new", ended(trainer.TrainJobFailed, "JobsFailed", "no"), before(time.Minute)), jobOf("train"),
		}
	}
	for flags, want := range map[string]struct {
		code    int
		deleted []string
		text    string
	}{
		"--finished":             {0, []string{"new", "old"}, ""},
		"--finished --older 1h":  {0, []string{"old"}, ""},
		"--finished --older 3h":  {0, nil, "no such job is over in namespace team"},
		"--finished --older -1h": {2, nil, "--older is -1h"},
		"--finished train":       {2, nil, "name jobs, or give `--finished`: not both"},
		"train --mine":           {2, nil, "are for `--finished`"},
		"traim":                  {1, nil, "namespace `team` there are"},
	} {
		got := runWith(t, objects(), interceptor.Funcs{}, append([]string{"delete"}, strings.Fields(flags)...)...)
		var deleted []string
		for _, found := range regexp.MustCompile(`trainjob/(\S+) deleted`).FindAllStringSubmatch(got.out, -1) {
			deleted = append(deleted, found[1])
		}
		if got.code != want.code || !slices.Equal(deleted, want.deleted) || !strings.Contains(got.errOut, want.text) ||
			strings.Contains(got.errOut, "did you mean") {
			t.Errorf("%s: ended with %d, deleted %v: %s", flags, got.code, deleted, got.errOut)
		}
	}
}

// TestReplaceRefused: the old job stays if the new one would be refused, but a full quota has room once it is gone.
func TestReplaceRefused(t *testing.T) {
	runtime := &trainer.ClusterTrainingRuntime{ObjectMeta: metav1.ObjectMeta{Name: "torch"}}
	for refusal, stays := range map[string]bool{"numNodes is 64": true, "exceeded quota: lockstep-quota": false} {
		over := jobOf("over", ended(trainer.TrainJobComplete, "Completed", "done"))
		over.UID = "of-the-old-one"
		c := clientOf(t, []client.Object{runtime.DeepCopy(), over}, interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
				if len(options) > 0 { // the dry run
					return apierrors.NewForbidden(trainer.Resource("trainjobs"), o.GetName(), errOf(refusal))
				}
				return c.Create(ctx, o, options...)
			},
		})
		got := runFor(t, t.Context(), c, "submit", "over", "--runtime", "torch", "--replace", "-n", "team", "--", "python")
		var job trainer.TrainJob
		err := c.Get(t.Context(), client.ObjectKeyFromObject(over), &job)
		if err != nil || (job.UID == over.UID) != stays || stays != strings.Contains(got.errOut, refusal) {
			t.Errorf("%s: %s%s; afterwards there is %q: %v", refusal, got.out, got.errOut, job.UID, err)
		}
	}
}

// TestNumbered: a job gets its own name if it is free, and the next number if not.
func TestNumbered(t *testing.T) {
	runtime := &trainer.ClusterTrainingRuntime{ObjectMeta: metav1.ObjectMeta{Name: "torch"}}
	c := clientOf(t, []client.Object{runtime, jobOf("train"), jobOf("train-2")}, interceptor.Funcs{})
	for name, want := range map[string]string{"train": "trainjob/train-3", "other": "trainjob/other"} {
		got := runFor(t, t.Context(), c, "submit", name, "--runtime", "torch", "--numbered", "-o", "name", "-n", "team", "--", "python")
		if strings.TrimSpace(got.out) != want {
			t.Errorf("%s: %s%s", name, got.out, got.errOut)
		}
	}
}

// TestReplace: a finished job makes room for a new one of its name; a running job does not.
func TestReplace(t *testing.T) {
	runtime := &trainer.ClusterTrainingRuntime{ObjectMeta: metav1.ObjectMeta{Name: "torch"}}
	for name, want := range map[string]struct {
		code int
		text string
	}{
		"over":  {0, "trainjob/over deleted"},
		"new":   {0, "trainjob/new created"},
		"train": {1, "`train` is not over: `kubectl mpi delete train --namespace team` ends it"},
	} {
		over := jobOf("over", ended(trainer.TrainJobComplete, "Completed", "done"))
		over.UID = "of-the-old-one"
		c := clientOf(t, []client.Object{runtime.DeepCopy(), over, jobOf("train")}, interceptor.Funcs{})
		got := runFor(t, t.Context(), c, "submit", name, "--runtime", "torch", "--replace", "-n", "team", "--", "python")
		if got.code != want.code || !strings.Contains(got.out+got.errOut, want.text) {
			t.Errorf("%s: ended with %d: %s%s", name, got.code, got.out, got.errOut)
		}
		var job trainer.TrainJob
		err := c.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: name}, &job)
		if err != nil || job.UID == over.UID {
			t.Errorf("%s: afterwards there is %s: %v", name, job.UID, err)
		}
	}
}
