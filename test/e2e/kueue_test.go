package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
	"lockstep.dev/lockstep/test/testjob"
)

// oneJob is the CPU of one job of two nodes and its launcher, with a little to spare, but not for two.
const oneJob = "800m"

// Kueue's own controller decides here which job runs. Each tenant has a queue with room for one job; the two lend each
// other what is idle.
var _ = Describe("Under Kueue, an MPI job", Ordered, longest, func() {
	BeforeAll(func(ctx SpecContext) {
		Expect(cluster.AddAddons(ctx, "kueue")).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(cluster.RemoveAddons(ctx, "kueue")).To(Succeed()) })
		objects := []*unstructured.Unstructured{
			kueue("ResourceFlavor", "", "any", nil),
			kueue("WorkloadPriorityClass", "", "urgent", map[string]any{"value": int64(1000)}),
		}
		for _, name := range []string{tenant, otherTenant} {
			objects = append(objects, clusterQueue(name),
				kueue("LocalQueue", name, "jobs", map[string]any{"spec": map[string]any{"clusterQueue": name}}))
		}
		for _, object := range objects {
			Eventually(func() error { return client.IgnoreAlreadyExists(admin.Client.Create(ctx, object.DeepCopy())) }).Should(Succeed())
			DeferCleanup(func(ctx SpecContext) { _ = admin.Client.Delete(ctx, object.DeepCopy()) })
		}
	})

	// Those of deleted jobs hold quota, and count for estimates, until the garbage collector comes by, half a minute later.
	BeforeEach(func(ctx SpecContext) {
		workload := kueue("Workload", "", "", nil)
		for _, name := range []string{tenant, otherTenant} {
			Expect(admin.Client.DeleteAllOf(ctx, workload, client.InNamespace(name))).To(Succeed())
		}
		workloads := &unstructured.UnstructuredList{Object: kueue("WorkloadList", "", "", nil).Object}
		Eventually(func() ([]unstructured.Unstructured, error) {
			err := admin.Client.List(ctx, workloads)
			return workloads.Items, err
		}).Should(BeEmpty())
	})

	It("is admitted and completes", func(ctx SpecContext) {
		object := submit(ctx, editor, queued(job("queued", "mpich-cpu", "mpirun", "-n", "4", "mpi-hello")))
		Eventually(completes(ctx, editor, object)).Should(BeTrue())
	})

	It("waits for the quota, without pods, and runs when there is room", func(ctx SpecContext) {
		hog := submit(ctx, otherEditor, queued(inOther(job("lender", "openmpi4-cpu", "mpirun", "-n", "4", "mpi-hello", "--sleep", "600"))))
		Eventually(condition(ctx, otherEditor, hog, "Running")).Should(BeTrue())
		first := submit(ctx, editor, queued(job("holder", "openmpi4-cpu", "mpirun", "-n", "4", "mpi-hello", "--sleep", "15")))
		Eventually(condition(ctx, editor, first, "Running")).Should(BeTrue())
		second := submit(ctx, editor, queued(job("second", "openmpi5-cpu", "mpirun", "-n", "4", "mpi-hello")))
		Eventually(condition(ctx, editor, second, trainer.TrainJobSuspended)).Should(BeTrue())
		Expect(podsOf(ctx, second)).To(BeEmpty())
		Eventually(completes(ctx, editor, first)).Should(BeTrue())
		Eventually(completes(ctx, editor, second)).Should(BeTrue())
	})

	It("is told where it stands, what it lacks, and how long others waited", func(ctx SpecContext) {
		// None of them ends by itself while it is looked at.
		endless := func(name string) *trainer.TrainJob {
			return submit(ctx, editor, queued(job(name, "openmpi4-cpu", "mpirun", "-n", "4", "mpi-hello", "--sleep", "600")))
		}
		Eventually(condition(ctx, editor, endless("holder"), "Running")).Should(BeTrue())
		// The second borrows what the other tenant leaves idle.
		second := endless("second")
		Eventually(condition(ctx, editor, second, "Running")).Should(BeTrue())
		next := endless("next")
		third := said(ctx, next, trainer.TrainJobSuspended)
		// Kueue orders jobs by the second in which it made their Workloads, which may be the one after that of the job.
		Eventually(third).Should(ContainSubstring("at position 1 of 1"))
		Eventually(time.Now).Should(BeTemporally(">", time.Now().Add(time.Second)))
		fourth := said(ctx, endless("last"), trainer.TrainJobSuspended)
		Eventually(third).Should(And(
			HavePrefix("TrainJob is suspended; waits in queue `jobs` at position 1 of 2: "), ContainSubstring("insufficient unused quota")))
		Eventually(fourth).Should(ContainSubstring("waits in queue `jobs` at position 2 of 2"))
		Expect(third()).NotTo(ContainSubstring("median"), "two jobs are no base for an estimate")
		GinkgoWriter.Printf("third: %s\nfourth: %s\n", third(), fourth())
		Expect(podsOf(ctx, next)).To(BeEmpty())
		evict(ctx, worker(ctx, second)) // which ends it
		Eventually(third).Should(Equal("TrainJob is resumed"))
		Eventually(fourth).Should(And(
			ContainSubstring("waits in queue `jobs` at position 1 of 1"), ContainSubstring("last 3 jobs of this queue"), ContainSubstring("median")))
		GinkgoWriter.Printf("fourth, then: %s\n", fourth())
	})

	It("is stopped for one of higher priority, resumes, and completes", func(ctx SpecContext) {
		hog := submit(ctx, otherEditor, queued(inOther(job("lender", "openmpi4-cpu", "mpirun", "-n", "4", "mpi-hello", "--sleep", "600"))))
		Eventually(condition(ctx, otherEditor, hog, "Running")).Should(BeTrue())
		low := submit(ctx, editor, queued(job("low", "openmpi4-cpu", saving...)))
		Eventually(condition(ctx, editor, low, "Running")).Should(BeTrue())
		log := follow(ctx, low)
		Eventually(log).Should(ofEach("ready"))
		urgent := queued(job("urgent", "mpich-cpu", "mpirun", "-n", "4", "mpi-hello"))
		urgent.Labels["kueue.x-k8s.io/priority-class"] = "urgent"
		submit(ctx, editor, urgent)
		Eventually(condition(ctx, editor, low, trainer.TrainJobSuspended)).Should(BeTrue())
		Eventually(told(ctx, low.Name)).Should(ContainElement("Preempted"))
		Eventually(notes(ctx, low.Name)).Should(ContainElement(ContainSubstring("urgent")))
		Eventually(log).Should(ofEach("saved"))
		Eventually(completes(ctx, editor, urgent)).Should(BeTrue())
		Eventually(completes(ctx, editor, low)).Should(BeTrue())
		Expect(condition(ctx, editor, low, trainer.TrainJobSuspended)()).To(BeFalse())
	})

	It("borrows what another tenant leaves idle, and gives it back", func(ctx SpecContext) {
		own := submit(ctx, editor, queued(job("own", "openmpi4-cpu", "mpirun", "-n", "4", "mpi-hello", "--sleep", "600")))
		Eventually(condition(ctx, editor, own, "Running")).Should(BeTrue())
		borrower := submit(ctx, editor, queued(job("borrower", "openmpi4-cpu", "mpirun", "-n", "4", "mpi-hello", "--sleep", "20")))
		Eventually(condition(ctx, editor, borrower, "Running")).Should(BeTrue())
		owner := submit(ctx, otherEditor, queued(inOther(job("owner", "openmpi5-cpu", "mpirun", "-n", "4", "mpi-hello"))))
		Eventually(condition(ctx, editor, borrower, trainer.TrainJobSuspended)).Should(BeTrue())
		Eventually(completes(ctx, otherEditor, owner)).Should(BeTrue())
		Eventually(completes(ctx, editor, borrower)).Should(BeTrue())
	})
})

