package job_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
	"lockstep.dev/lockstep/test/clients"
)

// truth is what a job really does, and what clients may say of it then.
type truth struct {
	name string
	want []seenBy
}

var (
	unseen    = truth{"is new", []seenBy{{"Created", "Unknown", ""}}} // before anybody has looked at it
	waiting   = truth{"waits", []seenBy{{"Created", "Created", "Created"}}}
	starting  = truth{"starts", []seenBy{{"Created", "Created", "Created"}, {"Created", "Running", "Created"}}}
	runs      = truth{"runs", []seenBy{{"Running", "Running", ""}}}
	limps     = truth{"runs with a pod less", []seenBy{{"Created", "Running", ""}}}
	paused    = truth{"is suspended", []seenBy{{"Created", "Paused", "Suspended"}}}
	again     = truth{"is started again", []seenBy{{"Created", "Restarting", "Restarting"}}}
	complete  = truth{"is complete", []seenBy{{"Complete", "Succeeded", "Complete"}}}
	hasFailed = truth{"has failed", []seenBy{{"Failed", "Failed", "Failed"}}}
)

// world is a cluster with one TrainJob. What users, Kubernetes, JobSet and Kueue do is done by hand; what our controller does is what the functions
// of this package say, and it is written as package reconciler writes it.
type world struct {
	t *testing.T
	observe.Observed
	memory observe.History
	// truth is what the job really does; before and meanwhile are what it did until now, and what it may do on the way.
	truth, before truth
	meanwhile     []truth
	attempts      int
	// facts are those of the last look, steps how often something happened.
	facts *phase.Facts
	steps int
}

func newWorld(t *testing.T, edits ...func(*trainer.TrainJob)) *world {
	trainJob := trainJobOf(edits...)
	trainJob.CreationTimestamp = metav1.NewTime(t0)
	return &world{t: t, truth: unseen, Observed: observe.Observed{Now: t0, TrainJob: trainJob, Runtime: runtimeOf(true), ControllerNamespace: "lockstep-system"}}
}

// to lets something happen, after which the job does something else, and our controller look at it until it has nothing more to say. Each status on
// the way tells of what the job did before, does now or does on the way.
func (w *world) to(now truth, happens func(), meanwhile ...truth) {
	w.t.Helper()
	w.before, w.truth, w.meanwhile = w.truth, now, meanwhile
	w.Now = w.Now.Add(10 * time.Second)
	if happens != nil {
		happens()
	}
	const looks = 8
	for range looks {
		w.look()
		w.judge(append(slices.Clone(w.meanwhile), w.before, w.truth)...)
		w.Now = w.Now.Add(time.Second)
	}
	w.judge(w.truth)
	w.shown()
}

// judge reads the TrainJob as clients do.
func (w *world) judge(may ...truth) {
	w.t.Helper()
	active := int32(0)
	for _, s := range w.TrainJob.Status.JobsStatus {
		active += ptr.Deref(s.Active, 0)
	}
	running := 0
	for _, pod := range w.Pods {
		if pod.Status.Phase == corev1.PodRunning {
			running++
		}
	}
	got := readBy(w.TrainJob, running, active)
	if !slices.ContainsFunc(may, func(m truth) bool { return slices.Contains(m.want, got) }) {
		w.t.Errorf("a job that %s, and %s before, is read as %+v: %v", w.truth.name, w.before.name, got, inShort(w.TrainJob.Status.Conditions))
	}
	if err := clients.Misread(w.TrainJob.Status.Conditions, true); err != nil {
		w.t.Errorf("a job that %s: %v", w.truth.name, err)
	}
}

