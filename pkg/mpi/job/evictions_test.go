package job_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// Kubelet says in an event only that a volume outgrew its limit. The agent ends well when it is told to, so that the pod
// ends as if it had succeeded.
func TestEvictionsInEvents(t *testing.T) {
	verdict, err := mpi.Verdict{Reason: diagnose.WorkerLost, Lost: "demo-node-0-1.demo", Message: "Worker 1 was lost", ExitCode: 205}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	lost := withPods(jobSetHas(started(trainJobOf()), jobset.JobSetFailed, t0), podOf(mpi.LauncherJob, 0, died(t0, 205, "Error", string(verdict))))
	event := func(pod, reason string, at time.Time) corev1.Event {
		return corev1.Event{
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: pod}, Reason: reason, LastTimestamp: metav1.NewTime(at),
			Message: `Usage of EmptyDir volume "scratch" exceeds the limit "8Mi". `,
		}
	}
	if !phase.DeriveFacts(lost).End.IsUnexplained() {
		t.Error("nobody would look at the events")
	}
	cases := map[string]struct {
		reason string
		event  corev1.Event
		want   mpi.Reason
	}{
		"evicted":      {"", event("demo-node-0-1-abcde", "Evicted", t0), diagnose.Evicted},
		"other reason": {"", event("demo-node-0-1-abcde", "Unhealthy", t0), diagnose.WorkerLost},
		"other job":    {"", event("demo2-node-0-1-abcde", "Evicted", t0), diagnose.WorkerLost},
		"earlier job":  {"a job of the same name a while ago", event("demo-node-0-1-abcde", "Evicted", t0.Add(-24*time.Hour)), diagnose.WorkerLost},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o := lost
			o.JobSet = o.JobSet.DeepCopy()
			o.JobSet.CreationTimestamp = metav1.NewTime(t0.Add(-time.Minute))
			o.Warnings = []corev1.Event{c.event}
			got := phase.DeriveFacts(o).End.Cause()
			if got == nil || got.Reason != c.want || c.want == diagnose.Evicted && !strings.HasPrefix(got.Message, `Worker 1 (pod demo-node-0-1-abcde) was evicted: Usage of EmptyDir volume "scratch"`) {
				t.Errorf("%s: %+v", c.reason, got)
			}
			if phase.DeriveFacts(o).End.IsUnexplained() != (c.want == diagnose.WorkerLost) {
				t.Error("unexplained")
			}
		})
	}
}

// The pod of an agent that was told to end is gone a moment after the JobSet has failed, so that is told at once; an event still goes
// before it.
func TestAgentsThatWereToldToEndAreToldAtOnce(t *testing.T) {
	verdict, err := mpi.Verdict{Reason: diagnose.WorkerLost, Lost: "demo-node-0-1.demo", Host: "demo-node-0-1.demo", Message: "Worker 1 was lost", ExitCode: 205}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	ended := podOf(mpi.NodeJob, 1, died(t0.Add(-2*time.Second), 0, "Completed", ""), func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded })
	o := withPods(jobSetHas(started(trainJobOf()), jobset.JobSetFailed, t0), podOf(mpi.LauncherJob, 0, died(t0, 205, "Error", string(verdict))), ended)
	if got := phase.DeriveFacts(o).State().End; got == nil || got.Reason != diagnose.WorkerLost || !strings.Contains(got.Text(), "its agent was told to end (SIGTERM)") || !phase.DeriveFacts(o).End.IsUnexplained() {
		t.Errorf("want the worker's own end, after a look at the events, got %+v", got)
	}
	o.Warnings = []corev1.Event{{
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: ended.Name}, Reason: "Evicted", LastTimestamp: metav1.NewTime(t0.Add(-3 * time.Second)), Message: "Usage of EmptyDir volume",
	}}
	if got := phase.DeriveFacts(o).State().End; got == nil || got.Reason != diagnose.Evicted {
		t.Errorf("want the eviction, got %+v", got)
	}
	o.Warnings, o.Pods = nil, o.Pods[:1]
	if got := phase.DeriveFacts(o).State().End; got != nil {
		t.Errorf("without the pod it is too early to tell, got %+v", got)
	}
}
