package job_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

// told is a status that says of the pods what a reason says, of a job whose JobSet was made.
func told(status metav1.ConditionStatus, reason mpi.Reason) func(*trainer.TrainJob) {
	return func(trainJob *trainer.TrainJob) {
		hasCondition(job.Created, metav1.ConditionTrue, t0)(trainJob)
		running := job.ReasonWaitingForPods
		if reason == job.ReasonSuspended || reason == job.ReasonRestarting {
			running = reason
		}
		trainJob.Status.Conditions = append(trainJob.Status.Conditions,
			metav1.Condition{Type: job.PodsReady, Status: status, Reason: string(reason), LastTransitionTime: metav1.NewTime(t0)},
			metav1.Condition{Type: job.Running, Status: metav1.ConditionFalse, Reason: string(running), LastTransitionTime: metav1.NewTime(t0)})
	}
}

func TestJobSetDeletedByHand(t *testing.T) {
	key := keyOf(t, resolved(t, restartable("3")))
	gone := func(edits ...func(*trainer.TrainJob)) observe.Observed {
		return observe.Observed{Now: t0, TrainJob: trainJobOf(edits...), Runtime: restartable("3"), Children: []metav1.PartialObjectMetadata{key}}
	}
	going := func(edits ...func(*trainer.TrainJob)) observe.Observed {
		o := withPods(started(trainJobOf(edits...)), podOf(mpi.LauncherJob, 0, ready, deleted), podOf(mpi.NodeJob, 0, ready))
		o.Runtime, o.Children = restartable("3"), []metav1.PartialObjectMetadata{key}
		o.JobSet.DeletionTimestamp = ptr.To(metav1.NewTime(t0))
		return o
	}
	running := told(metav1.ConditionTrue, job.ReasonPodsReady)
	ended := outline{Ours: true, Delete: []string{"Secret demo-mpi-ssh-auth s1"}, End: diagnose.JobSetDeleted}
	again := outline{Ours: true, Create: without(everything, 2), Requeue: podsAskedAfter + causeLook}
	cases := map[string]struct {
		reason string
		o      observe.Observed
		want   outline
	}{
		"Gone":      {"a second run is nobody's wish, whatever restarts the runtime allows", gone(running), ended},
		"Starting":  {"its pods were about to come", gone(told(metav1.ConditionFalse, job.ReasonPodsPending)), ended},
		"PodSeen":   {"a pod was seen to be deleted first", gone(told(metav1.ConditionFalse, diagnose.PodDeleted)), ended},
		"Going":     {"deleted in the foreground, it goes after its pods", going(running), ended},
		"Ended":     {"what has ended may go", jobSetHas(going(running), jobset.JobSetCompleted, t0), outline{Ours: true, Delete: ended.Delete, End: job.ReasonCompleted}},
		"NoRuntime": {"nobody makes it again, and its run is lost all the same", func() observe.Observed { o := gone(running); o.Runtime = nil; return o }(), ended},
		"ToSuspend": {"whoever suspends it has given up the run", gone(running, suspend), outline{Ours: true, Create: without(everything, 2), Requeue: podsAskedAfter + causeLook}},
		"Suspended": {"a suspended job has no pods to lose", gone(told(metav1.ConditionFalse, job.ReasonSuspended)), again},
		"Restarted": {"the controller deleted it, and died", gone(running, restartedOnce), again},
		"Condemned": {"the controller deleted it because it had failed while suspended, and died", gone(told(metav1.ConditionFalse, job.ReasonRestarting)), again},
		"New":       {"there was none", gone(), again},
		"Held":      {"the last one was made, and what it waits for now was said", gone(hasCondition(job.Created, metav1.ConditionFalse, t0)), again},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			decision, err := decide.Decide(phase.DeriveFacts(tc.o), nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, outlineOf(tc.o, decision)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestStatusOfAJobWithoutItsJobSet(t *testing.T) {
	o := observe.Observed{Now: t0, TrainJob: trainJobOf(told(metav1.ConditionTrue, job.ReasonPodsReady)), Runtime: runtimeOf(false)}
	o.TrainJob.Status.JobsStatus = []trainer.JobStatus{{Name: mpi.NodeJob, Active: ptr.To[int32](1)}}
	status := statusOf(t, o, nil)
	want := []string{"PodsReady=False/Finished", "Running=False/Finished", "Created=True/JobSetCreated", "Failed=True/JobSetDeleted"}
	if diff := cmp.Diff(want, inShort(status.Conditions)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if *status.JobsStatus[0].Active != 0 {
		t.Error("nothing is active any more")
	}
	failed := apimeta.FindStatusCondition(status.Conditions, trainer.TrainJobFailed)
	if !strings.Contains(failed.Message, "JobSet `demo` was deleted while the job ran, and not by mpi-controller") || !strings.Contains(failed.Message, "create the TrainJob again") {
		t.Errorf("it says what happened and what to do: %s", failed.Message)
	}
	if diff := cmp.Diff([]string{"Running=False/WaitingForPods", "Created=True/JobSetCreated", "PodsReady=True/PodsReady"}, inShort(statusOf(t, o, silent{}).Conditions)); diff != "" {
		t.Errorf("an end that could not be carried out is found again in the next pass: -want, +got:\n%s", diff)
	}
}

// silent is an API server that does not answer.
type silent struct{}

func (silent) Error() string { return "the API server does not answer" }

// A JobSet that failed while it was being suspended goes and comes again. The status says so first: a controller that dies in
// between must not take it for one that somebody deleted.
func TestTheStatusTellsThatAJobSetGoes(t *testing.T) {
	o := jobSetHas(started(trainJobOf(told(metav1.ConditionTrue, job.ReasonPodsReady))), jobset.JobSetFailed, t0)
	o.JobSet.Spec.Suspend = ptr.To(true)
	for range 2 {
		decision, err := decide.Decide(phase.DeriveFacts(o), nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(decision.Delete) > 0 {
			after := o
			after.JobSet = nil
			if after.JobSetGone() {
				t.Error("the next controller takes it for deleted by somebody")
			}
			return
		}
		o.TrainJob = o.TrainJob.DeepCopy()
		o.TrainJob.Status = statusAfter(phase.DeriveFacts(o), decision, nil)
	}
	t.Error("the JobSet stays")
}

func TestJobSetSuspendedByHand(t *testing.T) {
	by := func(edits ...func(*trainer.TrainJob)) observe.Observed {
		o := withPods(started(trainJobOf(edits...)), podOf(mpi.LauncherJob, 0, ready, deleted), podOf(mpi.NodeJob, 0, ready), podOf(mpi.NodeJob, 1, ready))
		o.JobSet.Spec.Suspend = ptr.To(true)
		return o
	}
	running := hasCondition(job.Running, metav1.ConditionTrue, t0)
	if o := by(running); !o.SuspendedByHand() {
		t.Error("a job that runs was not suspended by its user")
	}
	if o := by(running, suspend); o.SuspendedByHand() {
		t.Error("its user has suspended it")
	}
	if o := by(); o.SuspendedByHand() {
		t.Error("it is being resumed")
	}
	ends := func(at time.Time) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			*pod = podOf(pod.Labels[mpi.ReplicatedJobLabel], observe.PodIndex(pod), ready, deleted)
			pod.DeletionTimestamp = ptr.To(metav1.NewTime(at))
		}
	}
	for name, tc := range map[string]struct {
		told bool
		pod  func(*corev1.Pod)
		want bool
	}{
		"JobSet has not told its Jobs":          {false, ends(t0.Add(-time.Hour)), false},
		"a Job has not deleted its pods":        {true, func(*corev1.Pod) {}, false},
		"its pods are being deleted":            {true, ends(t0.Add(30 * time.Second)), false},
		"the machine of its pods does not tell": {true, ends(t0.Add(-time.Hour)), true},
		"Jobs leave pods that have finished":    {true, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded }, true},
	} {
		o := by(running)
		for i := range o.Pods {
			tc.pod(&o.Pods[i])
		}
		if tc.told {
			o = jobSetHas(o, jobset.JobSetSuspended, t0)
		}
		decision, err := decide.Decide(phase.DeriveFacts(o), nil)
		if err != nil || (decision.Update != nil) != tc.want {
			t.Errorf("%s; resumed: %v, %v", name, decision.Update != nil, err)
		}
		if waits := o.Pods[0].DeletionTimestamp.After(t0); waits && decision.RequeueAfter != time.Minute {
			t.Errorf("%s; looks again after %v, and no watch tells that a pod does not end", name, decision.RequeueAfter)
		}
	}
	resumed := by(running)
	resumed.JobSet.Spec.Suspend = ptr.To(false)
	condition := metav1.Condition{Type: string(jobset.JobSetSuspended), Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(t0)}
	resumed.JobSet.Status.Conditions = []metav1.Condition{condition}
	for _, status := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse} {
		resumed.JobSet.Status.Conditions[0].Status = status
		resumed.JobSet.Status.Conditions[0].LastTransitionTime = metav1.NewTime(t0.Add(time.Second))
		if c := apimeta.FindStatusCondition(statusOf(t, resumed, nil).Conditions, job.PodsReady); c.Reason == string(diagnose.PodDeleted) {
			t.Errorf("Suspended=%s: the JobSet took the pod away, and nobody has to start the job again: %s", status, c.Message)
		}
	}
}

func TestPolicyDeletedByHand(t *testing.T) {
	o := withPods(started(trainJobOf()), podOf(mpi.LauncherJob, 0, address("10.0.0.1"), ready))
	o.PolicyGone, o.Runtime = true, nil
	decision, err := decide.Decide(phase.DeriveFacts(o), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(decision.Create) != 1 {
		t.Fatalf("the policy is made again, also without the runtime: %+v", outlineOf(o, decision))
	}
	if diff := cmp.Diff(desired.NetworkPolicy(resolved(t, runtimeOf(false)), o.ControllerNamespace), decision.Create[0]); diff != "" {
		t.Errorf("as it was made: -want, +got:\n%s", diff)
	}
	ended := jobSetHas(o, jobset.JobSetCompleted, t0)
	if decision, err = decide.Decide(phase.DeriveFacts(ended), nil); err != nil || len(decision.Create) > 0 {
		t.Errorf("a job that is over needs none: %+v, %v", outlineOf(ended, decision), err)
	}
}

func TestNamesOfChildJobsAreTaken(t *testing.T) {
	child := func(owner *metav1.OwnerReference) observe.Observed {
		o := observe.Observed{Now: t0, TrainJob: trainJobOf(), Runtime: runtimeOf(false)}
		var owners []metav1.OwnerReference
		if owner != nil {
			owners = append(owners, *owner)
		}
		o.ChildJobs = []metav1.PartialObjectMetadata{childOf("batch/v1", "Job", "demo-launcher-0", "j1", owners)}
		return o
	}
	controlled := func(kind, name string) *metav1.OwnerReference {
		return &metav1.OwnerReference{Kind: kind, Name: name, UID: "x", Controller: ptr.To(true)}
	}
	for reason, tc := range map[string]struct {
		o    observe.Observed
		want string
	}{
		"somebody made it by hand":     {child(nil), "delete Job `demo-launcher-0`, or give"},
		"another JobSet has it":        {child(controlled("JobSet", "demo-launcher")), "delete Job `demo-launcher-0` of JobSet `demo-launcher`, or give"},
		"an earlier JobSet left it":    {child(controlled("JobSet", "demo")), ""},
		"a CronJob would make it anew": {child(controlled("CronJob", "demo-launcher")), "Job `demo-launcher-0` of CronJob `demo-launcher`"},
	} {
		decision, err := decide.Decide(phase.DeriveFacts(tc.o), strings.NewReader(strings.Repeat("7", 64)))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := finishes(decision); (tc.want != "") != (got == diagnose.NameTaken) {
			t.Errorf("%s: got the end %q", reason, got)
		} else if tc.want != "" && !strings.Contains(decision.End.Text(), tc.want) {
			t.Errorf("%s: want `%s`, got `%s`", reason, tc.want, decision.End.Text())
		}
	}
	if diff := cmp.Diff([]string{"demo-launcher-0", "demo-node-0"}, runtimeOf(false).JobNames("demo")); diff != "" {
		t.Errorf("names of Jobs: -want, +got:\n%s", diff)
	}
	wide := runtimeOf(false)
	wide.Spec.Template.Spec.ReplicatedJobs = append(wide.Spec.Template.Spec.ReplicatedJobs, jobset.ReplicatedJob{Name: "side", Replicas: math.MaxInt32})
	if got := wide.JobNames("demo"); len(got) != 2+16 || got[2] != "demo-side-0" {
		t.Errorf("whoever makes a runtime decides how many there are: %d", len(got))
	}
}

// Each text on a quota says what becomes of the job.
func TestWhatBecomesOfAJobWithoutQuota(t *testing.T) {
	bounds := func(hard, used corev1.ResourceList) observe.NamespaceBounds {
		return observe.NamespaceBounds{Quotas: []corev1.ResourceQuota{quotaOf(hard, used)}}
	}
	never, later := bounds(resources("pods", "2"), nil), bounds(resources("pods", "3"), resources("pods", "1"))
	resuming := started(trainJobOf(suspend))
	resuming.TrainJob = trainJobOf()
	resuming.Bounds = never
	said := func(o observe.Observed) string {
		decision, err := decide.Decide(phase.DeriveFacts(o), nil)
		if err != nil {
			t.Fatal(err)
		}
		if decision.End != nil {
			return decision.End.Text()
		}
		return phase.DeriveFacts(o).State().Waiting.Text()
	}
	for want, o := range map[string]observe.Observed{
		"then create the TrainJob again": {Now: t0, TrainJob: trainJobOf(), Runtime: runtimeOf(false), Bounds: never},
		"and then starts by itself":      {Now: t0, TrainJob: trainJobOf(), Runtime: runtimeOf(false), Bounds: later},
		"and is then resumed by itself":  resuming,
	} {
		if got := said(o); !strings.Contains(got, want) {
			t.Errorf("want `%s`, got `%s`", want, got)
		}
	}
	fresh := observe.Observed{Now: t0, TrainJob: trainJobOf(), Runtime: runtimeOf(false)}
	objects := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "demo-mpi-ssh-auth", errors.New("exceeded quota: team"))
	for refused, want := range map[error]bool{objects: true, silent{}: false} {
		created := apimeta.FindStatusCondition(statusOf(t, fresh, refused).Conditions, job.Created)
		if want != strings.Contains(created.Message, "the job starts by itself once it is allowed") {
			t.Errorf("a quota on objects may be raised: %s", created.Message)
		}
	}
}

// A job that is resumed and waits for a quota has no pods: nothing is lost with its JobSet.
func TestJobSetDeletedWhileItsResumeIsHeld(t *testing.T) {
	o := started(trainJobOf(hasCondition(job.Created, metav1.ConditionTrue, t0)))
	o.JobSet.Spec.Suspend = ptr.To(true)
	o.Bounds = observe.NamespaceBounds{Quotas: []corev1.ResourceQuota{quotaOf(resources("pods", "3"), resources("pods", "1"))}}
	o.TrainJob.Status = statusOf(t, o, nil)
	held := o.TrainJob.Status
	if diff := cmp.Diff([]string{"PodsReady=False/QuotaExceeded", "Running=False/Suspended", "Created=True/JobSetCreated"}, inShort(held.Conditions)); diff != "" {
		t.Fatalf("it is held: -want, +got:\n%s", diff)
	}
	gone := o
	gone.JobSet = nil
	if gone.JobSetGone() {
		t.Error("nothing of it ran")
	}
	if c := apimeta.FindStatusCondition(statusOf(t, gone, nil).Conditions, trainer.TrainJobFailed); c != nil {
		t.Errorf("it waits on: %s", c.Message)
	}
	o.Bounds = observe.NamespaceBounds{}
	resumed := statusOf(t, o, nil)
	if wait := status.DebounceDelay(held, resumed, true); wait > 0 {
		t.Errorf("its pods are made, and the status says %s later that there may be some", wait)
	}
	gone.TrainJob = gone.TrainJob.DeepCopy()
	gone.TrainJob.Status = resumed
	if !gone.JobSetGone() {
		t.Error("its pods are lost")
	}
}
