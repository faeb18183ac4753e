package upgrade

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
	"lockstep.dev/lockstep/test/testjob"
)

const (
	// quota is the CPU of one job, with a little to spare, but not of two.
	quota = "150m"
	// goLabel is the label of machines for which a job waits that starts.
	goLabel = "lockstep-upgrade"
	// goFile is the file for which a job waits that runs.
	goFile = "/tmp/go"
	wait   = "until [ -e " + goFile + " ]; do sleep 0.2; done"
)

// flight is a job in one of the states in which an upgrade meets jobs.
type flight struct {
	state string
	job   *trainer.TrainJob
	// reached returns when the job is in its state, and release lets it go on.
	reached, release func(ctx context.Context, j *trainer.TrainJob)
	// want is its end.
	want string
	// pods are the UIDs that its launcher had in that state.
	pods []types.UID
}

const (
	hello = "mpirun -n 4 mpi-hello"
	// once and twice are the ends of jobs that launch 4 ranks, and those once more when they are let go on.
	once, twice = "Complete, 4 ranks", "Complete, 8 ranks"
)

// begin makes a job of each state, and returns when they are in it, the ones last that others wait for.
func begin(ctx SpecContext) []*flight {
	GinkgoHelper()
	kubectl(ctx, "label", "nodes", "--all", goLabel+"-")
	preempted := &flight{"preempted", inQueue("shared", waiting(hello)), waitRunning, runAgain, twice, nil}
	flights := []*flight{
		{"running", inQueue("full", waiting(hello)), waitRunning, letGo, twice, nil},
		{"queued", inQueue("full", plain()), waitSuspended, nothing, once, nil},
		preempted,
		{"suspended", suspended(plain()), waitSuspended, resume, once, nil},
		{"starting", onLabelled(plain()), waitStarting, labelMachines, once, nil},
		{"restarting", waitingRanks(), waitRunning, loseWorker, twice + ", restart 1", nil},
		{"failing", waiting(hello + " --exit-rank 3 --exit-code 3"), waitRunning, letGo, "Failed, RankFailed", nil},
	}
	for _, f := range flights {
		f.make(ctx)
	}
	urgent := &flight{"urgent", inQueue("shared", waiting(hello)), waitRunning, letGo, twice, nil}
	urgent.job.Labels["kueue.x-k8s.io/priority-class"] = "urgent"
	urgent.make(ctx)
	waitSuspended(ctx, preempted.job)
	return append([]*flight{urgent}, flights...)
}

// fresh is a job that is created after the upgrade.
func fresh() *flight {
	f := &flight{"new", plain(), nothing, create, once, nil}
	f.job.Name = f.state
	return f
}

// make creates the job, and returns when it is in its state.
func (f *flight) make(ctx SpecContext) {
	GinkgoHelper()
	f.job.Name = f.state
	create(ctx, f.job)
	f.reached(ctx, f.job)
	f.pods = uidsOf(podsOf(ctx, f.job, mpi.LauncherJob))
}

// begunAgain is part of the end of a job that lost its pods to the upgrade.
const begunAgain = ", begun again"

func uidsOf(pods []corev1.Pod) []types.UID {
	uids := []types.UID{}
	for i := range pods {
		uids = append(uids, pods[i].UID)
	}
	return uids
}

// wasStopped reports whether a job that had pods has lost them.
func (f *flight) wasStopped(ctx context.Context) bool {
	return len(f.pods) > 0 && !slices.Equal(f.pods, uidsOf(podsOf(ctx, f.job, mpi.LauncherJob)))
}

// remove deletes the job, and returns when nothing of it is left.
func (f *flight) remove(ctx SpecContext) {
	GinkgoHelper()
	Expect(client.IgnoreNotFound(admin.Client.Delete(ctx, f.job))).To(Succeed())
	Eventually(func() ([]string, error) {
		return testjob.Leftovers(ctx, admin.Client, namespace, f.job.Name)
	}).Should(BeEmpty(), f.state)
}

