package job_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// outline is a decision in words, so that a case reads as a sentence.
type outline struct {
	Ours       bool
	Over       bool
	Delete     []string
	Create     []string
	Update     bool
	Rendezvous bool
	Requeue    time.Duration
	Waiting    mpi.Reason
	End        mpi.Reason
}

func outlineOf(from observe.Observed, d decide.Decision) outline {
	o := outline{Ours: d.Ours, Over: d.Finished, Update: d.Update != nil, Rendezvous: d.HostTable != nil, Requeue: d.RequeueAfter}
	for _, deletion := range d.Delete {
		o.Delete = append(o.Delete, deletion.Kind+" "+deletion.Name+" "+string(deletion.UID))
	}
	for _, object := range d.Create {
		o.Create = append(o.Create, object.GetObjectKind().GroupVersionKind().Kind+" "+object.GetName())
	}
	if waiting := phase.DeriveFacts(from).State().Waiting; waiting != nil {
		o.Waiting = waiting.Reason
	}
	o.End, _ = finishes(d)
	return o
}

// finishes reports whether a decision ends the job, and for which reason.
func finishes(d decide.Decision) (reason mpi.Reason, finishes bool) {
	if d.End == nil {
		return "", false
	}
	return d.End.Reason, true
}

var everything = []string{
	"ConfigMap demo-mpi-hostfile", "NetworkPolicy demo-mpi", "Secret demo-mpi-ssh-auth", "JobSet demo",
}

