package loop

import (
	"context"
	"errors"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8sevents "k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/events"
	"lockstep.dev/lockstep/test/fakecluster"
)

// counts are those of child Jobs that JobSet publishes, read by Kueue in the status of the TrainJob.
func (c *cluster) counts(active int32) {
	c.t.Helper()
	var js jobset.JobSet
	if err := c.Get(c.t.Context(), name, &js); err != nil {
		c.t.Fatal(err)
	}
	js.Status.ReplicatedJobsStatus = []jobset.ReplicatedJobStatus{
		{Name: mpi.LauncherJob, Active: active}, {Name: mpi.NodeJob, Active: active},
	}
	if err := c.Update(c.t.Context(), &js); err != nil {
		c.t.Fatal(err)
	}
	c.pass()
}

// refuseAnnotations makes the API server refuse TrainJobs with more annotations than it takes.
func (c *cluster) refuseAnnotations() {
	c.controller.Client = interceptor.NewClient(c.watching(), interceptor.Funcs{
		Patch: func(_ context.Context, _ client.WithWatch, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
			kind := trainer.GroupVersion.WithKind(trainer.TrainJobKind).GroupKind()
			return apierrors.NewInvalid(kind, o.GetName(), nil)
		},
	})
}

func activeOf(trainJob *trainer.TrainJob) (total int32) {
	for _, s := range trainJob.Status.JobsStatus {
		total += ptr.Deref(s.Active, 0)
	}
	return total
}

// Kueue gives the quota of a preempted job on when its status shows no active pods. What users write into annotations
// cannot keep it from that.
func TestTheStatusWaitsForNoRecord(t *testing.T) {
	full := func(trainJob *trainer.TrainJob) {
		trainJob.Annotations = map[string]string{"notes": strings.Repeat("x", 256<<10-len("notes"))}
	}
	for reason, spoil := range map[string]func(*cluster, *trainer.TrainJob){
		"annotations are full":                 func(_ *cluster, trainJob *trainer.TrainJob) { full(trainJob) },
		"annotations were filled a moment ago": func(c *cluster, _ *trainer.TrainJob) { c.refuseAnnotations() },
		"annotations are full, and refused": func(c *cluster, trainJob *trainer.TrainJob) {
			full(trainJob)
			c.refuseAnnotations()
		},
	} {
		c := newCluster(t, fakecluster.TrainJob())
		c.pass()
		c.counts(1)
		c.change(func(trainJob *trainer.TrainJob) { spoil(c, trainJob); suspendIs(true)(trainJob) })
		c.counts(0)
		var trainJob trainer.TrainJob
		if err := c.Get(t.Context(), name, &trainJob); err != nil {
			t.Fatal(err)
		}
		active, shown := activeOf(&trainJob), trainJob.Status.Conditions
		if active != 0 || shown[0].Type != trainer.TrainJobSuspended {
			t.Errorf("%s: %d Jobs are active, conditions %+v", reason, active, shown)
		}
		for range 3 {
			c.change(func(trainJob *trainer.TrainJob) { suspendIs(!*trainJob.Spec.Suspend)(trainJob) })
		}
		if got := strings.Count(strings.Join(c.sent(), "\n"), "RecordDropped"); got != 1 {
			t.Errorf("%s: %d events tell of it", reason, got)
		}
	}
}

// A controller that became the leader with a cache of a moment ago does not write over an end that its predecessor
// has published.
func TestAPublishedEndStays(t *testing.T) {
	is := func(kind, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason}
	}
	end := is(trainer.TrainJobFailed, "DeadlineExceeded")
	for reason, before := range map[string]trainer.TrainJobStatus{
		"it ran":                 {JobsStatus: []trainer.JobStatus{{Name: mpi.NodeJob}}},
		"it had no status":       {},
		"it waited for pods":     {Conditions: []metav1.Condition{is(job.Created, "JobSetCreated")}},
		"it was being restarted": {Conditions: []metav1.Condition{is(job.Restarting, "MachineLost")}},
	} {
		stale := fakecluster.TrainJob(func(trainJob *trainer.TrainJob) { trainJob.Status = before })
		ended := stale.DeepCopy()
		ended.Status.Conditions = []metav1.Condition{end}
		c := newCluster(t, ended)
		facts := phase.DeriveFacts(observe.Observed{TrainJob: stale, Shown: before.Conditions})
		gone := trainer.TrainJobStatus{JobsStatus: before.JobsStatus, Conditions: []metav1.Condition{end}}
		gone.Conditions[0].Reason = "JobSetDeleted"
		if err := c.controller.patchStatus(t.Context(), facts, statusChanges(before, gone)); err == nil {
			t.Errorf("%s: nobody looks again", reason)
		}
		var got trainer.TrainJob
		err := c.Get(t.Context(), name, &got)
		if shown := got.Status.Conditions; err != nil || len(shown) != 1 || shown[0].Reason != "DeadlineExceeded" {
			t.Errorf("%s: conditions %+v, %v", reason, shown, err)
		}
	}
}

