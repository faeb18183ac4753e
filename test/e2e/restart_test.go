package e2e

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/testjob"
)

const (
	// lifeNamespace is a sandbox: what is done to jobs there no tenant may do.
	lifeNamespace = "lockstep-life"
	again         = "again"
	important     = "lockstep-important"
)

// The runtime allows one restart. Each node of a job needs most of a machine, so that a pod of the same size and of
// higher priority takes the place of exactly that node.
var _ = Describe("A job that may be started again once", Ordered, ContinueOnFailure, longest, func() {
	BeforeAll(func(ctx SpecContext) {
		most := mostOfAMachine(ctx, "lockstep.dev/restart")
		sandboxRuntime(ctx, again, func(r *trainer.ClusterTrainingRuntime) {
			r.Annotations = map[string]string{mpi.RestartsAnnotation: "1"}
			ask(&podOf(&r.Spec, mpi.NodeJob).Containers[0], most)
		})
		class := &schedulingv1.PriorityClass{ObjectMeta: owned(important, ""), Value: 1_000_000}
		Expect(client.IgnoreAlreadyExists(admin.Client.Create(ctx, class))).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(admin.Client.Delete(ctx, class)).To(Succeed()) })
		pod := idlePod(lifeNamespace, important)
		pod.Spec.PriorityClassName = important
		// Admission knows a class from its own watch, a moment after the class is there.
		Eventually(func() error { return admin.Client.Create(ctx, pod.DeepCopy(), client.DryRunAll) }).Should(Succeed())
	})

	DescribeTable("completes after a worker was", func(ctx SpecContext, reason mpi.Reason, takeAway func(SpecContext, corev1.Pod)) {
		j := restartable("mpirun", "-n", "4", "mpi-hello", "--sleep", "5")
		object := start(ctx, admin, j)
		first := jobSetOf(ctx, j)
		takeAway(ctx, worker(ctx, object))
		Eventually(conditionNow(ctx, j, trainer.TrainJobComplete)).Should(HaveField("Status", metav1.ConditionTrue))
		second := jobSetOf(ctx, j)
		Expect(second.UID).NotTo(Equal(first.UID))
		Expect(second.Annotations).To(HaveKeyWithValue("lockstep.dev/attempt", "1"))
		Expect(conditionOf(ctx, j, mpijob.Restarting)).To(And(
			HaveField("Status", metav1.ConditionFalse), HaveField("Reason", string(mpijob.ReasonRestarted)),
			HaveField("Message", HavePrefix("restart 1 of 1: Worker "))))
		Eventually(turns(ctx, admin, object, string(reason), "Restarted")).Should(HaveExactElements(
			"TrainingStarted", string(reason), "Restarted", "TrainingStarted", "Completed"))
	},
		Entry("evicted through the API, as by `kubectl drain`", diagnose.Evicted, evict),
		Entry("preempted for a pod of higher priority", diagnose.Preempted, preempt),
	)

	It("fails when it loses a worker once more, and says that this was all that it had", func(ctx SpecContext) {
		j := restartable("mpirun", "-n", "4", "mpi-hello", "--sleep", "60")
		object := start(ctx, admin, j)
		first := jobSetOf(ctx, j)
		evict(ctx, worker(ctx, object))
		Eventually(func() bool {
			return jobSetOf(ctx, j).UID != first.UID && condition(ctx, admin, object, "Running")()
		}).Should(BeTrue())
		evict(ctx, worker(ctx, object))
		Eventually(conditionNow(ctx, j, trainer.TrainJobFailed)).Should(And(
			HaveField("Reason", string(diagnose.Evicted)), HaveField("Message", ContainSubstring("all that the runtime allows"))))
		Expect(jobSetOf(ctx, j).Annotations).To(HaveKeyWithValue("lockstep.dev/attempt", "1"))
	})

	It("fails at once where a rank fails by itself", func(ctx SpecContext) {
		j := restartable("mpirun", "-n", "4", "mpi-hello", "--exit-rank", "3", "--exit-code", "3")
		object := submit(ctx, admin, j.TrainJob())
		Eventually(conditionNow(ctx, j, trainer.TrainJobFailed)).Should(HaveField("Reason", string(diagnose.RankFailed)))
		Expect(conditionOf(ctx, j, mpijob.Restarting)).To(BeNil())
		Expect(jobSetOf(ctx, j).Annotations).NotTo(HaveKeyWithValue("lockstep.dev/attempt", "1"))
		Expect(toldOf(ctx, admin, object)()).NotTo(ContainElement("Restarted"))
	})
})

