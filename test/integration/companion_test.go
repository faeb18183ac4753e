package integration

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/reconciler"
)

// Kubeflow Trainer itself runs in the e2e tests. Here its writes are done by hand, in its way: the whole list of conditions is
// replaced by what was read and changed.
var _ = Describe("The controller beside Kubeflow Trainer", Ordered, ContinueOnFailure, func() {
	const webhook = "127.0.0.1:19443"
	values := map[string]any{"mode": "companion"}
	var namespace string
	var from int

	BeforeAll(func(ctx SpecContext) {
		ensureNamespace(ctx, controllerNamespace)
		installPermissions(ctx, values)
		installWebhook(ctx, values, "https://"+webhook)
		forgetLease(ctx)
		// One that holds no longer.
		Expect(admin.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: controllerNamespace, Name: "mpi-controller-webhook"},
			Type:       corev1.SecretTypeTLS, Data: map[string][]byte{"tls.crt": {}, "tls.key": {}},
		})).To(Succeed())
		from = len(auditEntries())
		runController(reconciler.Options{Mode: reconciler.Companion, LeaderElection: true, WebhookAddress: webhook})
		Expect(admin.Create(ctx, runtimeNamed("beside"))).To(Succeed())
		waitForTrust(ctx)
	})

	BeforeEach(func(ctx SpecContext) { namespace = newNamespace(ctx) })

	start := func(ctx context.Context, name string) (*trainer.TrainJob, *jobset.JobSet) {
		trainJob := trainJobNamed(namespace, name)
		trainJob.Spec.RuntimeRef.Name = "beside"
		create(ctx, trainJob)
		return trainJob, trainerRuns(ctx, trainJob)
	}

	It("adds network policies and touches nothing of Trainer", func(ctx SpecContext) {
		trainJob, js := start(ctx, "guarded")
		Eventually(func() map[string]string { return versions(ctx, trainJob) }).Should(HaveKey("NetworkPolicy guarded-mpi"))
		Eventually(reason(ctx, trainJob, job.PodsReady)).Should(Equal(string(job.ReasonPodsPending)))
		after := jobSetOf(ctx, trainJob)
		Expect(after.ResourceVersion).To(Equal(js.ResourceVersion))
		for _, entry := range auditEntries()[from:] {
			if entry.Write() {
				Expect(entry.Right()).To(BeElementOf(
					"create networkpolicies.networking.k8s.io", "patch trainjobs.trainer.kubeflow.org", "delete secrets.",
					"create events.", "create leases.coordination.k8s.io", "update leases.coordination.k8s.io",
					"create secrets.", "patch mutatingwebhookconfigurations.admissionregistration.k8s.io"))
			}
		}
	})

	It("hands the launcher its nodes, and its conditions live with those of Trainer", func(ctx SpecContext) {
		trainJob, js := start(ctx, "runs")
		launcher := agentOf(ctx, trainJob)
		makePods(ctx, js, launcher.ip)
		Expect(launcher.table().Hosts).To(HaveLen(3))
		Eventually(reason(ctx, trainJob, job.Running)).Should(Equal(string(job.ReasonGatePassed)))
		Expect(state(ctx, trainJob)()).To(Equal(runs), "Trainer has no condition yet, and the status is its own")
		Expect(trainJob.Labels).To(HaveKeyWithValue(mpi.TrainJobLabel, "runs"), "it is found as one of ours")

		endJobSet(ctx, js, jobset.JobSetCompleted)
		trainerSays(ctx, trainJob, trainer.TrainJobComplete, "AllJobsCompleted", "jobset completed successfully")
		Eventually(func() map[string]string { return versions(ctx, trainJob) }).ShouldNot(HaveKey("Secret runs-mpi-ssh-auth"))
		Eventually(reason(ctx, trainJob, job.Running)).Should(Equal(string(job.ReasonFinished)))
		Expect(state(ctx, trainJob)()).To(Equal(trainer.TrainJobComplete), "the column STATE is Trainer's")
		complete := meta.FindStatusCondition(trainJob.Status.Conditions, trainer.TrainJobComplete)
		Expect(complete.Message).To(Equal("jobset completed successfully"), "its words stay as they were")
		Eventually(eventsAbout(ctx, trainJob)).Should(ContainElements("Normal PodsReady", "Normal TrainingStarted", "Normal Completed"))
		before := versions(ctx, trainJob)
		patch(ctx, trainJob, `{"metadata":{"annotations":{"look":"again"}}}`)
		Consistently(func() map[string]string {
			now := versions(ctx, trainJob)
			delete(now, "TrainJob runs")
			return now
		}).WithTimeout(silence).Should(HaveLen(len(before) - 1))
	})

	It("says why a job failed, which Trainer does not", func(ctx SpecContext) {
		trainJob, js := start(ctx, "fails")
		Eventually(reason(ctx, trainJob, job.PodsReady)).Should(Equal(string(job.ReasonPodsPending)))
		pods := makePods(ctx, js, "127.0.0.9")
		verdict, err := mpi.Verdict{Reason: mpi.ReasonCommandFailed, Message: "the command exited with code 7", ExitCode: 7}.Encode()
		Expect(err).NotTo(HaveOccurred())
		endPod(ctx, &pods[0], 7, string(verdict))
		endJobSet(ctx, js, jobset.JobSetFailed)
		trainerSays(ctx, trainJob, trainer.TrainJobFailed, "FailedJobs", "jobset failed due to one or more job failures")
		Eventually(reason(ctx, trainJob, job.Diagnosed)).Should(Equal("CommandFailed"))
		Expect(message(trainJob, job.Diagnosed)).To(ContainSubstring("code 7"))
		Expect(message(trainJob, trainer.TrainJobFailed)).To(Equal("jobset failed due to one or more job failures"))
		Eventually(eventsAbout(ctx, trainJob)).Should(ContainElement("Warning CommandFailed"))
		Consistently(func() map[string]string { return versions(ctx, trainJob) }).WithTimeout(silence).Should(
			HaveKey("Secret fails-mpi-ssh-auth"), "Trainer would make another one")
	})

	It("says that a key, or a policy, is somebody else's, and uses no such key", func(ctx SpecContext) {
		squat := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: mpi.SSHAuthSecretName("squatted")}, StringData: map[string]string{mpi.PrivateKeyKey: "known to me"}}
		theirs := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: mpi.NetworkPolicyName("squatted")}}
		for _, object := range []client.Object{squat, theirs} {
			Expect(admin.Create(ctx, object)).To(Succeed())
		}
		trainJob := trainJobNamed(namespace, "squatted")
		trainJob.Spec.RuntimeRef.Name = "beside"
		create(ctx, trainJob)
		js := trainersJobSet(trainJob)
		Expect(admin.Create(ctx, js)).To(Succeed())
		Eventually(reason(ctx, trainJob, job.Guarded)).Should(Equal(string(diagnose.NameTaken)))
		Expect(message(trainJob, job.Guarded)).To(And(ContainSubstring(squat.Name), ContainSubstring("has the key of the job"), ContainSubstring("NetworkPolicy `"+theirs.Name+"`")))
		Eventually(eventsAbout(ctx, trainJob)).Should(ContainElement("Warning NameTaken"))

		makePods(ctx, js, "127.0.0.9")
		Eventually(reason(ctx, trainJob, job.Running)).Should(Equal(string(diagnose.LauncherUnreachable)))
		Expect(message(trainJob, job.Running)).To(ContainSubstring("uses no key that others may have"))
		Expect(reason(ctx, trainJob, job.Guarded)()).To(Equal(string(diagnose.NameTaken)), "it stays")
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(squat), squat)).To(Succeed(), "what is somebody else's stays")
	})

	It("says at once what can never run", func(ctx SpecContext) {
		quotaIn(ctx, namespace, corev1.ResourceList{"pods": resource.MustParse("1")}, nil)
		trainJob, _ := start(ctx, "never")
		Eventually(reason(ctx, trainJob, job.PodsReady)).Should(Equal(string(diagnose.QuotaExceeded)))
		Expect(message(trainJob, job.PodsReady)).To(ContainSubstring("Insufficient pods: requested 3"))
	})

	It("gives nodes the image and the environment of the TrainJob, and the launcher its agent", func(ctx SpecContext) {
		trainJob := trainJobNamed(namespace, "image")
		trainJob.Spec.RuntimeRef.Name = "beside"
		trainJob.Spec.Trainer.Image = ptr.To("registry.test/mine:2")
		trainJob.Spec.Trainer.Env = []corev1.EnvVar{{Name: "EPOCHS", Value: "3"}}
		create(ctx, trainJob)
		js := trainerRuns(ctx, trainJob)
		Eventually(reason(ctx, trainJob, job.PodsReady)).Should(Equal(string(job.ReasonPodsPending)), "the cache knows the TrainJob")
		node, launcher := podFor(js, mpi.NodeJob, 0), podFor(js, mpi.LauncherJob, 0)
		launcher.Spec.Containers[0].Command = []string{"mpirun", "train"}
		for _, pod := range []*corev1.Pod{&node, &launcher} {
			Expect(admin.Create(ctx, pod)).To(Succeed())
		}
		Expect(node.Spec.Containers[0].Image).To(Equal("registry.test/mine:2"))
		Expect(node.Spec.Containers[0].Env).To(ContainElement(corev1.EnvVar{Name: "EPOCHS", Value: "3"}))
		Expect(launcher.Spec.Containers[0].Command).To(Equal([]string{mpi.AgentBin, "run", "--", "mpirun", "train"}))

		stranger := podFor(js, mpi.NodeJob, 1)
		stranger.Labels[mpi.JobSetNameLabel] = "no-trainjob"
		Expect(admin.Create(ctx, &stranger)).To(Succeed())
		Expect(stranger.Spec.Containers[0].Image).To(Equal("registry.test/mpi:1"))
	})

	It("answers nobody who has not read where the API server asks", func() {
		stranger := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // a stranger believes everybody
		for _, path := range []string{"/propagate", "/propagate/", "/propagate/0123456789abcdef0123456789abcdef"} {
			answer, err := stranger.Post("https://"+webhook+path, "application/json", strings.NewReader(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1"}}`))
			Expect(err).NotTo(HaveOccurred())
			Expect(answer.Body.Close()).To(Succeed())
			Expect(answer.StatusCode).To(Equal(http.StatusNotFound), path)
		}
	})

	It("leaves other runtimes to Trainer", func(ctx SpecContext) {
		runtime := runtimeNamed("torch-beside")
		runtime.Spec.MLPolicy.MPI = nil
		runtime.Spec.MLPolicy.Torch = &trainer.TorchMLPolicySource{}
		Expect(admin.Create(ctx, runtime)).To(Succeed())
		trainJob := trainJobNamed(namespace, "torch")
		trainJob.Spec.RuntimeRef.Name = runtime.Name
		create(ctx, trainJob)
		before := versions(ctx, trainJob)
		Consistently(func() map[string]string { return versions(ctx, trainJob) }).WithTimeout(silence).Should(Equal(before))
	})

	// This is the last one: it looks at what all others made the controller ask for.
	It("has exactly the rights that it uses", func(ctx SpecContext) {
		denied, _ := start(ctx, "denied")
		Eventually(func() bool {
			for _, entry := range auditEntries()[from:] {
				if entry.Right() == "list events." {
					return true
				}
			}
			return false
		}).WithTimeout(15*time.Second).Should(BeTrue(), "pods of %s are missing", denied.Name)
		expectExactRights(values, from)
	})
})

