package integration

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
	"lockstep.dev/lockstep/pkg/mpi/reconciler"
)

// What people do by hand to the objects of a job.
var _ = Describe("Somebody", Ordered, ContinueOnFailure, func() {
	var namespace string

	BeforeAll(func(ctx SpecContext) {
		ensureNamespace(ctx, controllerNamespace)
		installPermissions(ctx, nil)
		forgetLease(ctx)
		runController(reconciler.Options{LeaderElection: true, Identity: "hands-0"})
	})

	BeforeEach(func(ctx SpecContext) { namespace = newNamespace(ctx) })

	made := func(ctx SpecContext, trainJob *trainer.TrainJob) *jobset.JobSet {
		GinkgoHelper()
		js := jobSetOf(ctx, trainJob)
		Eventually(reason(ctx, trainJob, job.Created)).Should(Equal(string(job.ReasonJobSetCreated)))
		return js
	}
	uid := func(ctx SpecContext, object client.Object) func() types.UID {
		return func() types.UID {
			if err := admin.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
				return ""
			}
			return object.GetUID()
		}
	}

	DescribeTable("deletes the JobSet of a job, which is over then, whatever its runtime allows", func(ctx SpecContext, how metav1.DeletionPropagation) {
		runtime := newRuntime(ctx, func(r *trainer.ClusterTrainingRuntime) {
			r.Annotations = map[string]string{mpi.RestartsAnnotation: "3"}
		})
		trainJob := trainJobNamed(namespace, "bereft")
		trainJob.Spec.RuntimeRef.Name = runtime.Name
		js := made(ctx, create(ctx, trainJob))
		makePods(ctx, js, "127.0.0.9")
		Expect(admin.Delete(ctx, js, client.PropagationPolicy(how))).To(Succeed())
		Eventually(reason(ctx, trainJob, trainer.TrainJobFailed)).Should(Equal(string(diagnose.JobSetDeleted)))
		Expect(message(trainJob, trainer.TrainJobFailed)).To(ContainSubstring("create the TrainJob again"))
		Expect(meta.IsStatusConditionTrue(status.AllConditions(trainJob), job.Restarting)).To(BeFalse())
		Consistently(uid(ctx, &jobset.JobSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "bereft"}})).WithTimeout(silence).
			Should(BeElementOf(types.UID(""), js.UID), "it is not made again")
		Expect(uid(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "bereft-mpi-ssh-auth"}})()).To(BeEmpty(), "its key is gone")
		Eventually(eventsAbout(ctx, trainJob)).Should(ContainElement("Warning JobSetDeleted"))
		Expect(eventsAbout(ctx, trainJob)()).NotTo(ContainElement("Warning WaitingForDeletion"))
	},
		Entry("in the background", metav1.DeletePropagationBackground),
		Entry("in the foreground, after its pods", metav1.DeletePropagationForeground),
	)

	It("deletes the JobSet of a suspended job, and it is made again", func(ctx SpecContext) {
		trainJob := ofRuntime(ctx, trainJobNamed(namespace, "sleeping"))
		trainJob.Spec.Suspend = ptr.To(true)
		js := made(ctx, create(ctx, trainJob))
		Expect(admin.Delete(ctx, js)).To(Succeed())
		Eventually(uid(ctx, &jobset.JobSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sleeping"}})).ShouldNot(BeElementOf(types.UID(""), js.UID))
		Eventually(state(ctx, trainJob)).Should(Equal("Suspended"))
	})

	It("deletes the JobSet of a job that waits to be resumed, and it is made again once there is quota", func(ctx SpecContext) {
		trainJob := ofRuntime(ctx, trainJobNamed(namespace, "dozing"))
		trainJob.Spec.Suspend = ptr.To(true)
		js := made(ctx, create(ctx, trainJob))
		Eventually(state(ctx, trainJob)).Should(Equal("Suspended"))
		quota := quotaIn(ctx, namespace, corev1.ResourceList{"pods": resource.MustParse("10")}, corev1.ResourceList{"pods": resource.MustParse("10")})
		patch(ctx, trainJob, `{"spec":{"suspend":false}}`)
		Eventually(reason(ctx, trainJob, job.PodsReady)).Should(Equal(string(diagnose.QuotaExceeded)))
		Expect(admin.Delete(ctx, js)).To(Succeed())
		Eventually(reason(ctx, trainJob, job.Created)).Should(Equal(string(diagnose.QuotaExceeded)))
		Expect(admin.Delete(ctx, quota)).To(Succeed())
		made(ctx, trainJob)
		Expect(reason(ctx, trainJob, trainer.TrainJobFailed)()).To(BeEmpty())
	})

	It("deletes the namespace, where JobSets may go before their TrainJobs: nobody is told", func(ctx SpecContext) {
		trainJob := create(ctx, ofRuntime(ctx, trainJobNamed(namespace, "leaving")))
		js := made(ctx, trainJob)
		Expect(admin.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
		Expect(admin.Delete(ctx, js)).To(Succeed())
		Consistently(reason(ctx, trainJob, trainer.TrainJobFailed)).WithTimeout(silence).Should(BeEmpty())
		Expect(eventsAbout(ctx, trainJob)()).NotTo(ContainElement("Warning JobSetDeleted"))
	})

	It("suspends the JobSet of a job that runs, which goes on, and says so", func(ctx SpecContext) {
		trainJob := create(ctx, ofRuntime(ctx, trainJobNamed(namespace, "interrupted")))
		js := made(ctx, trainJob)
		makePods(ctx, js, agentOf(ctx, trainJob).ip)
		Eventually(reason(ctx, trainJob, job.Running)).Should(Equal(string(job.ReasonGatePassed)))
		patch(ctx, js, `{"spec":{"suspend":true}}`)
		Eventually(eventsAbout(ctx, trainJob)).Should(ContainElement("Warning JobSetSuspended"))
		Expect(*jobSetOf(ctx, trainJob).Spec.Suspend).To(BeTrue(), "JobSet has not stopped the pods yet")
		endJobSet(ctx, js, jobset.JobSetSuspended)
		// As its Jobs do, of which none runs here.
		Expect(admin.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(namespace), client.MatchingLabels{mpi.JobSetNameLabel: js.Name}, client.GracePeriodSeconds(0))).To(Succeed())
		Eventually(func() bool { return *jobSetOf(ctx, trainJob).Spec.Suspend }).Should(BeFalse())
		Expect(jobSetOf(ctx, trainJob).UID).To(Equal(js.UID))
	})

	It("deletes the NetworkPolicy of a job that runs, which has it again at once", func(ctx SpecContext) {
		trainJob := create(ctx, ofRuntime(ctx, trainJobNamed(namespace, "open")))
		js := made(ctx, trainJob)
		makePods(ctx, js, "127.0.0.9")
		policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "open-mpi"}}
		before := uid(ctx, policy)()
		spec := policy.Spec
		Expect(admin.Delete(ctx, policy)).To(Succeed())
		Eventually(uid(ctx, policy)).ShouldNot(BeElementOf(types.UID(""), before))
		Expect(policy.Spec).To(Equal(spec))
		Expect(metav1.IsControlledBy(policy, trainJob)).To(BeTrue())
		Eventually(eventsAbout(ctx, trainJob)).Should(ContainElement("Warning NetworkPolicyDeleted"))
		endJobSet(ctx, js, jobset.JobSetCompleted)
		Eventually(state(ctx, trainJob)).Should(Equal("Complete"))
		Expect(admin.Delete(ctx, policy)).To(Succeed())
		Consistently(uid(ctx, policy)).WithTimeout(silence).Should(BeEmpty(), "a job that is over needs none")
	})

	DescribeTable("has taken the name of a child Job: nothing is made", func(ctx SpecContext, role string) {
		taken := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "squat-" + role + "-0"}}
		taken.Spec.Template.Spec = corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "other", Image: "registry.test/other:1"}},
		}
		Expect(admin.Create(ctx, taken)).To(Succeed())
		trainJob := create(ctx, ofRuntime(ctx, trainJobNamed(namespace, "squat")))
		Eventually(reason(ctx, trainJob, trainer.TrainJobFailed)).Should(Equal(string(diagnose.NameTaken)))
		Expect(message(trainJob, trainer.TrainJobFailed)).To(ContainSubstring(fmt.Sprintf("delete Job `%s`", taken.Name)))
		Expect(versions(ctx, trainJob)).To(HaveLen(1))
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(taken), taken)).To(Succeed(), "it stays")
	}, Entry("launcher", mpi.LauncherJob), Entry("node", mpi.NodeJob))

	It("raises a quota on objects, and the job that waited for it starts", func(ctx SpecContext) {
		quota := quotaIn(ctx, namespace, corev1.ResourceList{"count/secrets": resource.MustParse("0")}, corev1.ResourceList{"count/secrets": resource.MustParse("0")})
		trainJob := create(ctx, ofRuntime(ctx, trainJobNamed(namespace, "waiting")))
		Eventually(reason(ctx, trainJob, job.Created)).Should(Equal(string(diagnose.CreationFailed)))
		Expect(message(trainJob, job.Created)).To(And(ContainSubstring("exceeded quota"), ContainSubstring("the job starts by itself once it is allowed")))
		Expect(admin.Delete(ctx, quota)).To(Succeed())
		made(ctx, trainJob)
	})
})
