package integration

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

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

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
	"lockstep.dev/lockstep/pkg/mpi/agent/server"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/status"
	"lockstep.dev/lockstep/pkg/mpi/reconciler"
	"lockstep.dev/lockstep/pkg/mpi/template"
)

// silence is how long nothing must happen to say that nothing happens.
const silence = 500 * time.Millisecond

var _ = Describe("The controller", Ordered, func() {
	var namespace string

	BeforeAll(func(ctx SpecContext) {
		ensureNamespace(ctx, controllerNamespace)
		installPermissions(ctx, nil)
		runController(reconciler.Options{LeaderElection: true})
		Expect(admin.Create(ctx, runtimeNamed("openmpi"))).To(Succeed())
	})

	BeforeEach(func(ctx SpecContext) { namespace = newNamespace(ctx) })

	It("creates everything that a job needs, the JobSet last", func(ctx SpecContext) {
		trainJob := create(ctx, trainJobNamed(namespace, "demo"))
		js := jobSetOf(ctx, trainJob)

		secret := &corev1.Secret{}
		Expect(admin.Get(ctx, in(namespace, "demo-mpi-ssh-auth"), secret)).To(Succeed())
		Expect(secret.Type).To(Equal(corev1.SecretTypeSSHAuth))
		Expect(*secret.Immutable).To(BeTrue())
		_, err := identity.ParseKey(secret.Data["ssh-privatekey"])
		Expect(err).NotTo(HaveOccurred())

		hostfile := &corev1.ConfigMap{}
		Expect(admin.Get(ctx, in(namespace, "demo-mpi-hostfile"), hostfile)).To(Succeed())
		Expect(hostfile.Data).To(HaveKeyWithValue("hostfile", "demo-node-0-0.demo slots=4\ndemo-node-0-1.demo slots=4\n"))

		policy := &networkingv1.NetworkPolicy{}
		Expect(admin.Get(ctx, in(namespace, "demo-mpi"), policy)).To(Succeed())
		Expect(policy.Spec.PolicyTypes).To(ConsistOf(networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress))
		Expect(policy.Spec.Ingress[1].From[0].NamespaceSelector.MatchLabels).To(HaveKeyWithValue("kubernetes.io/metadata.name", controllerNamespace))

		for _, object := range []client.Object{secret, hostfile, policy, js} {
			Expect(metav1.IsControlledBy(object, trainJob)).To(BeTrue())
			Expect(*object.GetOwnerReferences()[0].BlockOwnerDeletion).To(BeTrue())
			Expect(object.GetManagedFields()[0].Manager).To(Equal("mpi-controller"))
		}
		Expect(js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers[0].Command).To(Equal(
			[]string{mpi.AgentBin, "run", "--", "mpirun", "train"}))
		Expect(*js.Spec.ReplicatedJobs[1].Template.Spec.Parallelism).To(BeEquivalentTo(2))
		Eventually(state(ctx, trainJob)).Should(Equal("Created"))
	})

	DescribeTable("makes exactly the pods that were asked for", func(ctx SpecContext, launcherRunsRanks bool, nodes, pods int) {
		runtime := runtimeNamed(fmt.Sprintf("exact-%v-%d", launcherRunsRanks, nodes))
		runtime.Spec.MLPolicy.MPI.RunLauncherAsNode = &launcherRunsRanks
		Expect(admin.Create(ctx, runtime)).To(Succeed())
		trainJob := trainJobNamed(namespace, "exact")
		trainJob.Spec.RuntimeRef.Name = runtime.Name
		trainJob.Spec.Trainer.NumNodes = ptr.To(int32(nodes))
		total := 0
		for _, rj := range jobSetOf(ctx, create(ctx, trainJob)).Spec.ReplicatedJobs {
			total += int(*rj.Template.Spec.Parallelism)
		}
		Expect(total).To(Equal(pods))
	},
		Entry("one node beside the launcher", false, 1, 2),
		Entry("three nodes beside the launcher", false, 3, 4),
		Entry("one node that is the launcher", true, 1, 1),
		Entry("three nodes, the launcher one of them", true, 3, 3),
	)

	It("writes nothing when there is nothing to say", func(ctx SpecContext) {
		trainJob := create(ctx, trainJobNamed(namespace, "calm"))
		jobSetOf(ctx, trainJob)
		Eventually(state(ctx, trainJob)).Should(Equal("Created"))
		Eventually(func(g Gomega) {
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(trainJob), trainJob)).To(Succeed())
			g.Expect(trainJob.Annotations).To(HaveKey(jobv1.Annotation))
		}).Should(Succeed())
		touch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"touched":"true"}}}`))
		Expect(admin.Patch(ctx, trainJob, touch)).To(Succeed())
		before := versions(ctx, trainJob)
		Consistently(func() map[string]string { return versions(ctx, trainJob) }).WithTimeout(silence).Should(Equal(before))
	})

	It("leaves TrainJobs of other runtimes alone", func(ctx SpecContext) {
		runtime := runtimeNamed("torch")
		runtime.Spec.MLPolicy.MPI = nil
		runtime.Spec.MLPolicy.Torch = &trainer.TorchMLPolicySource{}
		delete(runtime.Labels, mpi.ImplementationLabel)
		Expect(admin.Create(ctx, runtime)).To(Succeed())
		trainJob := trainJobNamed(namespace, "torch")
		trainJob.Spec.RuntimeRef.Name = "torch"
		create(ctx, trainJob)
		before := versions(ctx, trainJob)
		Consistently(func() map[string]string { return versions(ctx, trainJob) }).WithTimeout(silence).Should(Equal(before))
		Expect(before).To(HaveLen(1))
	})

	It("leaves TrainJobs that another cluster runs alone", func(ctx SpecContext) {
		trainJob := trainJobNamed(namespace, "multi")
		trainJob.Spec.ManagedBy = ptr.To("kueue.x-k8s.io/multikueue")
		create(ctx, trainJob)
		Consistently(func() map[string]string { return versions(ctx, trainJob) }).WithTimeout(silence).Should(HaveLen(1))
	})

	It("waits for a runtime and starts when it comes", func(ctx SpecContext) {
		trainJob := trainJobNamed(namespace, "early")
		trainJob.Spec.RuntimeRef = trainer.RuntimeRef{Name: "later", Kind: ptr.To(trainer.TrainingRuntimeKind)}
		create(ctx, trainJob)
		Eventually(reason(ctx, trainJob, job.Created)).Should(Equal(string(diagnose.RuntimeNotFound)))
		cluster := runtimeNamed("later")
		Expect(admin.Create(ctx, &trainer.TrainingRuntime{
			ObjectMeta: metav1.ObjectMeta{Name: "later", Namespace: namespace, Labels: cluster.Labels}, Spec: cluster.Spec,
		})).To(Succeed())
		jobSetOf(ctx, trainJob)
		Eventually(reason(ctx, trainJob, job.Created)).Should(Equal(string(job.ReasonJobSetCreated)))
	})

	It("refuses a TrainJob that cannot run, and says why", func(ctx SpecContext) {
		trainJob := trainJobNamed(namespace, "broken")
		trainJob.Spec.Trainer.NumNodes = ptr.To[int32](0)
		create(ctx, trainJob)
		Eventually(reason(ctx, trainJob, trainer.TrainJobFailed)).Should(Equal(string(diagnose.InvalidWorld)))
		Expect(versions(ctx, trainJob)).To(HaveLen(1), "nothing is made for it")
		Eventually(eventsAbout(ctx, trainJob)).Should(ContainElement("Warning InvalidWorld"))
	})

	DescribeTable("never uses what somebody else put under its names", func(ctx SpecContext, squat func(metav1.ObjectMeta) client.Object) {
		squatter := squat(metav1.ObjectMeta{Namespace: namespace, Name: "squat"})
		Expect(admin.Create(ctx, squatter)).To(Succeed())
		trainJob := create(ctx, trainJobNamed(namespace, "squat"))
		Eventually(reason(ctx, trainJob, trainer.TrainJobFailed)).Should(Equal(string(diagnose.NameTaken)))
		Expect(meta.FindStatusCondition(trainJob.Status.Conditions, trainer.TrainJobFailed).Message).To(ContainSubstring(squatter.GetName()))
		after := squatter.DeepCopyObject().(client.Object) //nolint:forcetypeassert // it was one before
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(squatter), after)).To(Succeed())
		Expect(after.GetResourceVersion()).To(Equal(squatter.GetResourceVersion()))
		Expect(versions(ctx, trainJob)).To(HaveLen(2), "only the TrainJob and the object of the other")
	},
		Entry("Secret", func(m metav1.ObjectMeta) client.Object {
			m.Name += "-mpi-ssh-auth"
			return &corev1.Secret{ObjectMeta: m}
		}),
		Entry("ConfigMap", func(m metav1.ObjectMeta) client.Object {
			m.Name += "-mpi-hostfile"
			return &corev1.ConfigMap{ObjectMeta: m}
		}),
		Entry("NetworkPolicy", func(m metav1.ObjectMeta) client.Object {
			m.Name += "-mpi"
			return &networkingv1.NetworkPolicy{ObjectMeta: m}
		}),
		Entry("JobSet", func(m metav1.ObjectMeta) client.Object { return &jobset.JobSet{ObjectMeta: m} }),
	)

	It("starts anew under a name that was used a moment ago", func(ctx SpecContext) {
		old := create(ctx, trainJobNamed(namespace, "again"))
		oldJobSet := jobSetOf(ctx, old)
		oldSecret := &corev1.Secret{}
		Expect(admin.Get(ctx, in(namespace, "again-mpi-ssh-auth"), oldSecret)).To(Succeed())
		launcherJob := childJob(oldJobSet, mpi.LauncherJob)
		Expect(admin.Create(ctx, launcherJob)).To(Succeed())
		oldPod := podFor(oldJobSet, mpi.LauncherJob, 0)
		oldPod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: launcherJob.Name, UID: launcherJob.UID, Controller: ptr.To(true)}}
		Expect(admin.Create(ctx, &oldPod)).To(Succeed())
		Expect(admin.Delete(ctx, old)).To(Succeed())

		trainJob := create(ctx, trainJobNamed(namespace, "again"))
		Eventually(reason(ctx, trainJob, job.Created)).Should(Equal(string(job.ReasonWaitingForDeletion)))
		Consistently(func() error {
			return admin.Get(ctx, in(namespace, "again"), &jobset.JobSet{})
		}).WithTimeout(silence).ShouldNot(Succeed(), "kubelet would mount the earlier key as long as an earlier pod is there")
		Expect(admin.Delete(ctx, &oldPod, client.GracePeriodSeconds(0))).To(Succeed())
		Eventually(func(g Gomega) {
			js := &jobset.JobSet{}
			g.Expect(admin.Get(ctx, in(namespace, "again"), js)).To(Succeed())
			g.Expect(metav1.IsControlledBy(js, trainJob)).To(BeTrue())
			secret := &corev1.Secret{}
			g.Expect(admin.Get(ctx, in(namespace, "again-mpi-ssh-auth"), secret)).To(Succeed())
			g.Expect(metav1.IsControlledBy(secret, trainJob)).To(BeTrue())
			g.Expect(secret.Data["ssh-privatekey"]).NotTo(Equal(oldSecret.Data["ssh-privatekey"]))
			g.Expect(client.IgnoreNotFound(admin.Get(ctx, client.ObjectKeyFromObject(launcherJob), &batchv1.Job{}))).To(Succeed())
		}).Should(Succeed())
	})

	It("passes suspension on", func(ctx SpecContext) {
		trainJob := trainJobNamed(namespace, "pause")
		trainJob.Spec.Suspend = ptr.To(true)
		create(ctx, trainJob)
		Expect(*jobSetOf(ctx, trainJob).Spec.Suspend).To(BeTrue())
		Eventually(state(ctx, trainJob)).Should(Equal("Suspended"))

		place := `,"runtimePatches":[{"manager":"kueue.x-k8s.io/manager","trainingRuntimeSpec":{"template":{"spec":{"replicatedJobs":[
			{"name":"node","template":{"spec":{"template":{"spec":{"nodeSelector":{"flavor":"a100"}}}}}}]}}}}]`
		patch(ctx, trainJob, `{"spec":{"suspend":false`+place+`}}`)
		Eventually(func(g Gomega) {
			js := &jobset.JobSet{}
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(trainJob), js)).To(Succeed())
			g.Expect(*js.Spec.Suspend).To(BeFalse())
			g.Expect(js.Spec.ReplicatedJobs[1].Template.Spec.Template.Spec.NodeSelector).To(HaveKeyWithValue("flavor", "a100"))
		}).Should(Succeed())
		Eventually(state(ctx, trainJob)).Should(Equal("Created"))

		patch(ctx, trainJob, `{"spec":{"suspend":true}}`)
		Eventually(func() bool { return *jobSetOf(ctx, trainJob).Spec.Suspend }).Should(BeTrue())
		Eventually(state(ctx, trainJob)).Should(Equal("Suspended"))
	})

	It("resumes a job only where the quota has room for all of it", func(ctx SpecContext) {
		trainJob := trainJobNamed(namespace, "resumed")
		trainJob.Spec.Suspend = ptr.To(true)
		create(ctx, trainJob)
		Expect(*jobSetOf(ctx, trainJob).Spec.Suspend).To(BeTrue())
		quota := quotaIn(ctx, namespace, corev1.ResourceList{"pods": resource.MustParse("3")}, corev1.ResourceList{"pods": resource.MustParse("1")})
		patch(ctx, trainJob, `{"spec":{"suspend":false}}`)
		Eventually(reason(ctx, trainJob, job.PodsReady)).Should(Equal(string(diagnose.QuotaExceeded)))
		Expect(message(trainJob, job.PodsReady)).To(ContainSubstring("Insufficient pods: requested 3, available 2 of 3"))
		Expect(*jobSetOf(ctx, trainJob).Spec.Suspend).To(BeTrue(), "no pod is made")
		quota.Status.Used = nil
		Expect(admin.Status().Update(ctx, quota)).To(Succeed())
		Eventually(func() bool { return *jobSetOf(ctx, trainJob).Spec.Suspend }).WithTimeout(3*time.Second).Should(BeFalse(), "the quota is watched: it is polled every 5 s at most")
	})

	It("shows how far a job has come and hands the launcher its nodes", func(ctx SpecContext) {
		trainJob := create(ctx, trainJobNamed(namespace, "journey"))
		js := jobSetOf(ctx, trainJob)
		launcher := agentOf(ctx, trainJob)
		makePods(ctx, js, launcher.ip)
		Eventually(reason(ctx, trainJob, job.Running)).Should(Equal(string(job.ReasonGatePassed)))
		Expect(state(ctx, trainJob)()).To(Equal(runs))
		Expect(launcher.table()).To(Equal(mpi.HostTable{Hosts: []mpi.HostAddress{
			{Name: "journey-launcher-0-0.journey", Address: launcher.ip},
			{Name: "journey-node-0-0.journey", Address: "10.0.0.2"},
			{Name: "journey-node-0-1.journey", Address: "10.0.0.3"},
		}}))

		js.Status.ReplicatedJobsStatus = []jobset.ReplicatedJobStatus{{Name: "node", Ready: 1, Active: 1}, {Name: "launcher", Active: 1}}
		Expect(admin.Status().Update(ctx, js)).To(Succeed())
		endJobSet(ctx, js, jobset.JobSetCompleted)
		Eventually(state(ctx, trainJob)).Should(Equal("Complete"))
		Expect(trainJob.Status.JobsStatus).To(HaveLen(2), "counts come with the next condition")
		Expect(trainJob.Status.JobsStatus[0].Name).To(Equal("launcher"))
		Expect(client.IgnoreNotFound(admin.Get(ctx, in(namespace, "journey-mpi-ssh-auth"), &corev1.Secret{}))).To(Succeed())
		Expect(versions(ctx, trainJob)).NotTo(HaveKey("Secret journey-mpi-ssh-auth"), "the key is gone")
		Expect(versions(ctx, trainJob)).To(HaveLen(4), "the rest is not")
		Eventually(eventsAbout(ctx, trainJob)).Should(ContainElements(
			"Normal Submitted", "Normal GangScheduling", "Normal PodsReady", "Normal TrainingStarted", "Normal Completed"))

		js.Status.ReplicatedJobsStatus = []jobset.ReplicatedJobStatus{{Name: "node"}, {Name: "launcher", Succeeded: 1}}
		Expect(admin.Status().Update(ctx, js)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(trainJob), trainJob)).To(Succeed())
			g.Expect(*trainJob.Status.JobsStatus[0].Succeeded).To(BeEquivalentTo(1))
			g.Expect(*trainJob.Status.JobsStatus[1].Active).To(BeEquivalentTo(0))
		}).Should(Succeed(), "the counts follow the JobSet to the end")

		Expect(admin.Delete(ctx, js)).To(Succeed())
		Consistently(func() map[string]string { return versions(ctx, trainJob) }).WithTimeout(silence).Should(HaveLen(3), "a finished job is not started again")
	})

	It("labels the TrainJobs that it runs, and those only", func(ctx SpecContext) {
		ours := func() []string {
			var list trainer.TrainJobList
			Expect(admin.List(ctx, &list, client.InNamespace(namespace), client.HasLabels{mpi.TrainJobLabel})).To(Succeed())
			var names []string
			for i := range list.Items {
				names = append(names, list.Items[i].Name+" "+list.Items[i].Labels[mpi.TrainJobLabel])
			}
			return names
		}
		theirs := trainJobNamed(namespace, "theirs")
		theirs.Spec.ManagedBy = ptr.To("kueue.x-k8s.io/multikueue")
		create(ctx, theirs)
		trainJob := create(ctx, trainJobNamed(namespace, "found"))
		js := jobSetOf(ctx, trainJob)
		makePods(ctx, js, agentOf(ctx, trainJob).ip)
		Eventually(reason(ctx, trainJob, job.Running)).Should(Equal(string(job.ReasonGatePassed)))
		Eventually(ours).Should(Equal([]string{"found found"}), "it comes after the status")

		patch(ctx, trainJob, `{"metadata":{"labels":{"lockstep.dev/trainjob":"other"}}}`)
		endJobSet(ctx, js, jobset.JobSetCompleted)
		Eventually(state(ctx, trainJob)).Should(Equal("Complete"))
		Eventually(ours).Should(Equal([]string{"found found"}), "it is ours to write")
	})

	It("names the exit code of the user's command", func(ctx SpecContext) {
		trainJob := create(ctx, trainJobNamed(namespace, "fails"))
		js := jobSetOf(ctx, trainJob)
		pods := makePods(ctx, js, "127.0.0.9")
		verdict, err := mpi.Verdict{Reason: mpi.ReasonCommandFailed, Message: "the command `mpirun train` exited with code 7", ExitCode: 7}.Encode()
		Expect(err).NotTo(HaveOccurred())
		endPod(ctx, &pods[0], 7, string(verdict))
		endJobSet(ctx, js, jobset.JobSetFailed)
		Eventually(state(ctx, trainJob)).Should(Equal("Failed"))
		failed := meta.FindStatusCondition(trainJob.Status.Conditions, trainer.TrainJobFailed)
		Expect(failed.Reason).To(Equal("CommandFailed"))
		Expect(failed.Message).To(ContainSubstring("the command `mpirun train` exited with code 7"))
		Expect(versions(ctx, trainJob)).NotTo(HaveKey("Secret fails-mpi-ssh-auth"), "the key is gone")
	})

	It("shows what the API server refuses", func(ctx SpecContext) {
		trainJob := create(ctx, trainJobNamed(namespace, "denied"))
		js := jobSetOf(ctx, trainJob)
		Expect(admin.Create(ctx, &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Name: "denied.1", Namespace: namespace},
			InvolvedObject: corev1.ObjectReference{
				APIVersion: "jobset.x-k8s.io/v1alpha2", Kind: "JobSet", Namespace: namespace, Name: js.Name, UID: js.UID,
			},
			Type: corev1.EventTypeWarning, Reason: "JobCreationFailed", Message: `jobs "denied-node-0" is forbidden: exceeded quota`,
		})).To(Succeed())
		Eventually(reason(ctx, trainJob, job.PodsReady)).Should(Equal(string(diagnose.QuotaExceeded)))
		Expect(meta.FindStatusCondition(status.AllConditions(trainJob), job.PodsReady).Message).To(ContainSubstring("exceeded quota"))
	})

	It("says what the API server does not let it create, once, and goes on when it may", func(ctx SpecContext) {
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "nothing"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/configmaps": resource.MustParse("0"), "count/secrets": resource.MustParse("0")}},
		}
		Expect(admin.Create(ctx, quota)).To(Succeed())
		// The quota controller would do that.
		quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: quota.Spec.Hard}
		Expect(admin.Status().Update(ctx, quota)).To(Succeed())
		trainJob := create(ctx, trainJobNamed(namespace, "poor"))
		Eventually(reason(ctx, trainJob, job.Created)).Should(Equal(string(diagnose.CreationFailed)))
		Expect(meta.FindStatusCondition(status.AllConditions(trainJob), job.Created).Message).To(ContainSubstring("exceeded quota: nothing"))
		before := versions(ctx, trainJob)
		Expect(before).NotTo(HaveKey("JobSet poor"))
		Consistently(func() map[string]string { return versions(ctx, trainJob) }).WithTimeout(silence).Should(Equal(before))
		Expect(admin.Delete(ctx, quota)).To(Succeed())
		jobSetOf(ctx, trainJob)
		Eventually(state(ctx, trainJob)).Should(Equal("Created"))
	})

	It("ends a job at its deadline", func(ctx SpecContext) {
		trainJob := trainJobNamed(namespace, "late")
		trainJob.Spec.ActiveDeadlineSeconds = 1
		create(ctx, trainJob)
		Eventually(reason(ctx, trainJob, trainer.TrainJobFailed)).Should(Equal(string(diagnose.DeadlineExceeded)))
		Eventually(func() map[string]string { return versions(ctx, trainJob) }).ShouldNot(HaveKey("JobSet late"))
	})
})

// runController runs the real controller with the permissions of its chart, until the container ends.
func runController(options reconciler.Options) {
	ctx, stop := context.WithCancel(context.Background())
	options.Namespace, options.Concurrency, options.MetricsAddress = controllerNamespace, 4, cmp.Or(options.MetricsAddress, "0")
	config := serviceAccount(controllerNamespace, "mpi-controller")
	ended := make(chan error, 1)
	go func() { ended <- reconciler.Run(ctx, config, options) }()
	DeferCleanup(func() {
		stop()
		select {
		case err := <-ended:
			Expect(err).NotTo(HaveOccurred())
		case <-time.After(15 * time.Second):
			_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 2)
			Expect(<-ended).To(Succeed())
		}
	})
}

// installPermissions creates what the chart grants, until the container ends: other tests ask who may do what.
func installPermissions(ctx context.Context, values map[string]any) {
	objects, err := render(everywhere(values))
	Expect(err).NotTo(HaveOccurred())
	for _, object := range objects {
		switch object.GetKind() {
		case "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding":
			Expect(admin.Create(ctx, object)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(admin.Delete(ctx, object)).To(Succeed()) })
		}
	}
}

func runtimeNamed(name string) *trainer.ClusterTrainingRuntime {
	built, err := template.Runtime{
		Name: name, Framework: "mpi", Implementation: mpi.OpenMPI, Version: "5.0.7", Image: "registry.test/mpi:1",
		World:         mpi.World{Nodes: 2, SlotsPerNode: 4},
		NodeResources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}, LauncherResources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
		Agent: template.Agent{Image: "registry.test/agent:1"},
	}.Build()
	Expect(err).NotTo(HaveOccurred())
	return built
}

func trainJobNamed(namespace, name string) *trainer.TrainJob {
	return &trainer.TrainJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: trainer.TrainJobSpec{
			RuntimeRef: trainer.RuntimeRef{Name: "openmpi"},
			Trainer:    &trainer.Trainer{Command: []string{"mpirun", "train"}},
		},
	}
}

func create(ctx context.Context, trainJob *trainer.TrainJob) *trainer.TrainJob {
	Expect(admin.Create(ctx, trainJob)).To(Succeed())
	return trainJob
}

func patch(ctx context.Context, object client.Object, text string) {
	Expect(admin.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(text)))).To(Succeed())
}

func in(namespace, name string) client.ObjectKey {
	return client.ObjectKey{Namespace: namespace, Name: name}
}

func ensureNamespace(ctx context.Context, name string) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	Expect(client.IgnoreAlreadyExists(admin.Create(ctx, namespace))).To(Succeed())
}

func newNamespace(ctx context.Context) string {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "team-"}}
	Expect(admin.Create(ctx, namespace)).To(Succeed())
	return namespace.Name
}

func restrictedNamespace(ctx context.Context) string {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "restricted-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	Expect(admin.Create(ctx, namespace)).To(Succeed())
	return namespace.Name
}

// jobSetOf waits for the JobSet of a TrainJob.
func jobSetOf(ctx context.Context, trainJob *trainer.TrainJob) *jobset.JobSet {
	GinkgoHelper()
	js := &jobset.JobSet{}
	Eventually(func() error { return admin.Get(ctx, client.ObjectKeyFromObject(trainJob), js) }).Should(Succeed())
	return js
}

// runs is the state of a job that runs, as under Kubeflow Trainer.
const runs = ""

// state is what upstream's column STATE prints: the type of the last condition.
func state(ctx context.Context, trainJob *trainer.TrainJob) func() string {
	return func() string {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(trainJob), trainJob); err != nil {
			return err.Error()
		}
		if len(trainJob.Status.Conditions) == 0 {
			return runs
		}
		return trainJob.Status.Conditions[len(trainJob.Status.Conditions)-1].Type
	}
}

func reason(ctx context.Context, trainJob *trainer.TrainJob, condition string) func() string {
	return func() string {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(trainJob), trainJob); err != nil {
			return err.Error()
		}
		if found := meta.FindStatusCondition(status.AllConditions(trainJob), condition); found != nil {
			return found.Reason
		}
		return ""
	}
}

// versions returns the resource versions of a TrainJob and of all that stands under its names.
func versions(ctx context.Context, trainJob *trainer.TrainJob) map[string]string {
	found := map[string]string{}
	for kind, object := range map[string]client.Object{
		"TrainJob " + trainJob.Name:                    &trainer.TrainJob{},
		"Secret " + trainJob.Name + "-mpi-ssh-auth":    &corev1.Secret{},
		"ConfigMap " + trainJob.Name + "-mpi-hostfile": &corev1.ConfigMap{},
		"NetworkPolicy " + trainJob.Name + "-mpi":      &networkingv1.NetworkPolicy{},
		"JobSet " + trainJob.Name:                      &jobset.JobSet{},
	} {
		_, name, _ := strings.Cut(kind, " ")
		err := admin.Get(ctx, in(trainJob.Namespace, name), object)
		Expect(client.IgnoreNotFound(err)).To(Succeed())
		if err == nil {
			found[kind] = object.GetResourceVersion()
		}
	}
	return found
}

func eventsAbout(ctx context.Context, trainJob *trainer.TrainJob) func() []string {
	return func() []string {
		var list corev1.EventList
		Expect(admin.List(ctx, &list, client.InNamespace(trainJob.Namespace))).To(Succeed())
		var found []string
		for _, event := range list.Items {
			if event.InvolvedObject.UID == trainJob.UID {
				found = append(found, event.Type+" "+event.Reason)
			}
		}
		return found
	}
}

// childJob is what the JobSet controller would create.
func childJob(js *jobset.JobSet, name string) *batchv1.Job {
	child := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: js.Namespace, Name: js.Name + "-" + name + "-0", Labels: map[string]string{mpi.TrainJobLabel: js.Name},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "jobset.x-k8s.io/v1alpha2", Kind: "JobSet", Name: js.Name, UID: js.UID, Controller: ptr.To(true),
		}},
	}}
	child.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{{Name: "node", Image: "registry.test/mpi:1"}},
	}
	return child
}

// makePods makes what the Job controller and kubelet would: a ready launcher and two ready nodes.
func makePods(ctx context.Context, js *jobset.JobSet, launcherIP string) []corev1.Pod {
	GinkgoHelper()
	pods := []corev1.Pod{
		podFor(js, mpi.LauncherJob, 0), podFor(js, mpi.NodeJob, 0), podFor(js, mpi.NodeJob, 1),
	}
	for i, ip := range []string{launcherIP, "10.0.0.2", "10.0.0.3"} {
		Expect(admin.Create(ctx, &pods[i])).To(Succeed())
		pods[i].Status = corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		}
		Expect(admin.Status().Update(ctx, &pods[i])).To(Succeed())
	}
	return pods
}

func podFor(js *jobset.JobSet, role string, index int) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: js.Namespace, Name: fmt.Sprintf("%s-%s-0-%d-x7x2p", js.Name, role, index),
			Labels: map[string]string{
				mpi.TrainJobLabel: js.Name, mpi.JobSetNameLabel: js.Name, mpi.JobSetUIDLabel: string(js.UID),
				mpi.ReplicatedJobLabel: role, mpi.CompletionIndexLabel: strconv.Itoa(index),
			},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: mpi.Container, Image: "registry.test/mpi:1"}}},
	}
}

func endPod(ctx context.Context, pod *corev1.Pod, code int32, message string) {
	pod.Status.Phase = corev1.PodFailed
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: mpi.Container, State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error", Message: message, FinishedAt: metav1.Now()},
	}}}
	Expect(admin.Status().Update(ctx, pod)).To(Succeed())
}

func endJobSet(ctx context.Context, js *jobset.JobSet, condition jobset.JobSetConditionType) {
	Expect(admin.Get(ctx, client.ObjectKeyFromObject(js), js)).To(Succeed())
	js.Status.TerminalState = string(condition)
	js.Status.Conditions = []metav1.Condition{{
		Type: string(condition), Status: metav1.ConditionTrue, Reason: "Test", Message: "said by JobSet", LastTransitionTime: metav1.Now(),
	}}
	Expect(admin.Status().Update(ctx, js)).To(Succeed())
}

// agentServer is the launcher's agent on a loopback address: the real server with the job's key.
type agentServer struct {
	ip     string
	tables chan mpi.HostTable
}

func (a agentServer) table() mpi.HostTable {
	GinkgoHelper()
	var table mpi.HostTable
	Eventually(a.tables).Should(Receive(&table))
	return table
}

// agentAddress is that of the agents of this process: others run other specs beside it.
var agentAddress = net.IPv4(127, byte(1+os.Getpid()>>16), byte(os.Getpid()>>8), byte(os.Getpid())).String()

func agentOf(ctx context.Context, trainJob *trainer.TrainJob) agentServer {
	GinkgoHelper()
	secret := &corev1.Secret{}
	Expect(admin.Get(ctx, in(trainJob.Namespace, mpi.SSHAuthSecretName(trainJob.Name)), secret)).To(Succeed())
	key, err := identity.ParseKey(secret.Data[mpi.PrivateKeyKey])
	Expect(err).NotTo(HaveOccurred())
	agent := agentServer{ip: agentAddress, tables: make(chan mpi.HostTable, 1)}
	listener, err := net.Listen("tcp", net.JoinHostPort(agent.ip, strconv.Itoa(mpi.AgentPort)))
	Expect(err).NotTo(HaveOccurred())
	serving := &server.Server{Key: key, Limits: server.DefaultLimits, Log: log.New(GinkgoWriter, "", 0), Handlers: server.Handlers{
		Subsystems: map[string]server.Subsystem{mpi.HostTableSubsystem: agent.hostTable},
	}}
	serveCtx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serving.Serve(serveCtx, listener) }()
	DeferCleanup(func() {
		stop()
		Expect(<-ended).To(Succeed())
	})
	return agent
}

func (a agentServer) hostTable(_ context.Context, request []byte) (any, error) {
	var table mpi.HostTable
	if err := json.Unmarshal(request, &table); err != nil {
		return nil, err
	}
	select {
	case a.tables <- table:
	default:
	}
	return mpi.GateResult{Passed: true, Seconds: 0.1}, nil
}