// trainerRuns makes what Kubeflow Trainer makes for a TrainJob: key and JobSet, without our labels.
func trainerRuns(ctx context.Context, trainJob *trainer.TrainJob) *jobset.JobSet {
	GinkgoHelper()
	resolved, err := job.Resolve(trainJob, job.Runtime{Spec: runtimeNamed("template").Spec})
	Expect(err).NotTo(HaveOccurred())
	random := make([]byte, 32)
	random[0] = 7
	key, err := desired.SSHAuthSecret(resolved, constant(random))
	Expect(err).NotTo(HaveOccurred())
	key.Labels = nil
	Expect(admin.Create(ctx, key)).To(Succeed())
	js := trainersJobSet(trainJob)
	Expect(admin.Create(ctx, js)).To(Succeed())
	return js
}

// constant is a source of the same bytes.
type constant []byte

// Read fills p.
func (c constant) Read(p []byte) (int, error) { return copy(p, c), nil }

// trainerSays sets a condition as Trainer does: it changes the list that it has read, and replaces the list as a whole.
func trainerSays(ctx context.Context, trainJob *trainer.TrainJob, kind, reason, text string) {
	GinkgoHelper()
	Expect(admin.Get(ctx, client.ObjectKeyFromObject(trainJob), trainJob)).To(Succeed())
	before := trainJob.DeepCopy()
	meta.SetStatusCondition(&trainJob.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: text})
	Expect(admin.Status().Patch(ctx, trainJob, client.MergeFrom(before), client.FieldOwner("trainer"))).To(Succeed())
}

