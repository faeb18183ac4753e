package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/reconciler"
)

// With `everyNamespace: false` the controller may touch what is in the namespaces of tenants, where the compiler binds its role.
var _ = Describe("A controller for the namespaces of tenants only", func() {
	It("runs the jobs of tenants to their end, and touches nothing elsewhere", func(ctx SpecContext) {
		ensureNamespace(ctx, controllerNamespace)
		installPermissions(ctx, map[string]any{"everyNamespace": false})
		forgetLease(ctx)
		tenant, stranger := newNamespace(ctx), newNamespace(ctx)
		Expect(admin.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: tenant, Name: "mpi-controller-jobs"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "mpi-controller-jobs"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: controllerNamespace, Name: "mpi-controller"}},
		})).To(Succeed())
		from := len(auditEntries())
		runController(reconciler.Options{LeaderElection: true, Identity: "tenants-0"})

		outside := create(ctx, ofRuntime(ctx, trainJobNamed(stranger, "outside")))
		trainJob := create(ctx, ofRuntime(ctx, trainJobNamed(tenant, "inside")))
		js := jobSetOf(ctx, trainJob)
		launcher := agentOf(ctx, trainJob)
		makePods(ctx, js, launcher.ip)
		Eventually(reason(ctx, trainJob, job.Running)).Should(Equal(string(job.ReasonGatePassed)))
		endJobSet(ctx, js, jobset.JobSetCompleted)
		Eventually(state(ctx, trainJob)).Should(Equal("Complete"))
		Expect(versions(ctx, trainJob)).NotTo(HaveKey("Secret inside-mpi-ssh-auth"))
		Eventually(eventsAbout(ctx, trainJob)).Should(ContainElements("Normal Submitted", "Normal TrainingStarted", "Normal Completed"))

		Expect(versions(ctx, outside)).To(HaveLen(1), "only the TrainJob")
		for _, entry := range auditEntries()[from:] {
			done := entry.ResponseStatus.Code < 300
			if done && entry.ObjectRef.Namespace == stranger {
				Expect(entry.Right()).To(BeElementOf("get trainingruntimes.trainer.kubeflow.org"), "nothing there is read or written")
			}
		}
	})
})
