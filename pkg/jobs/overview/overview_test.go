package overview

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/cost"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
	"lockstep.dev/lockstep/pkg/mpi/template"
)

// now is in the middle of a month.
var now = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

func hoursAgo(h float64) metav1.Time {
	return metav1.NewTime(now.Add(-time.Duration(h * float64(time.Hour))))
}

// gpuRuntime takes machines of the profile h100, of 8 CPU and 4 GPUs, at 10 an hour.
func gpuRuntime(t *testing.T) *job.Runtime {
	t.Helper()
	node := corev1.ResourceList{"cpu": resource.MustParse("6"), "nvidia.com/gpu": resource.MustParse("4")}
	r := template.Runtime{
		Name: "gpu", Implementation: "OpenMPI", Version: "5.0", Labels: map[string]string{ProfileLabel: "h100"},
		Annotations:   map[string]string{mpi.PriceAnnotation: "10"},
		NodeResources: node, LauncherResources: corev1.ResourceList{"cpu": resource.MustParse("1")},
		NodeSelector: map[string]string{"gpu": "h100"},
	}
	r.World.Nodes, r.World.SlotsPerNode = 2, 4
	built, err := r.Build()
	if err != nil {
		t.Fatal(err)
	}
	return &job.Runtime{Labels: built.Labels, Annotations: built.Annotations, Spec: built.Spec}
}

// made is a job of two nodes with a record.
func made(t *testing.T, name string, record jobv1.Record) view.JobObjects {
	t.Helper()
	record.Version, record.UID, record.Executor = jobv1.Version, types.UID(name), jobv1.Controller
	record.World = &jobv1.World{Nodes: 2, SlotsPerNode: 4, Slots: 8}
	text, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	trainJob := &trainer.TrainJob{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "team", UID: types.UID(name), CreationTimestamp: hoursAgo(100),
			Annotations: map[string]string{jobv1.Annotation: string(text), view.UserAnnotation: "jane"},
		},
		Spec: trainer.TrainJobSpec{RuntimeRef: trainer.RuntimeRef{Name: "gpu"}},
	}
	return view.JobObjects{Now: now, TrainJob: trainJob, Runtime: gpuRuntime(t), PodsRead: true}
}

func suspended(o view.JobObjects) view.JobObjects {
	o.TrainJob.Spec.Suspend = ptr.To(true)
	o.TrainJob.Status.Conditions = []metav1.Condition{{
		Type: trainer.TrainJobSuspended, Status: metav1.ConditionTrue, Reason: "Suspended",
	}}
	return o
}

func ended(o view.JobObjects, kind string, at metav1.Time) view.JobObjects {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: kind, LastTransitionTime: at}
	if record, _ := jobv1.Read(o.TrainJob.Annotations, o.TrainJob.UID); record.Cause != nil {
		c.Reason, c.Message = record.Cause.Reason, record.Cause.Message
	}
	o.TrainJob.Status.Conditions = append(o.TrainJob.Status.Conditions, c)
	return o
}