// end lets the job go on, and says how it ended.
func (f *flight) end(ctx SpecContext) string {
	f.job.Name = f.state
	stopped := ""
	if f.state != "preempted" && f.wasStopped(ctx) {
		waitRunning(ctx, f.job)
		stopped = begunAgain
	}
	f.release(ctx, f.job)
	deadline := time.Now().Add(2 * time.Minute)
	for time.Now().Before(deadline) {
		if read(ctx, f.job) != nil {
			continue
		}
		if failed := conditionOf(f.job, trainer.TrainJobFailed); failed != nil {
			return "Failed, " + failed.Reason + stopped
		}
		if conditionOf(f.job, trainer.TrainJobComplete) != nil {
			return fmt.Sprintf("Complete, %d ranks%s", ranksOf(ctx, f.job), restartsOf(ctx, f.job)) + stopped
		}
		time.Sleep(200 * time.Millisecond)
	}
	var conditions []string
	for _, c := range status.AllConditions(f.job) {
		conditions = append(conditions, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return "no end: " + strings.Join(conditions, "; ")
}

func read(ctx context.Context, j *trainer.TrainJob) error {
	return admin.Client.Get(ctx, client.ObjectKeyFromObject(j), j)
}

// conditionOf returns a condition that is true, or nil.
func conditionOf(j *trainer.TrainJob, name string) *metav1.Condition {
	if c := meta.FindStatusCondition(status.AllConditions(j), name); c != nil && c.Status == metav1.ConditionTrue {
		return c
	}
	return nil
}

func hasCondition(ctx context.Context, j *trainer.TrainJob, name string) func() bool {
	return func() bool { return read(ctx, j) == nil && conditionOf(j, name) != nil }
}

// ranksOf returns how many ranks the log of the launcher has.
func ranksOf(ctx context.Context, j *trainer.TrainJob) int {
	count := 0
	for _, pod := range podsOf(ctx, j, mpi.LauncherJob) {
		options := &corev1.PodLogOptions{Container: mpi.Container}
		text, _ := admin.Logs.CoreV1().Pods(namespace).GetLogs(pod.Name, options).DoRaw(ctx)
		for line := range strings.Lines(string(text)) {
			if _, ok := testjob.ParseRank(strings.TrimSpace(line)); ok {
				count++
			}
		}
	}
	return count
}

func restartsOf(ctx context.Context, j *trainer.TrainJob) string {
	var made jobset.JobSet
	_ = admin.Client.Get(ctx, client.ObjectKeyFromObject(j), &made)
	if n := made.Annotations["lockstep.dev/attempt"]; n != "" && n != "0" {
		return ", restart " + n
	}
	return ""
}

func podsOf(ctx context.Context, j *trainer.TrainJob, role string) []corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	of := client.MatchingLabels{mpi.JobSetNameLabel: j.Name, mpi.ReplicatedJobLabel: role}
	Expect(admin.Client.List(ctx, &pods, client.InNamespace(namespace), of)).To(Succeed())
	return pods.Items
}

// The jobs.

func jobOf(command ...string) *trainer.TrainJob {
	memory := resource.MustParse("256Mi")
	return testjob.Job{
		Namespace: namespace, Runtime: runtime, Nodes: 2, Slots: 2, Command: command,
		Resources: &corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: memory},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: memory},
		},
	}.TrainJob()
}

func plain() *trainer.TrainJob { return jobOf("mpirun", "-n", "4", "mpi-hello") }

// waiting launches ranks, and a command once it is let go on.
func waiting(command string) *trainer.TrainJob {
	return jobOf("bash", "-ec", hello+"; "+wait+"; "+command)
}

// waitingRanks is waiting with ranks that wait: a job whose launcher waits between two launches needs no other node.
func waitingRanks() *trainer.TrainJob {
	return jobOf("bash", "-ec", hello+"; mpirun -n 4 bash -c '"+wait+"'; "+hello)
}

func inQueue(queue string, j *trainer.TrainJob) *trainer.TrainJob {
	j.Labels = map[string]string{"kueue.x-k8s.io/queue-name": queue}
	return suspended(j)
}

func suspended(j *trainer.TrainJob) *trainer.TrainJob {
	j.Spec.Suspend = ptr.To(true)
	return j
}

// onLabelled returns the job on machines with our label.
func onLabelled(j *trainer.TrainJob) *trainer.TrainJob {
	var parts []trainer.ReplicatedJobPatch
	for _, name := range []string{mpi.LauncherJob, mpi.NodeJob} {
		pod := &trainer.PodTemplatePatch{Spec: &trainer.PodSpecPatch{NodeSelector: map[string]string{goLabel: "go"}}}
		template := &trainer.JobTemplatePatch{Spec: &trainer.JobSpecPatch{Template: pod}}
		parts = append(parts, trainer.ReplicatedJobPatch{Name: name, Template: template})
	}
	set := &trainer.JobSetTemplatePatch{Spec: &trainer.JobSetSpecPatch{ReplicatedJobs: parts}}
	j.Spec.RuntimePatches = []trainer.RuntimePatch{{
		Manager: "lockstep.dev/upgrade", TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{Template: set},
	}}
	return j
}

