package frameworks

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
	"lockstep.dev/lockstep/test/testjob"
)

const (
	sandbox     = "lockstep-training"
	checkpoints = "/checkpoints"
)

// steps are the first and the last step of each life of a job, as torch-train tells them.
var steps = regexp.MustCompile(`(?m)step=(\d+) loss=(\S+)$`)

var _ = Describe("A training with checkpoints on a volume", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		if !cluster.Started() {
			Skip("SKIPPED: the volume is a folder of this machine, which the cluster of KUBECONFIG does not have")
		}
		Expect(cluster.Sandbox(ctx, sandbox)).To(Succeed())
		Expect(cluster.AddAddons(ctx, "kueue")).To(Succeed())
		for _, object := range append(queueOfOneJob(), volume()...) {
			Eventually(func() error { return client.IgnoreAlreadyExists(admin.Client.Create(ctx, object)) }).Should(Succeed())
		}
		for _, runtime := range []string{"torch-cpu", "horovod-torch-cpu", "deepspeed-cpu"} {
			Expect(cluster.CopyRuntime(ctx, runtime, "saving-"+runtime, mountCheckpoints)).To(Succeed())
		}
	})

	DescribeTable("goes on where Kueue stopped it for a job of higher priority, with", func(ctx SpecContext, framework string) {
		w := ways[slices.IndexFunc(ways, func(w way) bool { return w.framework == framework && w.launcher == "mpirun" && w.size() == nodes })]
		name := regexp.MustCompile(`\W+`).ReplaceAllString(strings.ToLower(framework), "-")
		row := w.row()
		row.Resumes = "no"
		DeferCleanup(func() { rows = append(rows, row) })
		low := queued("low-"+name, "saving-"+w.runtime, "normal", w.text(" --pause 0.1 --checkpoint "+checkpoints+"/"+name))
		Expect(admin.Client.Create(ctx, low)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(admin.Client.Delete(ctx, low)).To(Succeed()) })
		Eventually(logOf(ctx, low)).Should(MatchRegexp(`step=0 loss=\S+\n`))
		begin := steps.FindStringSubmatch(logOf(ctx, low)())
		Expect(begin).NotTo(BeNil())

		urgent := queued("urgent-"+name, "saving-"+w.runtime, "urgent", "mpirun true")
		Expect(admin.Client.Create(ctx, urgent)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(admin.Client.Delete(ctx, urgent)).To(Succeed()) })
		Eventually(ends(ctx, urgent)).Should(Equal(trainer.TrainJobComplete))
		Eventually(ends(ctx, low)).Should(Equal(trainer.TrainJobComplete))

		log := logOf(ctx, low)()
		Expect(testjob.CheckLearned(log, nodes, slots, 0.01)).To(Succeed())
		told := steps.FindAllStringSubmatch(log, -1)
		Expect(told).To(HaveLen(2), "the first and the last step of the second life")
		Expect(strconv.Atoi(told[0][1])).To(BeNumerically(">", 0), "it does not begin again")
		Expect(lossOf(told[0])).To(BeNumerically("<", lossOf(begin)), "the loss goes on")
		row.Resumes = yes
		GinkgoWriter.Printf("%s: began with a loss of %s, resumed at step %s with %s, ended at step %s with %s\n", framework, begin[2], told[0][1], told[0][2], told[1][1], told[1][2])
	},
		Entry(nil, "PyTorch 2.6, gloo"),
		Entry(nil, "PyTorch 2.6, MPI"),
		Entry(nil, "Horovod 0.28, PyTorch 1.13"),
		Entry(nil, "DeepSpeed 0.19, PyTorch 2.6"),
	)
})

func lossOf(step []string) float64 {
	GinkgoHelper()
	loss, err := strconv.ParseFloat(step[2], 64)
	Expect(err).NotTo(HaveOccurred())
	return loss
}