func kueue(kind, namespace, name string, content map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind}}
	for field, value := range content {
		object.Object[field] = value
	}
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

func clusterQueue(name string) *unstructured.Unstructured {
	quota := func(resource, amount string) any { return map[string]any{"name": resource, "nominalQuota": amount} }
	return kueue("ClusterQueue", "", name, map[string]any{"spec": map[string]any{
		"cohortName":        "lockstep",
		"namespaceSelector": map[string]any{"matchLabels": map[string]any{corev1.LabelMetadataName: name}},
		"preemption":        map[string]any{"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
		"resourceGroups": []any{map[string]any{
			"coveredResources": []any{"cpu", "memory"},
			"flavors":          []any{map[string]any{"name": "any", "resources": []any{quota("cpu", oneJob), quota("memory", "2Gi")}}},
		}},
	}})
}

// queued puts a job into its tenant's queue.
func queued(j testjob.Job) *trainer.TrainJob {
	j.Resources = nil // of which Kueue knows nothing
	return j.Queued("jobs")
}

func inOther(j testjob.Job) testjob.Job {
	j.Namespace = otherTenant
	return j
}

// submit creates a job and removes it after the test.
func submit(ctx SpecContext, user testjob.User, object *trainer.TrainJob) *trainer.TrainJob {
	GinkgoHelper()
	removeAfterwards(ctx, testjob.Job{Name: object.Name, Namespace: object.Namespace})
	Expect(user.Client.Create(ctx, object)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		if CurrentSpecReport().Failed() {
			_ = admin.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
			fmt.Fprintf(GinkgoWriter, "%s: suspend %v, conditions %+v\n", object.Name, ptr.Deref(object.Spec.Suspend, false), status.AllConditions(object))
		}
	})
	return object
}

func podsOf(ctx context.Context, object *trainer.TrainJob) []corev1.Pod {
	GinkgoHelper()
	pods := &corev1.PodList{}
	Expect(admin.Client.List(ctx, pods, client.InNamespace(object.Namespace), client.MatchingLabels{mpi.JobSetNameLabel: object.Name})).To(Succeed())
	return pods.Items
}