// The month costs what `runtime-compiler cost` makes of the same lives in the audit log, and what `kubectl mpi list`
// shows of each job.
func TestTheMonthIsThatOfTheAuditLog(t *testing.T) {
	type step struct {
		what string
		ago  float64
	}
	complete := func(usage *jobv1.Usage) view.JobObjects {
		o := made(t, "a", jobv1.Record{Phase: jobv1.Complete, Usage: usage})
		return ended(o, trainer.TrainJobComplete, hoursAgo(2))
	}
	running := func(since float64, usage *jobv1.Usage) view.JobObjects {
		return made(t, "a", jobv1.Record{Phase: jobv1.Running, Started: hoursAgo(since), Usage: usage})
	}
	usage := func(hours float64, since metav1.Time) *jobv1.Usage {
		return &jobv1.Usage{MachineSeconds: int64(2 * hours * 3600), Since: since, NodePrice: 10}
	}
	for name, c := range map[string]struct {
		steps []step
		job   view.JobObjects
		hours float64
		whole bool
	}{
		"complete": {
			[]step{{"Running", 5}, {"Complete", 2}},
			complete(usage(3, metav1.Time{})), 6, true,
		},
		"running": {
			[]step{{"Running", 5}, {"now", 0}},
			running(5, usage(0, hoursAgo(5))), 10, true,
		},
		"resumed": {
			[]step{{"Running", 9}, {"suspend", 7}, {"Running", 1}, {"now", 0}},
			running(1, usage(2, hoursAgo(1))), 6, true,
		},
		"since last month": {
			[]step{{"Running", 400}, {"Complete", 2}},
			complete(usage(398, metav1.Time{})), 2 * (348 - 2), false,
		},
		"suspended": {
			[]step{{"Running", 450}, {"suspend", 340}, {"now", 0}},
			suspended(made(t, "a", jobv1.Record{
				Phase: jobv1.Suspended, Since: hoursAgo(340), Usage: usage(110, metav1.Time{}),
			})), 16, false,
		},
		"never ran": {[]step{{"Failed", 1}}, made(t, "a", jobv1.Record{Phase: jobv1.Queued}), 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			steps := []cost.JobStep{{What: "created", Time: hoursAgo(500).Time, By: "jane", Runtime: "gpu", Nodes: 2}}
			for _, s := range c.steps {
				steps = append(steps, cost.JobStep{What: s.what, Time: hoursAgo(s.ago).Time})
			}
			for i := range steps {
				steps[i].Namespace, steps[i].Job = "team", "a"
			}
			rates := cost.Cluster{
				Tenants: map[string]string{"team": "vision"}, Runtimes: map[string]cost.Runtime{"gpu": {Profile: "h100"}},
				Prices: map[string]float64{"h100": 10},
			}
			month := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
			want := cost.NewBill(cost.MachineUses(steps), &rates, month, now)
			in := Input{
				Now: now, Jobs: []view.JobObjects{c.job}, Tenants: rates.Tenants,
				Runtimes: map[string]*job.Runtime{"gpu": gpuRuntime(t)},
			}
			got := Of(in).Bill
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-audit log +overview):\n%s", diff)
			}
			var hours float64
			for _, row := range got.Rows {
				hours += row.MachineHours
			}
			if math.Abs(hours-c.hours) > 1e-9 {
				t.Errorf("%v machine-hours, want %v", hours, c.hours)
			}
			cells := view.JobOf(c.job).UsageCells(now)
			if !c.whole || hours == 0 {
				return
			}
			money, number := cost.FormatNumber(got.Rows[0].Cost), cost.FormatNumber(hours)
			if cells.Cost != money || cells.MachineHours != number {
				t.Errorf("the list shows %s and %s, the bill %v and %s", cells.MachineHours, cells.Cost, hours, money)
			}
		})
	}
}

// On the first day of a month, hours before a resumed span may be of the last month.
func TestTheMonthBeginsInARun(t *testing.T) {
	day := time.Date(2026, 11, 1, 2, 0, 0, 0, time.UTC)
	o := made(t, "a", jobv1.Record{Phase: jobv1.Running, Usage: &jobv1.Usage{
		MachineSeconds: 2 * 4 * 3600, Since: metav1.NewTime(day.Add(-time.Hour)),
	}})
	if rows := Of(Input{Now: day, Jobs: []view.JobObjects{o}}).Bill.Rows; len(rows) != 1 || rows[0].MachineHours != 4 {
		t.Errorf("%+v, want two nodes for two hours", rows)
	}
}

