package job_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/decide"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
)

// usedAfter returns the record of a job of two nodes that ran from t0 on and has ended, after a pass at a time.
func usedAfter(t *testing.T, o observe.Observed, before jobv1.Usage, now time.Time) *jobv1.Usage {
	t.Helper()
	o.Now = now
	o.TrainJob = written(o.TrainJob, []metav1.Condition{is(job.Running, metav1.ConditionTrue, job.ReasonGatePassed, "")})
	record, _ := jobv1.Read(o.TrainJob.Annotations, o.TrainJob.UID)
	record.Version, record.Phase, record.Usage = jobv1.Version, jobv1.Running, &before
	record.World = &jobv1.World{Nodes: 2, SlotsPerNode: 2, Slots: 4}
	o.TrainJob.Annotations[jobv1.Annotation] = status.EncodeRecord(o.TrainJob, record)
	f := phase.DeriveFacts(o)
	d, err := decide.Decide(f, bytes.NewReader(bytes.Repeat([]byte{7}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	_, after := status.Compute(f, d, nil)
	if after == nil {
		t.Fatal("there is no record")
	}
	return after.Usage
}

// A job uses machines from the start of its command to its end; earlier spans count, and what its launcher measured.
func TestUsageOfAnEndedJob(t *testing.T) {
	measured := &mpi.JobUsage{
		Pods: 2, CPUPerPod: 1.5, MemoryPeak: 3 << 30, MemoryLimit: 4 << 30, Host: "demo-node-0-1.demo", SentBytes: 7,
	}
	ended := func(u *mpi.JobUsage) observe.Observed {
		launcher := podOf(mpi.LauncherJob, 0, exited(0, mpi.Verdict{Usage: u}))
		return withPods(started(trainJobOf()), launcher, podOf(mpi.NodeJob, 0, ready))
	}
	before := jobv1.Usage{MachineSeconds: 100, Since: metav1.NewTime(t0)}
	want := jobv1.Usage{
		MachineSeconds: 100 + 2*60, NodePrice: 24.5, Pods: 2, CPUPerPod: 1.5, MemoryPeak: 3 << 30, MemoryLimit: 4 << 30,
		MemoryPod: "demo-node-0-1", SentBytes: 7,
	}
	if got := usedAfter(t, ended(measured), before, t0.Add(time.Minute)); got == nil || *got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}

	// Programs of the job can write the launcher's last words, and tenants can make runtimes.
	forged := ended(&mpi.JobUsage{Pods: -1, CPUPerPod: -2, MemoryPeak: -3, SentBytes: -4, Host: strings.Repeat("x", 500)})
	forged.Runtime.Annotations = map[string]string{mpi.PriceAnnotation: "NaN"}
	got := usedAfter(t, forged, before, t0.Add(time.Minute))
	got.MemoryPod = got.MemoryPod[:min(len(got.MemoryPod), 64)]
	if want := (jobv1.Usage{MachineSeconds: 220, MemoryPod: strings.Repeat("x", 60) + "…"}); *got != want {
		t.Errorf("forged: got %+v, want %+v", *got, want)
	}

	// A clock that was set back takes nothing away.
	if got := usedAfter(t, ended(nil), before, t0.Add(-time.Hour)); got == nil || got.MachineSeconds != 100 {
		t.Errorf("clock set back: got %+v", got)
	}
}

// A job that is restarted keeps its machines; one that is suspended gives them back.
func TestMachinesOfARestartedAndOfASuspendedJob(t *testing.T) {
	before := jobv1.Usage{Since: metav1.NewTime(t0)}
	failed := withPods(started(trainJobOf()), podOf(mpi.LauncherJob, 0, ready), podOf(mpi.NodeJob, 0, evicted))
	failed.Runtime = restartable("2")
	got := usedAfter(t, failed, before, t0.Add(time.Minute))
	if got == nil || got.MachineSeconds != 0 || !got.Since.Equal(&before.Since) {
		t.Errorf("restarted: got %+v, want the span that began at %s", got, t0)
	}
	suspended := withPods(started(trainJobOf()), podOf(mpi.LauncherJob, 0, ready), podOf(mpi.NodeJob, 0, ready))
	suspended.TrainJob.Spec.Suspend = ptr.To(true)
	got = usedAfter(t, suspended, before, t0.Add(time.Minute))
	if got == nil || got.MachineSeconds != 120 || !got.Since.IsZero() {
		t.Errorf("suspended: got %+v, want 120 machine-seconds and no span", got)
	}
}

// The limit of the container stands in the cause, because the kernel may end its agent with it.
func TestEvidenceHasTheMemoryLimit(t *testing.T) {
	pod := podOf(mpi.NodeJob, 0, died(t0, 137, "OOMKilled", ""))
	limits := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")}
	pod.Spec.Containers = []corev1.Container{{
		Name: mpi.Container, Resources: corev1.ResourceRequirements{Limits: limits},
	}}
	if got := observe.EvidenceOf(&pod).Containers[0].MemoryLimit; got != "256Mi" {
		t.Errorf("got a limit of `%s`", got)
	}
}
