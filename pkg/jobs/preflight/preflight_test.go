package preflight

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
	"lockstep.dev/lockstep/pkg/mpi/template"
)

// runtime has nodes of 1 CPU and 1Gi, and a launcher of the same size.
func runtime(t *testing.T) *mpijob.Runtime {
	t.Helper()
	resources := corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi")}
	r := template.Runtime{
		Name: "r", Implementation: "MPICH", Version: "4.2", Annotations: map[string]string{"lockstep.dev/min-nodes": "2", "lockstep.dev/max-nodes": "64"},
		NodeResources: resources, LauncherResources: resources,
	}
	r.World.Nodes, r.World.SlotsPerNode = 2, 2
	built, err := r.Build()
	if err != nil {
		t.Fatal(err)
	}
	return &mpijob.Runtime{Labels: built.Labels, Annotations: built.Annotations, Spec: built.Spec}
}

// priced is runtime with a price.
func priced(t *testing.T, price string) *mpijob.Runtime {
	r := runtime(t)
	r.Annotations["lockstep.dev/node-price-per-hour"] = price
	return r
}

func job(nodes int32) *trainer.TrainJob {
	return &trainer.TrainJob{
		ObjectMeta: metav1.ObjectMeta{Name: "train", Namespace: "team"},
		Spec:       trainer.TrainJobSpec{RuntimeRef: trainer.RuntimeRef{Name: "r"}, Trainer: &trainer.Trainer{NumNodes: &nodes}},
	}
}

func quota(hard, used string) observe.NamespaceBounds {
	return observe.NamespaceBounds{Quotas: []corev1.ResourceQuota{{
		ObjectMeta: metav1.ObjectMeta{Name: "q"},
		Status: corev1.ResourceQuotaStatus{
			Hard: corev1.ResourceList{"requests.cpu": resource.MustParse(hard)}, Used: corev1.ResourceList{"requests.cpu": resource.MustParse(used)},
		},
	}}}
}

