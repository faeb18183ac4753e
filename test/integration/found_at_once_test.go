package integration

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ownExecutorSpecs are those of admissionSpecs in a cluster whose jobs our own controller runs, which therefore has
// no runtimes of others.
var ownExecutorSpecs = strings.NewReplacer(
	"  executor: KubeflowTrainer\n", "", "externalRuntimes: [torch-distributed]\n", "\n",
).Replace(admissionSpecs)

// The first write of a controller would do it too: here there is none.
var _ = Describe("MPI jobs", ofTheCompiler, Ordered, func() {
	var editor client.Client

	BeforeAll(func(ctx SpecContext) {
		if servedMinor() < 36 {
			Skip("the API server does not serve MutatingAdmissionPolicies")
		}
		install(ctx, ownExecutorSpecs)
		editor = userIn("grace", "camera-editors")
		enforced(ctx, editor)
		Eventually(func(g Gomega) {
			probe := parsed(queued("{runtimeRef: {name: openmpi5-h100}}"))
			g.Expect(editor.Create(ctx, probe, client.DryRunAll)).To(Succeed())
			g.Expect(probe.GetLabels()).To(HaveKey("lockstep.dev/trainjob"))
		}).Should(Succeed())
	})

	named := func(name, spec string, change ...string) *unstructured.Unstructured {
		return parsed(strings.NewReplacer(append(change, "name: demo", "name: "+name)...).Replace(queued(spec)))
	}
	found := func(ctx SpecContext) map[string]string {
		GinkgoHelper()
		jobs := &unstructured.UnstructuredList{}
		jobs.SetAPIVersion("trainer.kubeflow.org/v1alpha1")
		jobs.SetKind("TrainJobList")
		Expect(editor.List(ctx, jobs, client.InNamespace("cameras"), client.HasLabels{"lockstep.dev/trainjob"})).To(Succeed())
		labels := map[string]string{}
		for _, job := range jobs.Items {
			labels[job.GetName()] = job.GetLabels()["lockstep.dev/trainjob"]
		}
		return labels
	}

	It("are found by their label from their creation on, with the right name", func(ctx SpecContext) {
		const mislabelled = "queue-name: lockstep, lockstep.dev/trainjob: other"
		for _, job := range []*unstructured.Unstructured{
			named("plain", "{runtimeRef: {name: openmpi5-h100}}"),
			named("held", "{runtimeRef: {name: openmpi5-h100}, suspend: true}"),
			named("variant", "{runtimeRef: {name: openmpi5-wide, kind: TrainingRuntime}}"),
			named("mislabelled", "{runtimeRef: {name: openmpi5-h100}}", "queue-name: lockstep", mislabelled),
		} {
			Expect(editor.Create(ctx, job)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { Expect(admin.Delete(ctx, job)).To(Succeed()) })
		}
		all := map[string]string{"plain": "plain", "held": "held", "variant": "variant", "mislabelled": "mislabelled"}
		Expect(found(ctx)).To(Equal(all))

		By("a user, who takes the label away or writes another")
		for _, value := range []string{"null", `"other"`} {
			patchAs(ctx, editor, named("plain", "{}"), `{"metadata":{"labels":{"lockstep.dev/trainjob":`+value+`}}}`)
			Expect(found(ctx)).To(Equal(all))
		}
	})

	It("are labelled only where that is known", func(ctx SpecContext) {
		labelsOf := func(job *unstructured.Unstructured) map[string]string {
			GinkgoHelper()
			Expect(admin.Create(ctx, job, client.DryRunAll)).To(Succeed())
			return job.GetLabels()
		}
		By("a job without a tenant")
		ensureNamespace(ctx, "nobodys")
		elsewhere := named("plain", "{runtimeRef: {name: openmpi5-h100}}")
		elsewhere.SetNamespace("nobodys")
		Expect(labelsOf(elsewhere)).NotTo(HaveKey("lockstep.dev/trainjob"))
		By("a job that has no name yet")
		unnamed := named("", "{runtimeRef: {name: openmpi5-h100}}", "name: demo", "generateName: demo-")
		Expect(labelsOf(unnamed)).NotTo(HaveKey("lockstep.dev/trainjob"))
	})
})