// Pods that wait for a machine, or are over, hold nothing.
func TestWhatJobsHold(t *testing.T) {
	spec := job.ReplicatedJob(gpuRuntime(t).Spec.Template.Spec, mpi.NodeJob).Template.Spec.Template.Spec
	pod := func(of, machine string, phase corev1.PodPhase, ago float64) corev1.Pod {
		p := corev1.Pod{Spec: spec}
		p.Namespace, p.Labels, p.Spec.NodeName = "team", map[string]string{mpi.JobSetNameLabel: of}, machine
		p.Status.Phase, p.Status.StartTime = phase, ptr.To(hoursAgo(ago))
		return p
	}
	machine := corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"gpu": "h100"}}}
	machine.Status.Allocatable = corev1.ResourceList{
		"cpu": resource.MustParse("8"), "nvidia.com/gpu": resource.MustParse("4"),
	}
	got := Of(Input{
		Now: now,
		Jobs: []view.JobObjects{
			made(t, "young", jobv1.Record{Phase: jobv1.Running}), made(t, "old", jobv1.Record{Phase: jobv1.Running}),
			made(t, "waits", jobv1.Record{Phase: jobv1.Scheduling}),
		},
		Pods: []corev1.Pod{
			pod("young", "m1", corev1.PodRunning, 1), pod("old", "m2", corev1.PodRunning, 2),
			pod("old", "m3", corev1.PodPending, 3), pod("old", "m3", corev1.PodSucceeded, 9),
			pod("old", "m3", corev1.PodFailed, 9),
			pod("waits", "", corev1.PodPending, 9), pod("strange", "m4", corev1.PodRunning, 9),
		},
		Machines: []corev1.Node{machine, machine, {}}, Runtimes: map[string]*job.Runtime{"gpu": gpuRuntime(t)},
		Tenants: map[string]string{"team": "vision"},
	})
	owner := func(name string) Owner { return Owner{Namespace: "team", Job: name, Tenant: "vision", Person: "jane"} }
	want := []Holding{
		{
			Owner: owner("old"), Profile: "h100", Phase: jobv1.Running, Since: hoursAgo(3), Machines: 2, Pods: 2,
			MilliCPU: 12_000, Accelerators: 8,
		},
		{
			Owner: owner("young"), Profile: "h100", Phase: jobv1.Running, Since: hoursAgo(1), Machines: 1, Pods: 1,
			MilliCPU: 6000, Accelerators: 4,
		},
	}
	if diff := cmp.Diff(want, got.Holdings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	kinds := []MachineKind{{Profile: "h100", Machines: 2, MilliCPU: 16_000, Accelerators: 8}}
	if diff := cmp.Diff(kinds, got.Machines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhoWaitsAndWhyJobsFailed(t *testing.T) {
	waiting := func(name string, position int) view.JobObjects {
		queue := &jobv1.Queue{Name: "lockstep", Position: position, Text: "waits"}
		o := made(t, name, jobv1.Record{Phase: jobv1.Queued, Queue: queue})
		o.TrainJob.Labels = map[string]string{kueue.QueueLabel: "lockstep"}
		return suspended(o)
	}
	failed := func(name, reason string, ago float64) view.JobObjects {
		cause := &jobv1.Cause{Reason: reason, Message: "it failed", Class: "program"}
		o := made(t, name, jobv1.Record{Phase: jobv1.Failed, Cause: cause})
		return ended(o, trainer.TrainJobFailed, hoursAgo(ago))
	}
	local := unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "lockstep", "namespace": "team"},
		"spec":     map[string]any{"clusterQueue": "vision"},
	}}
	got := Of(Input{
		Now: now, LocalQueues: []unstructured.Unstructured{local},
		Jobs: []view.JobObjects{
			waiting("far", 0), waiting("second", 2), waiting("first", 1),
			failed("a", "OutOfMemory", 5), failed("b", "Killed", 9), failed("c", "OutOfMemory", 1),
		},
	})
	var order []string
	for _, p := range got.Pending {
		order = append(order, fmt.Sprint(p.ClusterQueue, " ", p.Position, " ", p.Job))
	}
	if text := strings.Join(order, ", "); text != "vision 1 first, vision 2 second, vision 0 far" {
		t.Error(text)
	}
	owner := func(name string) Owner { return Owner{Namespace: "team", Job: name, Tenant: "team", Person: "jane"} }
	want := []FailureCount{
		{Reason: "OutOfMemory", Class: "program", Count: 2, Last: hoursAgo(1), Latest: []Owner{owner("c"), owner("a")}},
		{Reason: "Killed", Class: "program", Count: 1, Last: hoursAgo(9), Latest: []Owner{owner("b")}},
	}
	if diff := cmp.Diff(want, got.Failures); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// vision borrows two GPUs, and only speech has some idle that it may lend.
const queuesText = `
- metadata: {name: vision}
  spec:
    cohortName: all
    resourceGroups:
    - flavors: [{name: h100, resources: [{name: nvidia.com/gpu, nominalQuota: "8"}, {name: cpu, nominalQuota: "64"}]}]
  status:
    pendingWorkloads: 3
    admittedWorkloads: 2
    flavorsReservation:
    - name: h100
      resources: [{name: nvidia.com/gpu, total: "10", borrowed: "2"}, {name: cpu, total: "500m", borrowed: "0"}]
- metadata: {name: speech}
  spec:
    cohortName: all
    resourceGroups:
    - flavors: [{name: h100, resources: [{name: nvidia.com/gpu, nominalQuota: "8", lendingLimit: "6"}]}]
  status:
    flavorsReservation:
    - name: h100
      resources: [{name: nvidia.com/gpu, total: "1", borrowed: "0"}]
- metadata: {name: alone}
  spec:
    resourceGroups:
    - flavors: [{name: h100, resources: [{name: nvidia.com/gpu, nominalQuota: "8"}]}]
- metadata: {name: odd}
  spec: 7
`

