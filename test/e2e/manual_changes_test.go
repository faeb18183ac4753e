package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
)

// What an admin does by hand to the objects of a job that runs.
var _ = Describe("An admin who", func() {
	// The tenant's own policies deny all, so the nodes could not report to their launcher.
	It("deletes the NetworkPolicy of a job does it no harm", func(ctx SpecContext) {
		j := job("unguarded", "openmpi4-cpu", "mpirun", "-n", "4", "mpi-hello", "--sleep", "6")
		object := start(ctx, editor, j)
		// Connections that are made while there is no policy may be refused; those of ranks that run are there.
		Eventually(ranks(ctx, object)).Should(Equal(4))
		policy := &networkingv1.NetworkPolicy{}
		Expect(admin.Client.Get(ctx, client.ObjectKey{Namespace: j.Namespace, Name: mpi.NetworkPolicyName(j.Name)}, policy)).To(Succeed())
		before := policy.UID
		Expect(admin.Client.Delete(ctx, policy)).To(Succeed())
		Eventually(func() types.UID {
			if admin.Client.Get(ctx, keyOf(policy), policy) != nil {
				return ""
			}
			return policy.UID
		}).ShouldNot(BeElementOf(types.UID(""), before))
		Eventually(completes(ctx, editor, object)).Should(BeTrue())
		Eventually(turns(ctx, editor, object, "NetworkPolicyDeleted")).Should(HaveExactElements("TrainingStarted", "NetworkPolicyDeleted", "Completed"))
	})

	DescribeTable("deletes the JobSet of a job ends it, and it runs once,", func(ctx SpecContext, how client.PropagationPolicy) {
		j := job("bereft", "openmpi4-cpu", "mpirun", "-n", "4", "mpi-hello", "--sleep", "60")
		object := start(ctx, editor, j)
		js := jobSetOf(ctx, j)
		Expect(admin.Client.Delete(ctx, js, how)).To(Succeed())
		Eventually(conditionNow(ctx, j, trainer.TrainJobFailed)).Should(because(diagnose.JobSetDeleted, "create the TrainJob again"))
		Eventually(func() int { return len(podsOf(ctx, object)) }).Should(BeZero())
		Expect(jobSetOf(ctx, j).UID).To(BeElementOf(types.UID(""), js.UID))
		Expect(conditionOf(ctx, j, mpijob.Restarting)).To(BeNil())
		Eventually(turns(ctx, editor, object, string(diagnose.JobSetDeleted), string(mpijob.ReasonWaitingForDeletion))).Should(
			HaveExactElements("TrainingStarted", string(diagnose.JobSetDeleted)))
	},
		Entry("in the background", client.PropagationPolicy("Background")),
		Entry("in the foreground", client.PropagationPolicy("Foreground")),
	)

	It("suspends the JobSet of a job makes it begin again, which it says", func(ctx SpecContext) {
		j := job("interrupted-jobset", "openmpi4-cpu", "mpirun", "-n", "4", "mpi-hello", "--sleep", "3")
		object := start(ctx, editor, j)
		js := &jobset.JobSet{ObjectMeta: owned(j.Name, j.Namespace)}
		Expect(admin.Client.Patch(ctx, js, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":true}}`)))).To(Succeed())
		Eventually(completes(ctx, editor, object)).Should(BeTrue())
		Eventually(toldOf(ctx, editor, object)).Should(ContainElement("JobSetSuspended"))
		Expect(eventsOf(ctx, editor, object, func(e eventsv1.Event) string {
			return e.EventTime.Format("15:04:05.000") + " " + e.Reason + ": " + e.Note
		})).NotTo(ContainElement(ContainSubstring(string(diagnose.PodDeleted))), "nobody has to start it again")
	})

	It("has a Job under the name of one of its own keeps a job from starting, which it says", func(ctx SpecContext) {
		j := job("name-taken", "openmpi4-cpu", "mpirun", "-n", "4", "mpi-hello")
		taken := &batchv1.Job{ObjectMeta: owned(j.Name+"-node-0", j.Namespace)}
		taken.Spec.Suspend = ptr.To(true)
		taken.Spec.Template.Spec = idlePod(j.Namespace, "").Spec
		taken.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		Expect(admin.Client.Create(ctx, taken)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(admin.Client.Delete(ctx, taken, client.PropagationPolicy("Background"))).To(Succeed())
		})
		submit(ctx, editor, j.TrainJob())
		Eventually(conditionNow(ctx, j, trainer.TrainJobFailed)).Should(because(diagnose.NameTaken, "Job `"+taken.Name+"`"))
		Expect(jobSetOf(ctx, j).UID).To(BeEmpty())
	})
})