func TestDecideStart(t *testing.T) {
	soon := podsAskedAfter + causeLook
	fresh := func(edits ...func(*trainer.TrainJob)) observe.Observed {
		return observe.Observed{Now: t0, ControllerNamespace: "lockstep-system", TrainJob: trainJobOf(edits...), Runtime: runtimeOf(false)}
	}
	with := func(children ...metav1.PartialObjectMetadata) observe.Observed {
		o := fresh()
		o.Children = children
		return o
	}
	gone := owned("demo", "uid-old")
	secret := func(owners []metav1.OwnerReference) metav1.PartialObjectMetadata {
		return childOf("v1", "Secret", "demo-mpi-ssh-auth", "s1", owners)
	}
	otherRuntime := fresh()
	otherRuntime.Runtime = &job.Runtime{Labels: runtimeOf(false).Labels}
	noRuntime := fresh()
	noRuntime.Runtime = nil
	staleJobSet := with(secret(gone))
	staleJobSet.JobSet = &jobset.JobSet{ObjectMeta: metav1.ObjectMeta{Name: "demo", UID: "js1", OwnerReferences: gone}}
	foreignJobSet := fresh()
	foreignJobSet.JobSet = &jobset.JobSet{ObjectMeta: metav1.ObjectMeta{Name: "demo", UID: "js1"}}
	jobOf := func(owner string) metav1.PartialObjectMetadata {
		return childOf("batch/v1", "Job", "demo-launcher-0", "j1", []metav1.OwnerReference{{Kind: "JobSet", Name: owner, UID: "js1", Controller: ptr.To(true)}})
	}
	staleJobs, foreignJobs := fresh(), fresh()
	staleJobs.Jobs = []metav1.PartialObjectMetadata{jobOf("demo")}
	foreignJobs.Jobs = []metav1.PartialObjectMetadata{jobOf("other")}

	lingering := func(edits ...func(*corev1.Pod)) observe.Observed {
		o := fresh()
		pod := podOf(mpi.LauncherJob, 0, edits...)
		pod.Labels[mpi.JobSetUIDLabel] = "an-earlier-jobset"
		o.Pods = []corev1.Pod{pod}
		return o
	}
	ofJob := func(name string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: name, Controller: ptr.To(true)}}
		}
	}
	longDeleted := func(pod *corev1.Pod) { pod.DeletionTimestamp = ptr.To(metav1.NewTime(t0.Add(-podsGoneAfter))) }

	cases := map[string]struct {
		reason string
		o      observe.Observed
		want   outline
	}{
		"StalePods": {
			"kubelet would mount the earlier key as long as an earlier pod is there", lingering(ofJob("demo-launcher-0")),
			outline{Ours: true, Waiting: job.ReasonWaitingForDeletion, Requeue: leftoversLook},
		},
		"StalePodsGoing": {
			"", lingering(ofJob("demo-launcher-0"), deleted), outline{Ours: true, Waiting: job.ReasonWaitingForDeletion, Requeue: leftoversLook},
		},
		"StalePodsStuck": {
			"a pod on a dead machine holds nobody up", lingering(ofJob("demo-launcher-0"), longDeleted), outline{Ours: true, Create: everything, Requeue: soon},
		},
		"ForeignPods": {
			"a label proves nothing", lingering(), outline{Ours: true, Create: everything, Requeue: soon},
		},
		"New":        {"all objects, the JobSet last", fresh(), outline{Ours: true, Create: everything, Requeue: soon}},
		"Suspended":  {"a suspended job gets its objects too, as upstream does it", fresh(suspend), outline{Ours: true, Create: everything, Requeue: soon}},
		"Resumed":    {"what an interrupted pass left is used", with(keyOf(t, resolved(t, runtimeOf(false)))), outline{Ours: true, Create: without(everything, 2), Requeue: soon}},
		"NoRuntime":  {"the runtime may still come", noRuntime, outline{Ours: true, Waiting: diagnose.RuntimeNotFound}},
		"NotOurs":    {"other runtimes belong to other controllers", otherRuntime, outline{}},
		"MultiKueue": {"another cluster runs it", fresh(func(j *trainer.TrainJob) { j.Spec.ManagedBy = ptr.To("kueue.x-k8s.io/multikueue") }), outline{}},
		"Deleted":    {"nothing is made for a TrainJob that goes", fresh(func(j *trainer.TrainJob) { j.DeletionTimestamp = ptr.To(metav1.NewTime(t0)) }), outline{}},
		"Complete":   {"a finished job is never started again", fresh(hasCondition(trainer.TrainJobComplete, "True", t0)), outline{Over: true}},
		"Failed":     {"a finished job is never started again", fresh(hasCondition(trainer.TrainJobFailed, "True", t0)), outline{Over: true}},
		"Refused":    {"an impossible job fails at once", fresh(asks(trainer.Trainer{NumNodes: ptr.To[int32](0)})), outline{Ours: true, End: diagnose.InvalidWorld}},
		"Overdue":    {"a job that waited too long is over", fresh(deadline(59)), outline{Ours: true, End: diagnose.DeadlineExceeded}},
		"Squatted":   {"a key of unknown origin is not used", with(secret(nil)), outline{Ours: true, End: diagnose.NameTaken}},
		"OtherOwner": {"an object of another owner is not ours", with(secret(owned("other", "uid-other"))), outline{Ours: true, End: diagnose.NameTaken}},
		"ForeignJobSet": {
			"a JobSet of somebody else is not ours", foreignJobSet, outline{Ours: true, End: diagnose.NameTaken},
		},
		"StaleSecret": {
			"an earlier job's key is replaced", with(secret(gone)),
			outline{Ours: true, Delete: []string{"Secret demo-mpi-ssh-auth s1"}, Create: everything, Requeue: soon},
		},
		"StaleJobSet": {
			"the name was used again at once: the JobSet goes first", staleJobSet,
			outline{Ours: true, Delete: []string{"JobSet demo js1"}, Waiting: job.ReasonWaitingForDeletion, Requeue: leftoversLook},
		},
		"StaleJobs": {
			"and its Jobs, whose names the new JobSet needs", staleJobs,
			outline{Ours: true, Delete: []string{"Job demo-launcher-0 j1"}, Waiting: job.ReasonWaitingForDeletion, Requeue: leftoversLook},
		},
		"ForeignJobs": {
			"a label proves nothing: Jobs of others stay", foreignJobs, outline{Ours: true, Create: everything, Requeue: soon},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := decide.Decide(phase.DeriveFacts(tc.o), bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, outlineOf(tc.o, got)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDecideFollow(t *testing.T) {
	launcher := podOf(mpi.LauncherJob, 0, address("10.0.0.1"), ready)
	nodes := []corev1.Pod{podOf(mpi.NodeJob, 0, address("10.0.0.2"), ready), podOf(mpi.NodeJob, 1, address("10.0.0.3"), ready)}
	running := withPods(started(trainJobOf()), launcher, nodes[0], nodes[1])
	withKey := func(o observe.Observed, owners []metav1.OwnerReference) observe.Observed {
		o.Children = []metav1.PartialObjectMetadata{
			childOf("v1", "Secret", "demo-mpi-ssh-auth", "s1", owners), childOf("v1", "ConfigMap", "demo-mpi-hostfile", "c1", owned("demo", "uid-new")),
		}
		return o
	}
	young := started(trainJobOf())
	young = sawFact(young, observe.FactRuns, young.JobSet.UID, t0)
	suspendedJobSet := started(trainJobOf(suspend))
	resuming := suspendedJobSet
	resuming.TrainJob = trainJobOf()
	runtimeGone := resuming
	runtimeGone.Runtime = nil
	toSuspend := running
	toSuspend.TrainJob = trainJobOf(suspend)
	noRuntime := running
	noRuntime.Runtime = nil
	over := withPods(running, podOf(mpi.LauncherJob, 0, died(t0, 1, "Error", "")), nodes[0], nodes[1])

	cases := map[string]struct {
		reason string
		o      observe.Observed
		want   outline
	}{
		"Young":        {"pods are about to come; look again when they should be there", young, outline{Ours: true, Requeue: podsAskedAfter + causeLook}},
		"NoPods":       {"pods that do not come are asked for again and again", started(trainJobOf()), outline{Ours: true, Requeue: podsAskedAgain}},
		"SomePods":     {"", withPods(started(trainJobOf()), launcher), outline{Ours: true, Requeue: podsAskedAgain}},
		"NoAddress":    {"the table must be complete", withPods(running, launcher, nodes[0], podOf(mpi.NodeJob, 1)), outline{Ours: true}},
		"AllPods":      {"the launcher gets its table; the watches tell the rest", running, outline{Ours: true, Rendezvous: true}},
		"RuntimeGone":  {"a job that runs needs no runtime", noRuntime, outline{Ours: true, Rendezvous: true}},
		"LauncherOver": {"a launcher that is over needs no table", over, outline{Ours: true}},
		"Replaced":     {"a pod on its way out is not counted twice", withPods(running, launcher, nodes[0], podOf(mpi.NodeJob, 1, deleted), nodes[1]), outline{Ours: true, Rendezvous: true}},
		"Suspend":      {"suspension is passed on and ends the push only with the pods", toSuspend, outline{Ours: true, Update: true, Rendezvous: true}},
		"Suspended":    {"a suspended job has no pods to miss", suspendedJobSet, outline{Ours: true}},
		"Resume":       {"", resuming, outline{Ours: true, Update: true}},
		"ResumeGone":   {"resuming needs no runtime either", runtimeGone, outline{Ours: true, Update: true}},
		"Complete": {
			"the key goes with the end, the rest stays", withKey(jobSetHas(running, jobset.JobSetCompleted, t0), owned("demo", "uid-new")),
			outline{Ours: true, Delete: []string{"Secret demo-mpi-ssh-auth s1"}, End: job.ReasonCompleted},
		},
		"CompleteForeignKey": {
			"a Secret that somebody put there since is not ours to delete", withKey(jobSetHas(running, jobset.JobSetCompleted, t0), nil),
			outline{Ours: true, End: job.ReasonCompleted},
		},
		"Failed":       {"the cause is known", jobSetHas(over, jobset.JobSetFailed, t0), outline{Ours: true, End: diagnose.LauncherFailed}},
		"FailedSoon":   {"the pod's last status may still be on its way", jobSetHas(running, jobset.JobSetFailed, t0.Add(-time.Second)), outline{Ours: true, Requeue: causeLook}},
		"FailedLong":   {"but not forever", jobSetHas(running, jobset.JobSetFailed, t0.Add(-3*time.Second)), outline{Ours: true, End: diagnose.JobSetFailed}},
		"BeforeLimit":  {"wake up at the deadline", withPods(started(trainJobOf(deadline(65))), launcher, nodes[0], nodes[1]), outline{Ours: true, Rendezvous: true, Requeue: 5 * time.Second}},
		"DeadlineOver": {"the end is told first", withKey(started(trainJobOf(deadline(60))), owned("demo", "uid-new")), outline{Ours: true, Delete: []string{"Secret demo-mpi-ssh-auth s1"}, End: diagnose.DeadlineExceeded}},
		"DeadlineTold": {"then the JobSet goes with all pods", started(trainJobOf(deadline(60), hasCondition(trainer.TrainJobFailed, "True", t0))), outline{Ours: true, Over: true, Delete: []string{"JobSet demo jobset-uid"}}},
		"DeadlineFromResume": {
			"the deadline counts anew when a job is resumed", withPods(started(trainJobOf(deadline(60), hasCondition(trainer.TrainJobSuspended, "False", t0.Add(-50*time.Second)))), launcher, nodes[0], nodes[1]),
			outline{Ours: true, Rendezvous: true, Requeue: 10 * time.Second},
		},
		"Over":           {"of a job that is over only the counts are kept up", jobSetHas(started(trainJobOf(hasCondition(trainer.TrainJobComplete, "True", t0))), jobset.JobSetCompleted, t0), outline{Ours: true, Over: true}},
		"DoneAtDeadline": {"a job that made it has made it", withKey(jobSetHas(started(trainJobOf(deadline(60))), jobset.JobSetCompleted, t0), nil), outline{Ours: true, End: job.ReasonCompleted}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := decide.Decide(phase.DeriveFacts(tc.o), nil)
			if err != nil {
				t.Fatal(err)
			}
			if name == "Suspend" {
				// Whether the launcher still hears of its nodes while it is being ended does not matter.
				got.HostTable = &decide.HostTablePush{}
			}
			if diff := cmp.Diff(tc.want, outlineOf(tc.o, got)); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// What a launcher needs to know of its nodes while it waits for them, and when the controller looks again.
func TestLauncherHearsThatItsNodesAreUp(t *testing.T) {
	launcher, node0 := podOf(mpi.LauncherJob, 0, address("10.0.0.1"), ready), podOf(mpi.NodeJob, 0, address("10.0.0.2"), ready)
	inGate := podOf(mpi.LauncherJob, 0, address("10.0.0.1"), func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodPending })
	all := withPods(started(trainJobOf()), launcher, node0, podOf(mpi.NodeJob, 1, address("10.0.0.3"), ready))
	after := func(o observe.Observed, d time.Duration) observe.Observed {
		return sawFact(o, observe.FactUp, o.JobSet.UID, t0.Add(-d))
	}
	answered := after(all, time.Second)
	answered.Gate = &observe.GateState{Launcher: "launcher-0", Result: &mpi.GateResult{Passed: true}}
	cases := map[string]struct {
		reason  string
		o       observe.Observed
		up      bool
		requeue time.Duration
	}{
		"JustReady": {"an agent needs a moment to listen", after(all, 0), false, upToldAfter},
		"Soon":      {"", after(all, upToldAfter-time.Millisecond), false, time.Millisecond},
		"Long":      {"", after(all, upToldAfter), true, 0},
		"Passed":    {"nobody needs to know any more", answered, false, 0},
		"NotReady":  {"a container may still pull its image", withPods(all, launcher, node0, podOf(mpi.NodeJob, 1, address("10.0.0.3"))), false, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, beside := range []bool{false, true} {
				if tc.o.Runtime.Labels == nil {
					t.Fatal("a companion looks after compiled runtimes only")
				}
				tc.o.Beside = beside
				d, err := decide.Decide(phase.DeriveFacts(tc.o), nil)
				if err != nil {
					t.Fatal(err)
				}
				if d.HostTable == nil || d.HostTable.Table.Up != tc.up || d.RequeueAfter != tc.requeue {
					t.Errorf("%s: %+v, again after %v", tc.reason, d.HostTable, d.RequeueAfter)
				}
			}
		})
	}
	o := withPods(started(trainJobOf()), inGate, node0, podOf(mpi.NodeJob, 1, address("10.0.0.3"), ready))
	if o.RememberSince(nil); !phase.DeriveFacts(o).Start.AreNodesUp() {
		t.Error("a launcher that waits in an init container is not ready, but its nodes are")
	}
	o = withPods(started(trainJobOf()), launcher, node0, podOf(mpi.NodeJob, 1, address("10.0.0.3")))
	if o.RememberSince(nil); phase.DeriveFacts(o).Start.AreNodesUp() {
		t.Error("one of the nodes is not ready")
	}
}

func TestRendezvousTable(t *testing.T) {
	o := withPods(started(trainJobOf()),
		podOf(mpi.NodeJob, 1, address("10.0.0.3")), podOf(mpi.NodeJob, 0, address("10.0.0.2")), podOf(mpi.LauncherJob, 0, address("10.0.0.1")),
		podOf(mpi.NodeJob, 0, address("10.9.9.9"), func(pod *corev1.Pod) { pod.Labels[mpi.JobSetUIDLabel] = "an-earlier-jobset" }),
	)
	got, err := decide.Decide(phase.DeriveFacts(o), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := &decide.HostTablePush{TrainJob: "uid-new", Launcher: "launcher-0", Table: mpi.HostTable{Hosts: []mpi.HostAddress{
		{Name: "demo-launcher-0-0.demo", Address: "10.0.0.1"},
		{Name: "demo-node-0-0.demo", Address: "10.0.0.2"},
		{Name: "demo-node-0-1.demo", Address: "10.0.0.3"},
	}}}
	if diff := cmp.Diff(want, got.HostTable); diff != "" {
		t.Errorf("launcher first, nodes by index, none of an earlier job: -want, +got:\n%s", diff)
	}
}

func without(list []string, index int) []string {
	return append(append([]string{}, list[:index]...), list[index+1:]...)
}