// installWebhook installs the configuration of the chart. The API server of this suite is outside of any cluster, so it asks
// an address and not a Service.
func installWebhook(ctx context.Context, values map[string]any, url string) {
	GinkgoHelper()
	objects, err := render(values)
	Expect(err).NotTo(HaveOccurred())
	for _, object := range objects {
		if object.GetKind() != "MutatingWebhookConfiguration" {
			continue
		}
		hooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
		Expect(err).NotTo(HaveOccurred())
		hooks[0].(map[string]any)["clientConfig"] = map[string]any{"url": url} //nolint:forcetypeassert // the chart has one
		Expect(unstructured.SetNestedSlice(object.Object, hooks, "webhooks")).To(Succeed())
		Expect(admin.Create(ctx, object)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(admin.Delete(ctx, object)).To(Succeed()) })
	}
	DeferCleanup(func(ctx SpecContext) {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: controllerNamespace, Name: "mpi-controller-webhook"}}
		Expect(client.IgnoreNotFound(admin.Delete(ctx, secret))).To(Succeed())
	})
}

// waitForTrust waits until the API server has the certificate of the controller.
func waitForTrust(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		configuration := &unstructured.Unstructured{}
		configuration.SetAPIVersion("admissionregistration.k8s.io/v1")
		configuration.SetKind("MutatingWebhookConfiguration")
		g.Expect(admin.Get(ctx, client.ObjectKey{Name: "mpi-controller-webhook"}, configuration)).To(Succeed())
		hooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
		g.Expect(err).NotTo(HaveOccurred())
		bundle, _, err := unstructured.NestedString(hooks[0].(map[string]any), "clientConfig", "caBundle") //nolint:forcetypeassert // the chart has one
		g.Expect(err).NotTo(HaveOccurred())
		text, err := base64.StdEncoding.DecodeString(bundle)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(text)).To(HavePrefix("-----BEGIN CERTIFICATE-----"))
	}).Should(Succeed())
}
