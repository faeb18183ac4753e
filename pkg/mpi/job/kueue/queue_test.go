package kueue

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
)

// noRoom is Kueue's message (sigs.k8s.io/kueue pkg/scheduler/flavorassigner).
const noRoom = "couldn't assign flavors to pod set node: insufficient unused quota for cpu in flavor any, 200m more needed"

// now is the present of the tests.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// demo is a TrainJob of an age.
func demo(age time.Duration) *trainer.TrainJob {
	return &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Name: "demo", UID: "uid-new", CreationTimestamp: metav1.NewTime(now.Add(-age))}}
}

// pendingOf is a Workload that waits since a minute, the older ones first.
func pendingOf(job string, age time.Duration) Workload {
	return Workload{Job: types.UID(job), Queue: "jobs", Created: now.Add(-age), why: noRoom}
}

// startedOf is one that got its quota after a wait.
func startedOf(n int, waited time.Duration) Workload {
	created := now.Add(-24*time.Hour + time.Duration(n)*time.Minute)
	return Workload{Job: types.UID(fmt.Sprint("started-", n)), Queue: "jobs", Created: created, Reserved: created.Add(waited), admitted: true}
}

func orderOf(jobs ...string) *QueueOrder {
	order := &QueueOrder{Positions: map[types.UID]QueuePosition{}, Length: len(jobs)}
	for i, uid := range jobs {
		order.Positions[types.UID(uid)] = QueuePosition{InQueue: i, Overall: i}
	}
	return order
}

// behind is the order of a queue with one job, which stands behind jobs of other queues.
func behind(others int) *QueueOrder {
	return &QueueOrder{Positions: map[types.UID]QueuePosition{"uid-new": {InQueue: 0, Overall: others}}, Length: 1}
}

func manyBefore(n int, last string) []string {
	var jobs []string
	for i := range n {
		jobs = append(jobs, fmt.Sprint("other-", i))
	}
	return append(jobs, last)
}