// A record that the other annotations leave little room for has shorter messages.
func TestARecordShrinks(t *testing.T) {
	long := []metav1.Condition{{
		Type: job.PodsReady, Status: metav1.ConditionFalse, Reason: "Unschedulable",
		Message: strings.Repeat("0/9 nodes are available ", 4000),
	}}
	last := 1 << 20
	for _, taken := range []int{0, 253 << 10, 255 << 10} {
		trainJob := fakecluster.TrainJob(func(trainJob *trainer.TrainJob) {
			trainJob.UID, trainJob.Annotations = "u", map[string]string{"n": strings.Repeat("x", taken)}
		})
		record := status.EncodeRecord(trainJob, jobv1.Record{UID: trainJob.UID, Conditions: long})
		if got := len(record); got == 0 || got >= last || taken+got > 256<<10 {
			t.Errorf("beside %d bytes of others the record has %d, and had %d before", taken, got, last)
		}
		last = len(record)
	}
}

// A user who gives a suspended job another number of nodes learns that it keeps those that it has, and how to make a
// job with others.
func TestAPausedJobKeepsItsNodes(t *testing.T) {
	c := newCluster(t, fakecluster.TrainJob(suspendIs(true)))
	c.pass()
	c.change(func(trainJob *trainer.TrainJob) { trainJob.Generation++ })
	if sent := strings.Join(c.sent(), "\n"); strings.Contains(sent, "NodesUnchanged") {
		t.Fatalf("nobody asked for other nodes: %s", sent)
	}
	for range 2 {
		c.change(func(trainJob *trainer.TrainJob) {
			trainJob.Spec.Trainer = &trainer.Trainer{NumNodes: ptr.To[int32](4)}
		})
	}
	const want = "Warning NodesUnchanged the TrainJob asks for 4 nodes, and a job keeps the nodes that it was made with: " +
		"`kubectl mpi clone demo --set nodes=4` makes a job like it with 4"
	if sent := c.sent(); strings.Count(strings.Join(sent, "\n"), want) != 1 {
		t.Errorf("got %q", sent)
	}
}

// An eviction is one event: of the end or of the restart that follows, and not of the pod before it, too.
func TestALostPodIsOneEvent(t *testing.T) {
	for _, reason := range []mpi.Reason{
		diagnose.Evicted, diagnose.Preempted, diagnose.MachineLost, diagnose.PodDeleted, diagnose.OOMKilled,
	} {
		recorder := k8sevents.NewFakeRecorder(10)
		r := &events.Recorder{EventRecorder: recorder}
		lost := metav1.Condition{Type: job.PodsReady, Status: metav1.ConditionFalse, Reason: string(reason), Message: "lost"}
		end := metav1.Condition{
			Type: trainer.TrainJobFailed, Status: metav1.ConditionTrue, Reason: string(reason), Message: "lost (restarts: 1)",
		}
		r.Send(&trainer.TrainJob{}, []metav1.Condition{lost})
		before := &trainer.TrainJob{Status: trainer.TrainJobStatus{Conditions: []metav1.Condition{lost}}}
		r.Send(before, []metav1.Condition{end})
		if got := len(recorder.Events); got != 1 {
			t.Errorf("%s: %d events", reason, got)
		}
	}
}

// A job whose policy was deleted and may not be made again is suspended all the same: another job waits for its
// machines.
func TestASuspensionWaitsForNoPolicy(t *testing.T) {
	c := newCluster(t, fakecluster.TrainJob())
	c.pass()
	c.controller.Client = interceptor.NewClient(c.watching(), interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			policies := schema.GroupResource{Resource: "networkpolicies"}
			return apierrors.NewForbidden(policies, o.GetName(), errors.New("exceeded quota"))
		},
	})
	js := &jobset.JobSet{}
	if err := c.Get(t.Context(), name, js); err != nil {
		t.Fatal(err)
	}
	js.Spec.Suspend = ptr.To(true)
	policy := &networkingv1.NetworkPolicy{}
	policy.Namespace, policy.Name = name.Namespace, mpi.NetworkPolicyName(name.Name)
	decision := decide.Decision{Create: []job.Object{policy}, Update: js}
	if err := c.controller.applyChanges(t.Context(), name.Namespace, decision); !apierrors.IsForbidden(err) {
		t.Errorf("nobody looks again: %v", err)
	}
	if err := c.Get(t.Context(), name, js); err != nil || !job.IsSuspended(js) {
		t.Errorf("the JobSet runs on: %v", err)
	}
}
