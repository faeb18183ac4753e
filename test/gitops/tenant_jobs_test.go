package gitops

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// nightly is a job in the repository of a tenant.
const nightly = `apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: nightly, namespace: geology, labels: {kueue.x-k8s.io/queue-name: lockstep}}
spec:
  runtimeRef: {name: openmpi5-cpu}
  trainer: {numNodes: 2, command: [mpirun, "true"]}
`

// tenantJobs holds an engine to what gitops.jobs of a Tenant promises. The url leads to the repository that jobs delivers from.
func tenantJobs(platform, jobs func() *engine, url func() string) {
	const stage = "lockstep-jobs-geology"

	job := func(ctx SpecContext) *unstructured.Unstructured {
		GinkgoHelper()
		return get(ctx, "trainer.kubeflow.org/v1alpha1", "TrainJob", "geology", "nightly")
	}

	It("applies a TrainJob from the tenant's own repository once, and nothing else", func(ctx SpecContext) {
		p, j := platform(), jobs()
		p.write("tenants/geology.yaml", geology+"  gitops: {jobs: true, repository: \""+url()+"\"}\n")
		p.build()
		p.applies(ctx, "lockstep", p.deliver(ctx))
		j.write("nightly.yaml", nightly)
		revision, begin := j.deliver(ctx), time.Now()
		j.applies(ctx, stage, revision)
		tell("commit of a tenant to its TrainJob: %.1f s", time.Since(begin).Seconds())
		made := job(ctx)

		By("ending the job: its failure is none of the stage, and it does not run again")
		before := made.DeepCopy()
		made.Object["status"] = map[string]any{"conditions": []any{condition("Failed", "MachineLost")}}
		Expect(admin.Status().Patch(ctx, made, client.MergeFrom(before))).To(Succeed())
		j.write("README.md", "another commit\n")
		revision = j.deliver(ctx)
		j.applies(ctx, stage, revision)
		after := job(ctx)
		Expect(after.GetUID()).To(Equal(made.GetUID()))
		Expect(after.Object["status"]).To(Equal(made.Object["status"]))

		By("giving the account a right: it may write TrainJobs only")
		j.write("binding.yaml", binding("RoleBinding", "geology"))
		j.refuses(ctx, stage, j.deliver(ctx), "ole")
		Expect(found(ctx, "rbac.authorization.k8s.io/v1", "RoleBinding", "geology", "mine")).To(BeFalse())

		By("taking the job out of git")
		j.remove("binding.yaml", "nightly.yaml")
		j.write("other.yaml", "# no jobs\n")
		j.applies(ctx, stage, j.deliver(ctx))
		Eventually(func() (bool, error) {
			return found(ctx, "trainer.kubeflow.org/v1alpha1", "TrainJob", "geology", "nightly")
		}).WithContext(ctx).Should(BeFalse())
	})
}