// look is a pass of an executor.
func (w *world) look() {
	w.t.Helper()
	o := w.Observed
	o.TrainJob = w.TrainJob.DeepCopy()
	o.Shown, o.TrainJob.Status.Conditions = o.TrainJob.Status.Conditions, w.remembered(o.TrainJob)
	o.RememberSince(w.memory)
	w.memory = o.History
	facts := phase.DeriveFacts(o)
	decision, err := decide.Decide(facts, bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	if err != nil {
		w.t.Fatal(err)
	}
	w.facts = facts
	if !decision.Ours {
		return
	}
	w.apply(decision)
	now, record := status.Compute(facts, decision, nil)
	w.says(facts.State().Phase, now)
	before, _ := jobv1.Read(o.TrainJob.Annotations, o.TrainJob.UID)
	moved := record != nil && record.Phase != before.Phase
	if status.DebounceDelay(o.TrainJob.Status, now, moved) >= status.DebounceCounts && len(decision.Delete) == 0 {
		return // counts alone wait for the next condition
	}
	w.record(record)
	now.Conditions = status.PublishedConditions(now.Conditions)
	w.TrainJob.Status = now
}

// says compares the word of a phase with the STATE that a status shows.
func (w *world) says(p jobv1.Phase, now trainer.TrainJobStatus) {
	w.t.Helper()
	state := ""
	if shown := status.PublishedConditions(now.Conditions); len(shown) > 0 {
		state = shown[len(shown)-1].Type
	}
	if p != jobv1.Stopping && p.State() != state {
		w.t.Errorf("the job is %s, whose STATE is `%s`; the status shows `%s`: %v", p, p.State(), state, inShort(now.Conditions))
	}
	lived[p] = true
}

// lived are the phases that jobs came to in all of their lives.
var lived = map[jobv1.Phase]bool{}

func (w *world) record(record *jobv1.Record) {
	labels := map[string]string{mpi.TrainJobLabel: w.TrainJob.Name}
	maps.Copy(labels, w.TrainJob.Labels)
	w.TrainJob.Labels = labels
	if record != nil {
		text := status.EncodeRecord(w.TrainJob, *record)
		if text == "" || len(text) > jobv1.MaxBytes {
			w.t.Errorf("a record of %d bytes", len(text))
		}
		w.TrainJob.Annotations = map[string]string{jobv1.Annotation: text}
	}
}

func (w *world) apply(decision decide.Decision) {
	for _, d := range decision.Delete {
		if w.JobSet != nil && d.UID == w.JobSet.UID {
			w.JobSet, w.Pods = nil, nil
		}
		w.Children = slices.DeleteFunc(w.Children, func(c metav1.PartialObjectMetadata) bool { return c.UID == d.UID })
	}
	for _, object := range decision.Create {
		if js, is := object.(*jobset.JobSet); is {
			w.make(js)
			continue
		}
		if fetch, is := object.(*batchv1.Job); is {
			w.Fetches = append(w.Fetches, *fetch)
			continue
		}
		kind, version := object.GetObjectKind().GroupVersionKind().Kind, object.GetObjectKind().GroupVersionKind().GroupVersion().String()
		w.Children = append(w.Children, childOf(version, kind, object.GetName(), types.UID(kind), object.GetOwnerReferences()))
	}
	if decision.Update != nil {
		w.JobSet = decision.Update.DeepCopy()
	}
}

func (w *world) make(js *jobset.JobSet) {
	w.attempts++
	w.JobSet = js.DeepCopy()
	w.JobSet.UID, w.JobSet.CreationTimestamp = types.UID(fmt.Sprint("jobset-", w.attempts)), metav1.NewTime(w.Now)
	w.Gate = nil
}

// pods are made anew, launcher first.
func (w *world) pods(launcher, node func(*corev1.Pod)) {
	w.Pods = nil
	for i, role := range []string{mpi.LauncherJob, mpi.NodeJob} {
		pod := podOf(role, 0, []func(*corev1.Pod){launcher, node}[i])
		pod.Labels[mpi.JobSetUIDLabel] = string(w.JobSet.UID)
		w.Pods = append(w.Pods, pod)
	}
	w.count(1)
}

// count sets the counts of child Jobs.
func (w *world) count(active int32) {
	w.JobSet.Status.ReplicatedJobsStatus = []jobset.ReplicatedJobStatus{{Name: mpi.LauncherJob, Active: active}, {Name: mpi.NodeJob, Active: active}}
}

func pendingPod(pod *corev1.Pod) { pod.Status.Phase = corev1.PodPending }

// placedPod has a machine, and inGate runs there.
func placedPod(pod *corev1.Pod) { pendingPod(pod); pod.Spec.NodeName = "machine" }

func inGate(pod *corev1.Pod) { ready(pod); pod.Spec.NodeName = "machine" }

func (w *world) podsCome() { w.pods(pendingPod, pendingPod) }

// gatePasses lets all pods run, and the launcher say that its nodes answer.
func (w *world) gatePasses() {
	w.pods(ready, ready)
	w.Gate = &observe.GateState{Launcher: "launcher-0", Result: &mpi.GateResult{Passed: true}}
}

func (w *world) ends(kind jobset.JobSetConditionType) func() {
	return func() {
		w.JobSet = w.JobSet.DeepCopy()
		w.JobSet.Status.Conditions = append(w.JobSet.Status.Conditions, metav1.Condition{
			Type: string(kind), Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(w.Now), Reason: "Test", Message: "said by JobSet",
		})
		w.count(0)
	}
}

// dies ends both pods, and their JobSet with them.
func (w *world) dies(launcher, node func(*corev1.Pod)) func() {
	return func() {
		w.pods(launcher, node)
		w.ends(jobset.JobSetFailed)()
	}
}

func (w *world) suspends(want bool) func() {
	return func() {
		w.TrainJob.Spec.Suspend = ptr.To(want)
		w.TrainJob.Generation++
	}
}

// stops is what JobSet does of a suspended job.
func (w *world) stops() {
	w.Pods, w.Gate = nil, nil
	apimeta.SetStatusCondition(&w.JobSet.Status.Conditions, metav1.Condition{
		Type: string(jobset.JobSetSuspended), Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(w.Now), Reason: "Test",
	})
	w.count(0)
}

// starts lets a job come to run, and completes lets it end well.
func (w *world) starts() {
	w.t.Helper()
	w.to(starting, w.podsCome)
	w.to(runs, w.gatePasses)
}

func (w *world) completes() {
	w.t.Helper()
	w.to(complete, w.ends(jobset.JobSetCompleted))
}

func exits(code int32, reason, message string) func(*corev1.Pod) {
	return died(t0, code, reason, message)
}

// executors are lives of jobs that we run: every end, and every way there.
func executors() map[string]func(*testing.T) {
	full := []corev1.ResourceQuota{quotaOf(resources("pods", "2"), resources("pods", "1"))}
	life := func(live func(*world), edits ...func(*trainer.TrainJob)) func(*testing.T) {
		return func(t *testing.T) { live(newWorld(t, edits...)) }
	}
	ofReason := func(want mpi.Reason, launcher, node func(*corev1.Pod)) func(*testing.T) {
		return life(func(w *world) {
			w.to(starting, nil)
			w.starts()
			w.to(hasFailed, w.dies(launcher, node))
			w.endsWith(want)
		})
	}
	verdictOf := func(reason mpi.Reason) func(*corev1.Pod) {
		return exits(1, "Error", verdict(mpi.Verdict{
			Reason: reason, Message: "as the agent says", ExitCode: 1,
			Usage: &mpi.JobUsage{
				Pods: 2, CPUPerPod: 1.25, MemoryPeak: 1 << 29, MemoryLimit: 1 << 30, Host: "demo-node-0-1.demo", SentBytes: 3 << 30,
			},
		}))
	}
	return map[string]func(*testing.T){
		"Completes":       life(func(w *world) { w.to(starting, nil); w.starts(); w.completes() }),
		"CompletesAtOnce": life(func(w *world) { w.to(starting, nil); w.podsCome(); w.completes() }),
		"FailsByItself":   ofReason(mpi.ReasonCommandFailed, verdictOf(mpi.ReasonCommandFailed), ready),
		"FailsByARank":    ofReason(diagnose.RankFailed, verdictOf(diagnose.RankFailed), ready),
		"FailsAtTheGate":  ofReason(mpi.ReasonGateTimeout, verdictOf(mpi.ReasonGateTimeout), ready),
		"RunsOutOfMemory": ofReason(diagnose.OOMKilled, exits(1, "Error", ""), exits(137, "OOMKilled", "")),
		"IsKilled":        ofReason(diagnose.LauncherKilled, exits(139, "Error", ""), ready),
		"HasNoVerdict":    ofReason(diagnose.LauncherFailed, exits(3, "Error", ""), ready),
		"IsEvicted":       ofReason(diagnose.Preempted, ready, evicted),
		"FailsForNoReason": life(func(w *world) {
			w.to(starting, nil)
			w.starts()
			w.to(hasFailed, func() { w.Pods = nil; w.ends(jobset.JobSetFailed)() }, limps)
			w.endsWith(diagnose.JobSetFailed)
		}),
		"LosesItsJobSet": life(func(w *world) {
			w.to(starting, nil)
			w.starts()
			w.to(hasFailed, func() { w.JobSet, w.Pods = nil, nil })
			w.endsWith(diagnose.JobSetDeleted)
		}),
		"LosesAPod": life(func(w *world) {
			w.to(starting, nil)
			w.starts()
			w.to(limps, func() { w.Pods = w.Pods[:1] })
			w.to(runs, w.gatePasses)
			w.completes()
		}),
		"IsRefused": life(func(w *world) { w.to(hasFailed, nil); w.endsWith(diagnose.InvalidWorld) }, asks(trainer.Trainer{NumNodes: ptr.To[int32](0)})),
		"NameIsTaken": life(func(w *world) {
			w.Children = []metav1.PartialObjectMetadata{childOf("v1", "Secret", "demo-mpi-ssh-auth", "s1", nil)}
			w.to(hasFailed, nil)
			w.endsWith(diagnose.NameTaken)
		}),
		"WaitsForItsRuntime": life(func(w *world) {
			runtime := w.Runtime
			w.Runtime = nil
			w.to(waiting, nil)
			w.to(starting, func() { w.Runtime = runtime })
			w.starts()
			w.completes()
		}),
		"NeverFitsTheQuota": life(func(w *world) {
			w.Bounds.Quotas = []corev1.ResourceQuota{quotaOf(resources("pods", "1"), nil)}
			w.to(hasFailed, nil)
			w.endsWith(diagnose.QuotaExceeded)
		}),
		"WaitsForTheQuota": life(func(w *world) {
			w.Bounds.Quotas = full
			w.to(waiting, nil)
			w.to(starting, func() { w.Bounds.Quotas = nil })
			w.starts()
			w.completes()
		}),
		"MissesItsDeadlineInTheQuota": life(func(w *world) {
			w.Bounds.Quotas = full
			w.to(waiting, nil)
			w.to(hasFailed, func() { w.Now = w.Now.Add(time.Hour) })
			w.endsWith(diagnose.DeadlineExceeded)
		}, deadline(600)),
		"MissesItsDeadlineAsItRuns": life(func(w *world) {
			w.to(starting, nil)
			w.starts()
			w.to(hasFailed, func() { w.Now = w.Now.Add(time.Hour) })
			w.endsWith(diagnose.DeadlineExceeded)
		}, deadline(600)),
		"MissesItsGang": life(func(w *world) {
			w.Runtime.Annotations = map[string]string{mpi.GangTimeoutAnnotation: "10m"}
			w.to(starting, nil)
			w.to(starting, w.podsCome)
			w.to(hasFailed, func() { w.Now = w.Now.Add(time.Hour) })
			w.endsWith(diagnose.GangTimeout)
		}),
		"FindsNoRoomForAWhile": life(func(w *world) {
			w.to(starting, nil)
			w.to(starting, func() {
				w.pods(pendingPod, func(pod *corev1.Pod) {
					pendingPod(pod)
					pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/2 nodes are available"}}
				})
			})
			w.starts()
			w.completes()
		}),
		"PullsItsImages": life(func(w *world) {
			w.to(starting, nil)
			w.to(starting, func() { w.pods(placedPod, placedPod) })
			w.starts()
			w.completes()
		}),
		"WaitsInItsGate": life(func(w *world) {
			w.to(starting, nil)
			w.to(starting, func() { w.pods(inGate, inGate) })
			w.starts()
			w.completes()
		}),
		"IsOutOfReachForAWhile": life(func(w *world) {
			w.to(starting, nil)
			w.to(starting, func() {
				w.pods(ready, pendingPod)
				w.Gate = &observe.GateState{Launcher: "launcher-0", Error: "connection timed out", GaveUp: true}
			})
			w.to(runs, w.gatePasses)
			w.completes()
		}),
		"IsMadeSuspended": life(func(w *world) {
			w.to(paused, nil)
			w.to(starting, w.suspends(false))
			w.starts()
			w.completes()
		}, suspend),
		"IsSuspendedAndResumed": life(func(w *world) {
			w.to(starting, nil)
			w.starts()
			w.to(paused, w.suspends(true))
			w.to(paused, w.stops)
			w.to(starting, w.suspends(false))
			w.starts()
			w.to(paused, w.suspends(true))
			w.to(paused, w.stops)
		}),
		"IsResumedIntoAFullQuota": life(func(w *world) {
			w.to(paused, nil)
			w.to(starting, func() { w.Bounds.Quotas = full; w.suspends(false)() })
			w.to(starting, func() { w.Bounds.Quotas = nil })
			w.starts()
			w.completes()
		}, suspend),
		"FailsAfterItWasResumed": life(func(w *world) {
			w.to(paused, nil)
			w.to(starting, w.suspends(false))
			w.starts()
			w.to(hasFailed, w.dies(verdictOf(mpi.ReasonCommandFailed), ready))
			w.endsWith(mpi.ReasonCommandFailed)
		}, suspend),
		"QueuesAndIsPreempted": life(func(w *world) {
			w.to(paused, nil)
			for _, place := range []string{"3", "2", "1"} {
				w.to(paused, func() { w.Wait = kueue.QueueWait{Text: kueue.WaitPrefix + "jobs` at position " + place, Known: true} })
			}
			w.to(starting, func() { w.Wait = kueue.NoQueueWait(); w.suspends(false)() })
			w.starts()
			w.to(paused, func() {
				w.Eviction = &kueue.Eviction{Reason: diagnose.Preempted, Message: "Preempted to accommodate a workload"}
				w.suspends(true)()
			})
			w.to(paused, w.stops)
			w.to(starting, func() { w.Eviction = nil; w.suspends(false)() })
			w.starts()
			w.completes()
		}, suspend, func(trainJob *trainer.TrainJob) { trainJob.Labels = map[string]string{kueue.QueueLabel: "jobs"} }),
		"FetchesItsData": life(func(w *world) {
			w.to(starting, nil)
			w.to(starting, func() {
				w.Fetches[0].Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
			})
			w.starts()
			w.completes()
		}, fetches("s3://bucket/set")),
		"RestartsOnce": life(func(w *world) {
			w.Runtime.Annotations = map[string]string{mpi.RestartsAnnotation: "1"}
			w.to(starting, nil)
			w.starts()
			w.to(starting, w.dies(ready, evicted), again)
			w.starts()
			w.completes()
		}),
		"RestartsUntilItMayNoMore": life(func(w *world) {
			w.Runtime.Annotations = map[string]string{mpi.RestartsAnnotation: "2"}
			w.to(starting, nil)
			for range 2 {
				w.starts()
				w.to(starting, w.dies(ready, evicted), again)
			}
			w.starts()
			w.to(hasFailed, w.dies(ready, evicted))
			w.endsWith(diagnose.Preempted)
		}),
		"RestartsIntoAFullQuota": life(func(w *world) {
			w.Runtime.Annotations = map[string]string{mpi.RestartsAnnotation: "1"}
			w.to(starting, nil)
			w.starts()
			w.to(again, func() { w.Bounds.Quotas = full; w.dies(ready, evicted)() })
			w.to(paused, w.suspends(true))
			w.to(starting, func() { w.Bounds.Quotas = nil; w.suspends(false)() }, again)
			w.starts()
			w.completes()
		}),
	}
}

// endsWith says why a job failed.
func (w *world) endsWith(want mpi.Reason) {
	w.t.Helper()
	if c := apimeta.FindStatusCondition(w.TrainJob.Status.Conditions, trainer.TrainJobFailed); c == nil || c.Reason != string(want) {
		w.t.Errorf("want %s, got %v", want, inShort(w.TrainJob.Status.Conditions))
	}
}

// In every moment of every life of a job that we run clients say of it what it does, and none shows Unknown once anybody has looked at it.
func TestClientsReadWholeLivesRight(t *testing.T) {
	for name, live := range executors() {
		t.Run(name, live)
	}
	if all := len(executors()) + len(companions()); all < 20 {
		t.Errorf("these are %d lives", all)
	}
	for _, p := range jobv1.AllPhases() {
		if !lived[p] {
			t.Errorf("no job was ever %s", p)
		}
	}
}