// What they wait for.

func nothing(context.Context, *trainer.TrainJob) {}

func create(ctx context.Context, j *trainer.TrainJob) {
	GinkgoHelper()
	Eventually(func() error { return admin.Client.Create(ctx, j) }).Should(Succeed())
}

func waitRunning(ctx context.Context, j *trainer.TrainJob) {
	GinkgoHelper()
	Eventually(func() int { return ranksOf(ctx, j) }).Should(Equal(4), j.Name) //nolint:mnd // of the first launch
}

func waitSuspended(ctx context.Context, j *trainer.TrainJob) {
	GinkgoHelper()
	Eventually(hasCondition(ctx, j, trainer.TrainJobSuspended)).Should(BeTrue(), j.Name)
	Eventually(func() []corev1.Pod {
		return append(podsOf(ctx, j, mpi.LauncherJob), podsOf(ctx, j, mpi.NodeJob)...)
	}).Should(BeEmpty(), j.Name)
}

func waitStarting(ctx context.Context, j *trainer.TrainJob) {
	GinkgoHelper()
	Eventually(func() []corev1.Pod { return podsOf(ctx, j, mpi.NodeJob) }).ShouldNot(BeEmpty(), j.Name)
}

func resume(ctx context.Context, j *trainer.TrainJob) {
	GinkgoHelper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":false}}`))
	Expect(admin.Client.Patch(ctx, j, patch)).To(Succeed())
}

func labelMachines(ctx context.Context, _ *trainer.TrainJob) {
	kubectl(ctx, "label", "nodes", "--all", goLabel+"=go")
}

func letGo(ctx context.Context, j *trainer.TrainJob) {
	GinkgoHelper()
	for _, pod := range append(podsOf(ctx, j, mpi.LauncherJob), podsOf(ctx, j, mpi.NodeJob)...) {
		kubectl(ctx, "exec", "-n", namespace, pod.Name, "-c", mpi.Container, "--", "touch", goFile)
	}
}

// runAgain lets a job go on that begins again, once it has.
func runAgain(ctx context.Context, j *trainer.TrainJob) {
	GinkgoHelper()
	waitRunning(ctx, j)
	letGo(ctx, j)
}

// loseWorker evicts the node that has no launcher, and lets the job go on after its restart.
func loseWorker(ctx context.Context, j *trainer.TrainJob) {
	GinkgoHelper()
	launcher := podsOf(ctx, j, mpi.LauncherJob)[0].UID
	pod := podsOf(ctx, j, mpi.NodeJob)[0]
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: namespace}}
	Expect(admin.Logs.PolicyV1().Evictions(namespace).Evict(ctx, eviction)).To(Succeed())
	Eventually(func() bool {
		pods := podsOf(ctx, j, mpi.LauncherJob)
		return len(pods) == 1 && pods[0].UID != launcher
	}).Should(BeTrue())
	runAgain(ctx, j)
}

// The queues.

// makeQueues makes two queues with room for one job each.
func makeQueues(ctx SpecContext) {
	GinkgoHelper()
	objects := []*unstructured.Unstructured{
		kueue("ResourceFlavor", "", "any", nil),
		kueue("WorkloadPriorityClass", "", "urgent", map[string]any{"value": int64(1000)}),
	}
	amount := func(name, value string) any { return map[string]any{"name": name, "nominalQuota": value} }
	flavor := map[string]any{"name": "any", "resources": []any{amount("cpu", quota), amount("memory", "2Gi")}}
	for _, name := range []string{"full", "shared"} {
		queue := kueue("ClusterQueue", "", name, map[string]any{"spec": map[string]any{
			"namespaceSelector": map[string]any{},
			"preemption":        map[string]any{"withinClusterQueue": "LowerPriority"},
			"resourceGroups": []any{map[string]any{
				"coveredResources": []any{"cpu", "memory"}, "flavors": []any{flavor},
			}},
		}})
		local := kueue("LocalQueue", namespace, name, map[string]any{"spec": map[string]any{"clusterQueue": name}})
		objects = append(objects, queue, local)
	}
	for _, object := range objects {
		Eventually(func() error {
			return admin.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("upgrade"))
		}).Should(Succeed())
	}
}

func kueue(kind, namespace, name string, content map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind}}
	for field, value := range content {
		object.Object[field] = value
	}
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}