func TestJudge(t *testing.T) {
	limits := observe.NamespaceBounds{Limits: []corev1.LimitRange{{ObjectMeta: metav1.ObjectMeta{Name: "l"}, Spec: corev1.LimitRangeSpec{
		Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypePod, Max: corev1.ResourceList{"cpu": resource.MustParse("500m")}}},
	}}}}
	absent := observe.NamespaceBounds{Missing: []mpijob.ObjectReference{{Kind: "PersistentVolumeClaim", Name: "data"}}}
	cases := map[string]struct {
		reason  string
		in      Input
		verdict Verdict
		summary string
		text    string
	}{
		"Fits":        {"", Input{TrainJob: job(4), Runtime: runtime(t), Bounds: quota("5", "0")}, Fits, "fits now", "nothing found that stops it"},
		"Price":       {"", Input{TrainJob: job(4), Runtime: priced(t, "24.5")}, Fits, "fits now", "an hour costs 98.00: 4 nodes at 24.50"},
		"NoPrice":     {"somebody wrote no number", Input{TrainJob: job(4), Runtime: priced(t, "cheap")}, Fits, "fits now", "nothing found that stops it"},
		"Suspended":   {"it is judged as if it ran", Input{TrainJob: suspended(job(4)), Runtime: runtime(t), Bounds: quota("5", "1")}, Waits, "waits; the largest that fits now has 3 nodes", "quota"},
		"QuotaWaits":  {"the launcher counts, too", Input{TrainJob: job(4), Runtime: runtime(t), Bounds: quota("5", "1")}, Waits, "waits; the largest that fits now has 3 nodes", "available 4 of 5 in quota `q`"},
		"QuotaNever":  {"", Input{TrainJob: job(40), Runtime: runtime(t), Bounds: quota("11", "0")}, Never, "never; the largest that fits now has 10 nodes", "quota `q` allows 11 in all"},
		"NotEvenOne":  {"the runtime wants two nodes", Input{TrainJob: job(4), Runtime: runtime(t), Bounds: quota("5", "3")}, Waits, "waits; not even the smallest job of this runtime fits now", "quota"},
		"LimitRange":  {"fewer nodes do not help", Input{TrainJob: job(4), Runtime: runtime(t), Bounds: limits}, Never, "never", "LimitRange `l`"},
		"TooMany":     {"", Input{TrainJob: job(65), Runtime: runtime(t)}, Never, "never", "at most 64"},
		"Volume":      {"", Input{TrainJob: job(4), Runtime: runtime(t), Bounds: absent}, Waits, "waits", "`data`"},
		"Denied":      {"", Input{TrainJob: job(4), Denied: "the API server refuses it: no"}, Never, "never", "admission never  the API server refuses it: no"},
		"Rights":      {"", Input{TrainJob: job(4), Rights: []string{"User 'jane' lacks 'create' permission"}}, Never, "never", "rights    never  User 'jane' lacks 'create' permission"},
		"NotMPI":      {"", Input{TrainJob: job(4), Runtime: &mpijob.Runtime{}, Bounds: quota("5", "5")}, Fits, "fits now", "not seen  room: how many pods a job of runtime `"},
		"NoQueue":     {"", Input{TrainJob: job(4), Queue: &QueueState{Name: "x", Missing: true}}, Never, "never", "there is no queue `x`"},
		"EmptyQueue":  {"", Input{TrainJob: job(4), Queue: &QueueState{Name: "x"}}, Fits, "fits now", "nothing"},
		"Queue":       {"", Input{TrainJob: job(4), Queue: &QueueState{Name: "x", Waiting: 2}}, Waits, "waits at position 3", "2 jobs wait in queue `x`"},
		"OneWaits":    {"", Input{TrainJob: job(4), Queue: &QueueState{Name: "x", Waiting: 1}}, Waits, "waits at position 2", "1 job waits in queue `x`"},
		"NoMachine":   {"", Input{TrainJob: job(4), Machines: &MatchingMachines{}}, Never, "never", "no machine has the labels"},
		"NoneReady":   {"", Input{TrainJob: job(4), Machines: &MatchingMachines{Matching: 3}}, Waits, "waits", "of the 3 machines"},
		"Unseen":      {"what is not seen is no obstacle", Input{TrainJob: job(4), Unseen: []string{"machines: User 'jane' lacks …"}}, Fits, "fits now", "not seen  machines: User 'jane' lacks …"},
		"OneNodeFits": {"", Input{TrainJob: job(3), Runtime: runtime(t), Bounds: quota("3", "0")}, Never, "never; the largest that fits now has 2 nodes", "quota"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := JudgeInput(tc.in)
			if a.Verdict != tc.verdict || a.Summary() != tc.summary || !strings.Contains(a.Text(), tc.text) {
				t.Errorf("%s: %s\n%s", tc.reason, a.Verdict, a.Text())
			}
		})
	}
}

func suspended(j *trainer.TrainJob) *trainer.TrainJob {
	j.Spec.Suspend = ptr.To(true)
	return j
}

// A job that leaves the number of nodes to its runtime is judged by that.
func TestNodesOfTheRuntime(t *testing.T) {
	j := job(0)
	j.Spec.Trainer = nil
	a := JudgeInput(Input{TrainJob: j, Runtime: runtime(t), Bounds: quota("2", "0")})
	if a.Verdict != Never || a.LargestNodes == nil || *a.LargestNodes != 0 {
		t.Error(a.Text())
	}
}

func TestJSON(t *testing.T) {
	text, err := json.Marshal(JudgeInput(Input{TrainJob: job(40), Runtime: runtime(t), Bounds: quota("11", "0"), Queue: &QueueState{Name: "x", Waiting: 2}}))
	if err != nil || !strings.Contains(string(text), `"verdict":"never","position":3,"largestNodes":10,"findings":[{"about":"quota","verdict":"never","reason":"QuotaExceeded"`) {
		t.Errorf("%s %v", text, err)
	}
}