func TestLineSaysOfAWait(t *testing.T) {
	waiting := pendingOf("uid-new", time.Minute)
	base := []Workload{startedOf(1, 2*time.Minute), startedOf(2, time.Hour), startedOf(3, 3*time.Minute)}
	with := func(first Workload, more ...Workload) []Workload { return append([]Workload{first}, more...) }
	edited := func(edit func(*Workload)) Workload {
		w := waiting
		edit(&w)
		return w
	}
	long := make([]Workload, 0, 30)
	for i := range 30 {
		long = append(long, pendingOf(fmt.Sprint("other-", i), time.Hour))
	}
	group := orderOf(manyBefore(64, "uid-new")...)
	group.Positions["uid-new"], group.Length = QueuePosition{InQueue: 1, Overall: 1}, 3
	cases := map[string]struct {
		reason    string
		workloads []Workload
		order     *QueueOrder
		want      string
		rank      int
	}{
		"First":      {"", with(waiting), orderOf("uid-new", "b"), " at position 1 of 2: " + noRoom, 1},
		"Second":     {"", with(waiting), orderOf("b", "uid-new"), " at position 2 of 2: " + noRoom, 2},
		"NoOrder":    {"a cluster without the visibility server", with(waiting), nil, ": " + noRoom, 1},
		"Untried":    {"Kueue has not looked at it yet", with(edited(func(w *Workload) { w.why = "" })), orderOf("uid-new"), " at position 1 of 1", 1},
		"FullStop":   {"", with(edited(func(w *Workload) { w.why = "LocalQueue jobs doesn't exist." })), nil, ": LocalQueue jobs doesn't exist", 1},
		"OneOther":   {"jobs of another namespace wait for the same machines", with(waiting), behind(1), " at position 1 of 1, and behind 1 job of another queue: " + noRoom, 1},
		"Others":     {"", with(waiting), behind(30), " at position 1 of 1, and behind more than 20 jobs of other queues: " + noRoom, 1},
		"LongQueue":  {"its length moves all the time", with(waiting), orderOf(append([]string{"uid-new"}, manyBefore(30, "z")...)...), " at position 1 of more than 20: " + noRoom, 1},
		"Twentieth":  {"", with(waiting), orderOf(manyBefore(19, "uid-new")...), " at position 20 of 20: " + noRoom, 20},
		"Tail":       {"nothing that moves", with(waiting), orderOf(manyBefore(20, "uid-new")...), ", where 20 jobs or more are ahead of it", 21},
		"TailStays":  {"an estimate would move for all of thousands", with(waiting, base...), orderOf(manyBefore(20, "uid-new")...), ", where 20 jobs or more are ahead of it", 21},
		"Groups":     {"a Workload of many pods has as many owners, one has none", with(waiting), group, " at position 2 of 3: " + noRoom, 2},
		"Untold":     {"Kueue tells the first 1,000 only", with(waiting), orderOf(manyBefore(999, "z")...), ", where 20 jobs or more are ahead of it", 1001},
		"GuessTail":  {"a guess is no position", with(waiting, long...), nil, "", 31},
		"Priority":   {"a guess heeds priorities", with(edited(func(w *Workload) { w.Priority = 5 }), long...), nil, ": " + noRoom, 1},
		"Inactive":   {"Kueue has given it up", with(edited(func(w *Workload) { w.inactive, w.why = true, "The workload is deactivated" })), orderOf(manyBefore(40, "z")...), ": The workload is deactivated", 0},
		"Checks":     {"", with(edited(func(w *Workload) { w.Reserved = now })), orderOf(), ": its quota is reserved, and Kueue waits for admission checks", 0},
		"NoWorkload": {"Kueue does not manage it", nil, orderOf(), ": Kueue has made no Workload for it", 0},
		"OtherQueue": {"", with(edited(func(w *Workload) { w.Queue = "other" })), orderOf(), ": Kueue has made no Workload for it", 0},
		"Estimate":   {"", with(waiting, base...), orderOf("uid-new"), " at position 1 of 1: " + noRoom + "; estimated wait: about 3 min in all, the median of the last 3 jobs of this queue", 1},
		"TooFew":     {"two are no base", with(waiting, base[:2]...), orderOf("uid-new"), " at position 1 of 1: " + noRoom, 1},
		"Stopped":    {"jobs that were stopped have run meanwhile", with(waiting, startedOf(1, time.Hour), startedOf(2, time.Hour), Workload{Queue: "jobs", Created: now.Add(-9 * time.Hour), Reserved: now, stopped: true}), orderOf("uid-new"), " at position 1 of 1: " + noRoom, 1},
		"WasStopped": {"its wait did not begin with its creation", with(edited(func(w *Workload) { w.stopped = true }), base...), orderOf("uid-new"), " at position 1 of 1: " + noRoom, 1},
		"Longer":     {"the estimate was wrong for this one", with(edited(func(w *Workload) { w.Created = now.Add(-4 * time.Minute) }), base...), orderOf("uid-new"), " at position 1 of 1: " + noRoom + "; it has waited longer than the last 3 jobs of this queue did (median: about 3 min)", 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			wait, rank := NewLocalQueue("jobs", tc.workloads, tc.order).WaitOf(demo(time.Minute), now)
			if want := "; waits in queue `jobs`" + tc.want; wait.Text != want || !wait.Known || rank != tc.rank {
				t.Errorf("%s:\n got %+v, rank %d\nwant %s, rank %d", tc.reason, wait, rank, want, tc.rank)
			}
			named := strings.Contains(tc.want, fmt.Sprintf("position %d of ", wait.Position))
			if named != strings.Contains(tc.want, " at position ") || wait.Position > wait.Length {
				t.Errorf("%s: at position %d of %d, and the text is `%s`", tc.reason, wait.Position, wait.Length, tc.want)
			}
		})
	}
}

func TestAMomentWithoutAWait(t *testing.T) {
	young := demo(time.Second)
	if wait, _ := NewLocalQueue("jobs", nil, nil).WaitOf(young, now); wait.Known {
		t.Errorf("Kueue makes a Workload within milliseconds, and we may be faster: %+v", wait)
	}
	admitted := pendingOf("uid-new", time.Minute)
	admitted.Reserved, admitted.admitted = now, true
	line := NewLocalQueue("jobs", []Workload{admitted}, orderOf())
	if wait, _ := line.WaitOf(demo(time.Minute), now); wait.Known {
		t.Errorf("it starts in a moment: %+v", wait)
	}
	late, _ := line.WaitOf(demo(time.Minute), now.Add(kueueExpected))
	if late.Text != "; waits in queue `jobs`: Kueue has admitted it and does not resume it" || !late.NotResumed {
		t.Errorf("Kueue should have resumed it: %+v", late)
	}
}

// The estimate is made of the jobs that started last, not of all there ever were.
func TestEstimateForgets(t *testing.T) {
	workloads := []Workload{pendingOf("uid-new", time.Minute)}
	for i := range 30 {
		waited := time.Hour
		if i >= 20 {
			waited = 5 * time.Minute
		}
		workloads = append(workloads, startedOf(i*60, waited))
	}
	wait, _ := NewLocalQueue("jobs", workloads, orderOf("uid-new")).WaitOf(demo(time.Minute), now)
	if !strings.HasSuffix(wait.Text, "; estimated wait: about 5 min in all, the median of the last 10 jobs of this queue") {
		t.Error(wait.Text)
	}
}