// sandboxRuntime makes a runtime that no tenant has, and that is removed after the container.
func sandboxRuntime(ctx SpecContext, name string, change func(*trainer.ClusterTrainingRuntime)) {
	GinkgoHelper()
	Expect(cluster.CopyRuntime(ctx, "openmpi4-cpu", name, change)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		Expect(admin.Client.Delete(ctx, &trainer.ClusterTrainingRuntime{ObjectMeta: owned(name, "")})).To(Succeed())
	})
	expectUsable(ctx, name)
}

// podOf is the pod of a role in a runtime.
func podOf(r *trainer.TrainingRuntimeSpec, role string) *corev1.PodSpec {
	jobs := r.Template.Spec.ReplicatedJobs
	i := slices.IndexFunc(jobs, func(j jobset.ReplicatedJob) bool { return j.Name == role })
	return &jobs[i].Template.Spec.Template.Spec
}

func restartable(command ...string) testjob.Job {
	j := job("unlucky", again, command...)
	j.Namespace, j.Resources = lifeNamespace, nil
	return j
}

// worker is a node's pod of a job that is not about to end.
func worker(ctx context.Context, object *trainer.TrainJob) corev1.Pod {
	GinkgoHelper()
	pods := podsOf(ctx, object)
	i := slices.IndexFunc(pods, func(p corev1.Pod) bool {
		return p.Labels[mpi.ReplicatedJobLabel] == mpi.NodeJob && p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning
	})
	Expect(i).To(BeNumerically(">=", 0), "a worker that runs")
	return pods[i]
}

func evict(ctx SpecContext, pod corev1.Pod) {
	GinkgoHelper()
	eviction := &policyv1.Eviction{ObjectMeta: owned(pod.Name, pod.Namespace)}
	Expect(admin.Logs.PolicyV1().Evictions(pod.Namespace).Evict(ctx, eviction)).To(Succeed())
}

// preempt needs the room of a pod for another one until that has run.
func preempt(ctx SpecContext, victim corev1.Pod) {
	GinkgoHelper()
	pod := idlePod(lifeNamespace, important)
	pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: victim.Spec.NodeName}
	pod.Spec.PriorityClassName = important
	pod.Spec.Containers[0].Resources = victim.Spec.Containers[0].Resources
	makePod(ctx, pod)
	Expect(admin.Client.Delete(ctx, pod)).To(Succeed())
}

// idlePod is a pod of no job, with bash in it.
func idlePod(namespace, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: owned(name, namespace),
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To[int64](0),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65532), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "idle", Image: platform.StockImage, ImagePullPolicy: corev1.PullIfNotPresent, Command: []string{"sleep", "3600"},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}

// makePod makes a pod, removes it after the test, and returns when it runs.
func makePod(ctx SpecContext, pod *corev1.Pod) {
	GinkgoHelper()
	Expect(admin.Client.Create(ctx, pod)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		Expect(client.IgnoreNotFound(admin.Client.Delete(ctx, pod))).To(Succeed())
		Eventually(exists(ctx, &corev1.Pod{}, pod.Namespace, pod.Name)).Should(BeFalse())
	})
	Eventually(func() (corev1.PodPhase, error) {
		err := admin.Client.Get(ctx, keyOf(pod), pod)
		return pod.Status.Phase, err
	}).Should(Equal(corev1.PodRunning))
}

// jobSetOf returns the JobSet of a job, an empty one where there is none.
func jobSetOf(ctx context.Context, j testjob.Job) *jobset.JobSet {
	js := &jobset.JobSet{}
	_ = admin.Client.Get(ctx, keyOf(j.TrainJob()), js)
	return js
}

// turns are the events of a job that tell where it took a turn: that its command runs, that it is over, and others; what is told
// twice in a row counts once.
func turns(ctx context.Context, user testjob.User, object *trainer.TrainJob, others ...string) func() ([]string, error) {
	return func() ([]string, error) {
		all, err := toldOf(ctx, user, object)()
		return slices.Compact(slices.DeleteFunc(all, func(reason string) bool {
			return !slices.Contains(append(others, "TrainingStarted", "Completed"), reason)
		})), err
	}
}

func conditionNow(ctx context.Context, j testjob.Job, name string) func() *metav1.Condition {
	return func() *metav1.Condition { return conditionOf(ctx, j, name) }
}
