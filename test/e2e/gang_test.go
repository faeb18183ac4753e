package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/test/testjob"
)

const (
	gangNamespace = "lockstep-gang"
	gangRuntime   = "gang"
	// gangSeconds is how long the scheduler and our controller wait for a gang: longer than a spec may take.
	gangSeconds = 600
)

// scheduler-plugins' own scheduler decides here. Each node of a job needs most of a machine, so that two jobs of two nodes would each get one
// machine and wait forever, if pods were taken one by one.
var _ = Describe("Under a gang scheduler, an MPI job", Ordered, longest, func() {
	BeforeAll(func(ctx SpecContext) {
		Expect(cluster.AddAddons(ctx, "coscheduling")).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(cluster.RemoveAddons(ctx, "coscheduling")).To(Succeed()) })
		most := mostOfAMachine(ctx, "lockstep.dev/gang")
		sandboxRuntime(ctx, gangRuntime, func(r *trainer.ClusterTrainingRuntime) { inGang(r, most) })
	})

	It("starts with a PodGroup that counts all its pods, and takes it away with it", func(ctx SpecContext) {
		object := submit(ctx, admin, gang("together", "--sleep", "5").TrainJob())
		Eventually(condition(ctx, admin, object, "Running")).Should(BeTrue())
		group := podGroup(object.Name)
		Expect(admin.Client.Get(ctx, keyOf(group), group)).To(Succeed())
		least, _, err := unstructured.NestedInt64(group.Object, "spec", "minMember")
		Expect(err).NotTo(HaveOccurred())
		Expect(least).To(BeEquivalentTo(2), "two nodes, of which the launcher is one")
		for _, pod := range podsOf(ctx, object) {
			Expect(pod.Labels).To(HaveKeyWithValue("scheduling.x-k8s.io/pod-group", object.Name), pod.Name)
		}
		Eventually(completes(ctx, admin, object)).Should(BeTrue())
		Expect(admin.Client.Delete(ctx, object)).To(Succeed())
		Eventually(exists(ctx, group, gangNamespace, object.Name)).Should(BeFalse())
	})

	It("does not hold machines while another that does not fit beside it waits, so that both complete", func(ctx SpecContext) {
		// Long enough to be looked at while one runs.
		one, other := gang("one", "--sleep", "15"), gang("other", "--sleep", "15")
		jobs := []*trainer.TrainJob{one.TrainJob(), other.TrainJob()}
		for _, object := range jobs {
			submit(ctx, admin, object)
		}
		Eventually(func() int { return running(ctx, jobs) }).Should(Equal(1))
		Expect(bound(ctx, jobs)).To(ConsistOf(0, 2), "pods on machines, by job")
		// A gang that scheduler-plugins has rejected as a whole is looked at again when a pod comes or its PodGroup changes, and
		// otherwise when kube-scheduler looks at all that it could not place, which is every five minutes.
		for _, object := range jobs {
			Eventually(completes(ctx, admin, object)).WithTimeout(6*time.Minute).Should(BeTrue(), object.Name)
		}
	})
})

func gang(name string, options ...string) testjob.Job {
	j := job(name, gangRuntime, append([]string{"mpirun", "-n", "4", "mpi-hello"}, options...)...)
	j.Namespace, j.Resources = gangNamespace, nil
	return j
}

// inGang makes a runtime ask the gang scheduler, with nodes that need more than those of the catalog.
func inGang(r *trainer.ClusterTrainingRuntime, more corev1.ResourceRequirements) {
	r.Spec.PodGroupPolicy = &trainer.PodGroupPolicy{PodGroupPolicySource: trainer.PodGroupPolicySource{
		Coscheduling: &trainer.CoschedulingPodGroupPolicySource{ScheduleTimeoutSeconds: ptr.To[int32](gangSeconds)},
	}}
	jobs := r.Spec.Template.Spec.ReplicatedJobs
	for i := range jobs {
		jobs[i].Template.Spec.Template.Spec.SchedulerName = "coscheduling"
		ask(&jobs[i].Template.Spec.Template.Spec.Containers[0], more)
	}
}

func podGroup(name string) *unstructured.Unstructured {
	group := &unstructured.Unstructured{}
	group.SetAPIVersion("scheduling.x-k8s.io/v1alpha1")
	group.SetKind("PodGroup")
	group.SetNamespace(gangNamespace)
	group.SetName(name)
	return group
}

func running(ctx context.Context, jobs []*trainer.TrainJob) int {
	count := 0
	for _, object := range jobs {
		if condition(ctx, admin, object, "Running")() {
			count++
		}
	}
	return count
}

// bound counts the pods of each job that have a machine.
func bound(ctx context.Context, jobs []*trainer.TrainJob) []int {
	GinkgoHelper()
	counts := make([]int, len(jobs))
	for i, object := range jobs {
		for _, pod := range podsOf(ctx, object) {
			if pod.Spec.NodeName != "" {
				counts[i]++
			}
		}
	}
	return counts
}