// queueOfOneJob is a queue with room for one of these jobs at a time.
func queueOfOneJob() []client.Object {
	kueue := func(kind, namespace, name, content string, value any) client.Object {
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, content: value}}
		object.SetNamespace(namespace)
		object.SetName(name)
		return object
	}
	quota := func(resource, amount string) any { return map[string]any{"name": resource, "nominalQuota": amount} }
	return []client.Object{
		kueue("ResourceFlavor", "", "any", "spec", map[string]any{}),
		kueue("WorkloadPriorityClass", "", "normal", "value", int64(1)),
		kueue("WorkloadPriorityClass", "", "urgent", "value", int64(1000)),
		kueue("ClusterQueue", "", sandbox, "spec", map[string]any{
			"namespaceSelector": map[string]any{},
			"preemption":        map[string]any{"withinClusterQueue": "LowerPriority"},
			"resourceGroups": []any{map[string]any{
				"coveredResources": []any{"cpu", "memory"},
				"flavors":          []any{map[string]any{"name": "any", "resources": []any{quota("cpu", "800m"), quota("memory", "3Gi")}}},
			}},
		}),
		kueue("LocalQueue", sandbox, "jobs", "spec", map[string]any{"clusterQueue": sandbox}),
	}
}

// volume is a folder of this machine that all nodes of the local cluster reach, as those of a network file system do.
func volume() []client.Object {
	GinkgoHelper()
	folder, err := os.MkdirTemp("", "lockstep-checkpoints-")
	Expect(err).NotTo(HaveOccurred())
	Expect(os.Chmod(folder, 0o777)).To(Succeed())
	DeferCleanup(func() { Expect(os.RemoveAll(folder)).To(Succeed()) })
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	return []client.Object{
		&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "checkpoints"}, Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, StorageClassName: "checkpoints",
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder}},
		}},
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "checkpoints", Namespace: sandbox}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modes, StorageClassName: ptr.To("checkpoints"), VolumeName: "checkpoints",
			Resources: corev1.VolumeResourceRequirements{Requests: size},
		}},
	}
}

func mountCheckpoints(r *trainer.ClusterTrainingRuntime) {
	jobs := r.Spec.Template.Spec.ReplicatedJobs
	for i := range jobs {
		pod := &jobs[i].Template.Spec.Template.Spec
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "checkpoints", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "checkpoints"},
		}})
		for j := range pod.Containers {
			pod.Containers[j].VolumeMounts = append(pod.Containers[j].VolumeMounts, corev1.VolumeMount{Name: "checkpoints", MountPath: checkpoints})
		}
	}
}

// queued is a job of a priority in the queue.
func queued(name, runtime, priority, command string) *trainer.TrainJob {
	job := testjob.Job{Name: name, Namespace: sandbox, Runtime: runtime, Nodes: nodes, Slots: slots, Command: []string{"bash", "-c", command}}.Queued("jobs")
	job.Labels["kueue.x-k8s.io/priority-class"] = priority
	return job
}

// ends returns the condition that ends a job, or nothing.
func ends(ctx SpecContext, job *trainer.TrainJob) func() string {
	return func() string {
		now := &trainer.TrainJob{}
		if admin.Client.Get(ctx, client.ObjectKeyFromObject(job), now) != nil {
			return ""
		}
		for _, c := range status.AllConditions(now) {
			if c.Status == metav1.ConditionTrue && (c.Type == trainer.TrainJobComplete || c.Type == trainer.TrainJobFailed) {
				return c.Type
			}
		}
		return ""
	}
}

// logOf returns what the launcher of a job has printed in the life that it has now.
func logOf(ctx SpecContext, job *trainer.TrainJob) func() string {
	return func() string {
		pods := &corev1.PodList{}
		if admin.Client.List(ctx, pods, client.InNamespace(job.Namespace), client.MatchingLabels{mpi.TrainJobLabel: job.Name, mpi.ReplicatedJobLabel: mpi.LauncherJob}) != nil {
			return ""
		}
		var log bytes.Buffer
		for _, pod := range pods.Items {
			text, err := admin.Logs.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: mpi.Container}).DoRaw(ctx)
			if err == nil && pod.DeletionTimestamp == nil {
				log.Write(text)
			}
		}
		return log.String()
	}
}
