package e2e

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/mpi"
)

var _ = Describe("A tenant", func() {
	It("cannot create jobs in the namespace of another", func(ctx SpecContext) {
		err := otherEditor.Client.Create(ctx, job("intruder", "mpich-cpu", "true").TrainJob())
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "error: %v", err)
	})

	It("cannot read the keys of jobs, not even of its own", func(ctx SpecContext) {
		for _, namespace := range []string{tenant, otherTenant} {
			err := editor.Client.List(ctx, &corev1.SecretList{}, client.InNamespace(namespace))
			Expect(apierrors.IsForbidden(err)).To(BeTrue(), "error: %v", err)
		}
	})

	It("cannot reach the agents of another tenant's job", func(ctx SpecContext) {
		victim := job("victim", "openmpi4-cpu", "mpirun", "-n", "4", "mpi-hello", "--sleep", "120")
		start(ctx, editor, victim)
		pods := &corev1.PodList{}
		Expect(admin.Client.List(ctx, pods, client.InNamespace(tenant), client.MatchingLabels{
			mpi.JobSetNameLabel: victim.Name, mpi.ReplicatedJobLabel: mpi.NodeJob,
		})).To(Succeed())
		Expect(pods.Items).To(HaveLen(2))

		// The probe first shows that it can reach its own job's agent: a refusal below is not a broken probe. It takes the
		// address from the agent's table, because a name may not be in DNS yet.
		probe := job("probe", "openmpi5-cpu", "bash", "-c", fmt.Sprintf(`
			knock() { timeout 5 bash -c "exec 3<>/dev/tcp/$1/%[1]d" 2>/dev/null; }
			own=$(grep -o '"address":"[^"]*"' %[4]s | sed -n 2p | cut -d'"' -f4)
			knock "$own" || exit 51
			knock %[2]s && exit 52
			knock %[3]s && exit 53
			mpirun -n 4 mpi-hello`, mpi.AgentPort, pods.Items[0].Status.PodIP, pods.Items[1].Status.PodIP, mpi.HostTablePath))
		probe.Namespace = otherTenant
		removeAfterwards(probe)
		object := probe.TrainJob()
		Expect(otherEditor.Client.Create(ctx, object)).To(Succeed())
		Eventually(func() bool {
			return condition(ctx, otherEditor, object, "Complete")() || condition(ctx, otherEditor, object, "Failed")()
		}).Should(BeTrue())
		Expect(otherEditor.Client.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		Expect(condition(ctx, otherEditor, object, "Complete")()).To(BeTrue(), "conditions: %+v", object.Status.Conditions)
	})

	It("is where the controller may read keys, and no other namespace is", func(ctx SpecContext) {
		service, err := cluster.Controller()
		Expect(err).NotTo(HaveOccurred())
		secret := func(namespace string) error {
			return service.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "any"}, &corev1.Secret{})
		}
		Expect(apierrors.IsNotFound(secret(tenant))).To(BeTrue())
		Expect(apierrors.IsForbidden(secret("kube-system"))).To(BeTrue())
	})

	It("cannot take a job over by preparing its key", func(ctx SpecContext) {
		j := job("squatted", "mpich-cpu", "mpirun", "-n", "4", "mpi-hello")
		squat := &corev1.Secret{ObjectMeta: owned(mpi.SSHAuthSecretName(j.Name), tenant), StringData: map[string]string{"ssh-privatekey": "known to me"}}
		Expect(admin.Client.Create(ctx, squat)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(admin.Client.Delete(ctx, squat))).To(Succeed()) })
		removeAfterwards(j)
		object := j.TrainJob()
		Expect(editor.Client.Create(ctx, object)).To(Succeed())
		Eventually(condition(ctx, editor, object, "Failed")).Should(BeTrue())
		Expect(editor.Client.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		Expect(object.Status.Conditions).To(ContainElement(HaveField("Message", ContainSubstring(squat.Name))))
		Expect(admin.Client.Delete(ctx, squat)).To(Succeed())
	})
})