func TestAbout(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "less than 1 min", 59 * time.Second: "less than 1 min", 61 * time.Second: "about 1 min", 9*time.Minute + 40*time.Second: "about 10 min",
		14 * time.Minute: "about 10 min", 54 * time.Minute: "about 50 min", 56 * time.Minute: "about 1 h", 100 * time.Minute: "about 2 h",
		30 * time.Hour: "about 30 h", 37 * time.Hour: "about 2 days", 60 * time.Hour: "about 3 days",
	} {
		if got := roundedDuration(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}

// seenByKueue is what Kueue 0.19 has of a job that waits, shortened.
const seenByKueue = `
metadata:
  name: trainjob-demo-1234
  creationTimestamp: "2026-03-01T11:59:00Z"
  labels: {kueue.x-k8s.io/job-uid: uid-new}
spec: {active: true, priority: 7, queueName: jobs}
status:
  conditions:
  - {type: QuotaReserved, status: "False", reason: Pending, message: no room, lastTransitionTime: "2026-03-01T11:59:01Z"}
`

func TestWorkloadOf(t *testing.T) {
	waiting := Workload{Job: "uid-new", Queue: "jobs", Priority: 7, Created: now.Add(-time.Minute), why: "no room"}
	edited := func(edit func(*Workload)) Workload {
		w := waiting
		edit(&w)
		return w
	}
	reserved := strings.Replace(seenByKueue, `status: "False"`, `status: "True"`, 1)
	with := func(text, kind, status string) string {
		return text + `  - {type: ` + kind + `, status: "` + status + `", reason: X, message: x, lastTransitionTime: "2026-03-01T11:59:30Z"}` + "\n"
	}
	at := now.Add(-59 * time.Second)
	cases := map[string]struct {
		reason, text string
		want         Workload
		read         bool
	}{
		"Waits":     {"", seenByKueue, waiting, true},
		"Inactive":  {"", strings.Replace(seenByKueue, "active: true", "active: false", 1), edited(func(w *Workload) { w.inactive = true }), true},
		"Reserved":  {"", reserved, edited(func(w *Workload) { w.Reserved, w.why = at, "" }), true},
		"Admitted":  {"", with(reserved, "Admitted", "True"), edited(func(w *Workload) { w.Reserved, w.why, w.admitted = at, "", true }), true},
		"Evicted":   {"on its way back into the queue", with(reserved, "Evicted", "True"), edited(func(w *Workload) { w.why, w.stopped = "", true }), true},
		"Again":     {"evicted once, and started again", with(reserved, "Evicted", "False"), edited(func(w *Workload) { w.Reserved, w.why, w.stopped = at, "", true }), true},
		"OfNoJob":   {"", strings.Replace(seenByKueue, "job-uid", "other", 1), Workload{}, false},
		"OddShapes": {"", strings.Replace(seenByKueue, "priority: 7", "priority: [7]", 1), Workload{}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, read := WorkloadOf(object(t, tc.text))
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(Workload{})); diff != "" || read != tc.read {
				t.Errorf("%s: read %v, -want, +got:\n%s", tc.reason, read, diff)
			}
		})
	}
}

func TestOrderIn(t *testing.T) {
	got := ParseOrder(object(t, `
items:
- metadata: {name: trainjob-a, ownerReferences: [{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, name: a, uid: uid-a}]}
  localQueueName: jobs
  positionInClusterQueue: 3
  positionInLocalQueue: 1
  priority: 0
- metadata: {name: pod-group, ownerReferences: [{apiVersion: v1, kind: Pod, name: b, uid: uid-b}, {apiVersion: v1, kind: Pod, name: c, uid: uid-c}]}
  positionInClusterQueue: 4
  positionInLocalQueue: 2
- metadata: {name: of-nobody}
  positionInClusterQueue: 5
  positionInLocalQueue: 3
`))
	want := QueueOrder{Length: 3, Positions: map[types.UID]QueuePosition{"uid-a": {1, 3}, "uid-b": {2, 4}, "uid-c": {2, 4}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, odd := range []string{"{}", "items: odd"} {
		if got := ParseOrder(object(t, odd)); got.Length > 0 || len(got.Positions) > 0 {
			t.Errorf("%s: %v", odd, got)
		}
	}
}

func object(t *testing.T, text string) unstructured.Unstructured {
	t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	return unstructured.Unstructured{Object: content}
}