func TestQueues(t *testing.T) {
	var objects []map[string]any
	if err := yaml.Unmarshal([]byte(queuesText), &objects); err != nil {
		t.Fatal(err)
	}
	in := Input{Now: now}
	for _, o := range objects {
		in.ClusterQueues = append(in.ClusterQueues, unstructured.Unstructured{Object: o})
	}
	want := []ClusterQueue{
		{Name: "alone", Shares: []QueueShare{{"h100", "nvidia.com/gpu", "8", "0", "0", "0"}}},
		{Name: "odd", Shares: []QueueShare{}},
		{Name: "speech", Cohort: "all", Shares: []QueueShare{{"h100", "nvidia.com/gpu", "8", "1", "0", "2"}}},
		{Name: "vision", Cohort: "all", Pending: 3, Admitted: 2, Shares: []QueueShare{
			{"h100", "nvidia.com/gpu", "8", "10", "2", "0"}, {"h100", "cpu", "64", "500m", "0", "0"},
		}},
	}
	if diff := cmp.Diff(want, Of(in).Queues); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Nothing at all is no `null` for a page.
func TestAnEmptyClusterHasEmptyLists(t *testing.T) {
	text, err := json.Marshal(Of(Input{Now: now}))
	if err != nil || strings.Contains(string(text), "null") {
		t.Errorf("%v %s", err, text)
	}
}

// TestWaitsOfTheWeek: the median is that in the text of a job that waits, and only waits that ended in the last week
// count, without interruptions.
func TestWaitsOfTheWeek(t *testing.T) {
	object := func(namespace, uid string, created, reserved float64, more ...metav1.Condition) kueue.Workload {
		conditions := more
		if reserved >= 0 {
			conditions = append(conditions, metav1.Condition{
				Type: "QuotaReserved", Status: metav1.ConditionTrue, LastTransitionTime: hoursAgo(reserved),
			})
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&struct {
			metav1.ObjectMeta `json:"metadata"`
			Spec              map[string]any `json:"spec"`
			Status            map[string]any `json:"status"`
		}{
			metav1.ObjectMeta{
				Namespace: namespace, CreationTimestamp: hoursAgo(created),
				Labels: map[string]string{kueue.WorkloadOfLabel: uid},
			},
			map[string]any{"queueName": "lockstep"}, map[string]any{"conditions": conditions},
		})
		if err != nil {
			t.Fatal(err)
		}
		w, _ := kueue.WorkloadOf(unstructured.Unstructured{Object: content})
		return w
	}
	evicted := metav1.Condition{Type: "Evicted", Status: metav1.ConditionFalse, Reason: "Preempted"}
	workloads := []kueue.Workload{
		object("team", "short", 5, 4.9), object("team", "middle", 5, 4.5), object("team", "long", 5, 3),
		object("team", "preempted", 50, 1, evicted), object("team", "before", 300, 169), object("team", "waits", 0.1, -1),
		object("other", "else", 2, 1),
	}
	local := unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "lockstep", "namespace": "team"},
		"spec":     map[string]any{"clusterQueue": "vision"},
	}}
	got := Of(Input{
		Now: now, Workloads: workloads, Tenants: map[string]string{"team": "seeing"},
		LocalQueues: []unstructured.Unstructured{local},
	})
	want := []QueueWaits{
		{Tenant: "other", Queue: "lockstep", Jobs: 1, MedianSeconds: 3600, P95Seconds: 3600},
		{Tenant: "seeing", Queue: "vision", Jobs: 3, MedianSeconds: 30 * 60, P95Seconds: 2 * 3600},
	}
	if diff := cmp.Diff(want, got.Waits); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	asks := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{UID: "waits", CreationTimestamp: hoursAgo(0.1)}}
	ofWeek := slices.DeleteFunc(workloads, func(w kueue.Workload) bool { return w.Job == "else" || w.Job == "before" })
	wait, _ := kueue.NewLocalQueue("lockstep", ofWeek, nil).WaitOf(asks, now)
	if !strings.Contains(wait.Text, "about 30 min in all, the median of the last 3 jobs") {
		t.Errorf("the job that waits reads %q", wait.Text)
	}
}
