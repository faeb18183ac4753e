package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/test/trial"
)

// Kubeflow Trainer's own manager runs the jobs, and the bundle is compiled for it. A command of the user's own replaces the one
// that the runtime starts, so that the gate of the launcher has to do what is done before it.
var _ = Describe("Under stock Kubeflow Trainer, a compiled runtime", Ordered, ContinueOnFailure, Serial, func() {
	words := []string{"mpirun", "-n", "4", "mpi-hello"}

	BeforeAll(useCompanion)

	// The namespace of a tenant: what no policy of a job allows is denied, and stock Trainer makes none.
	Context("with our controller beside it", func() {
		DescribeTable("runs all ranks on two machines, under the agent, with the environment of the TrainJob on all nodes",
			func(ctx SpecContext, runtime string) {
				j := job("beside-"+runtime, runtime, words...)
				j.Env = []corev1.EnvVar{{Name: "EPOCHS", Value: "3"}}
				runUnderStock(ctx, editor, j)
				for _, pod := range podsOf(ctx, j.TrainJob()) {
					container := pod.Spec.Containers[0]
					Expect(container.Env).To(ContainElement(j.Env[0]), pod.Name)
					if pod.Labels[mpi.ReplicatedJobLabel] == mpi.LauncherJob {
						Expect(container.Command).To(Equal(append([]string{mpi.AgentBin, "run", "--"}, words...)))
					}
				}
			}, catalog)

		It("has its own network policies, gives its key back, and what Trainer made stays as it is", func(ctx SpecContext) {
			j := job("guarded", "openmpi5-cpu", words...)
			runUnderStock(ctx, editor, j)
			Eventually(exists(ctx, &corev1.Secret{}, tenant, mpi.SSHAuthSecretName(j.Name))).Should(BeFalse())
			policies := &networkingv1.NetworkPolicyList{}
			Expect(admin.Client.List(ctx, policies, client.InNamespace(tenant), client.MatchingLabels{mpi.TrainJobLabel: j.Name})).To(Succeed())
			Expect(policies.Items).To(HaveLen(1))
			for _, object := range []client.Object{&jobset.JobSet{ObjectMeta: owned(j.Name, tenant)}, &corev1.ConfigMap{ObjectMeta: owned(mpi.HostfileConfigMapName(j.Name), tenant)}} {
				Expect(admin.Client.Get(ctx, keyOf(object), object)).To(Succeed())
				Expect(object.GetManagedFields()).NotTo(ContainElement(HaveField("Manager", mpi.ControllerName)), object.GetName())
			}
		})

		It("says which rank failed, and how, beside the words of Trainer", func(ctx SpecContext) {
			j := job("fails-beside", "openmpi4-cpu", append(words, "--exit-rank", "3", "--exit-code", "3")...)
			result := run(ctx, j)
			Expect(result.Condition).To(Equal(trainer.TrainJobFailed))
			Eventually(func() *metav1.Condition { return conditionOf(ctx, j, mpijob.Diagnosed) }).Should(And(
				HaveField("Reason", "RankFailed"), HaveField("Message", And(ContainSubstring("rank 3"), ContainSubstring("code 3")))))
			Expect(conditionOf(ctx, j, trainer.TrainJobFailed).Message).To(Equal(result.Message))
		})
	})

	// In a namespace that no tenant owns, because nobody makes policies.
	Context("without our controller", func() {
		BeforeAll(func(ctx SpecContext) {
			Expect(cluster.Sandbox(ctx, stockNamespace)).To(Succeed())
			Expect(cluster.StopController(ctx)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(cluster.StartCompanion(ctx)).To(Succeed()) })
		})

		DescribeTable("runs all ranks on two machines, as a command of the user's own", func(ctx SpecContext, runtime string) {
			j := job("command-"+runtime, runtime, words...)
			j.Namespace = stockNamespace
			runUnderStock(ctx, admin, j)
		}, catalog)

		It("runs all ranks on two machines, as arguments of the agent", func(ctx SpecContext) {
			j := job("args", "mpich-cpu")
			j.Namespace, j.Args = stockNamespace, words
			runUnderStock(ctx, admin, j)
		})
	})
})

const (
	stockNamespace = "lockstep-stock"
	stockTimeout   = 45 * time.Second
)

func runUnderStock(ctx SpecContext, user trial.User, j trial.Job) {
	GinkgoHelper()
	removeAfterwards(j)
	limited, cancel := context.WithTimeoutCause(ctx, stockTimeout, fmt.Errorf("no end within %s", stockTimeout))
	defer cancel()
	var log strings.Builder
	result, err := trial.Run(limited, user, j, &log)
	if err != nil {
		explain(ctx, j)
	}
	Expect(err).NotTo(HaveOccurred(), "log of the launcher:\n%s", log.String())
	Expect(result.Check(machines)).To(Succeed(), "log of the launcher:\n%s", log.String())
	AddReportEntry("first rank", result.FirstRank.Round(10*time.Millisecond))
}

// conditionOf returns a condition of a TrainJob, or nil.
func conditionOf(ctx context.Context, j trial.Job, name string) *metav1.Condition {
	current := &trainer.TrainJob{}
	if err := admin.Client.Get(ctx, keyOf(j.TrainJob()), current); err != nil {
		return nil
	}
	return meta.FindStatusCondition(current.Status.Conditions, name)
}

// explain prints conditions and pods of a job that did not end.
func explain(ctx context.Context, j trial.Job) {
	object := &trainer.TrainJob{ObjectMeta: owned(j.Name, j.Namespace)}
	current := &trainer.TrainJob{}
	if err := admin.Client.Get(ctx, keyOf(object), current); err == nil {
		fmt.Fprintf(GinkgoWriter, "conditions: %+v\n", current.Status.Conditions)
	}
	for _, pod := range podsOf(ctx, object) {
		fmt.Fprintf(GinkgoWriter, "pod %s: %s, containers %+v, init %+v, conditions %+v\n", pod.Name, pod.Status.Phase,
			pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses, pod.Status.Conditions)
	}
}
