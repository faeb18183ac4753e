package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/test/testjob"
)

// runtimes are those of the catalog that run here; catalog has them as entries of a table.
var runtimes = []string{"openmpi4-cpu", "openmpi5-cpu", "mpich-cpu"}

var catalog = []TableEntry{
	Entry("Open MPI 4", "openmpi4-cpu"), Entry("Open MPI 5", "openmpi5-cpu"), Entry("MPICH", "mpich-cpu"),
}

var _ = Describe("An MPI job", func() {
	DescribeTable("runs all ranks on two machines, without a restart of the launcher, and gives its key back", func(ctx SpecContext, runtime string) {
		result := run(ctx, job("world-"+runtime, runtime, "mpirun", "-n", "4", "mpi-hello"))
		Expect(result.Check(machines)).To(Succeed())
		Eventually(exists(ctx, &corev1.Secret{}, tenant, mpi.SSHAuthSecretName(result.Job.Name))).Should(BeFalse())
	}, catalog)

	It("starts under a name that was used a moment ago", func(ctx SpecContext) {
		j := job("again", "openmpi5-cpu", "mpirun", "-n", "4", "mpi-hello")
		Expect(run(ctx, j).Check(machines)).To(Succeed())
		Expect(editor.Client.Delete(ctx, j.TrainJob())).To(Succeed())
		Expect(run(ctx, j).Check(machines)).To(Succeed())
	})

	It("runs with a UID that has no passwd entry, and without ssh in the image", func(ctx SpecContext) {
		j := job("nobody", "openmpi5-cpu", "bash", "-c", `
			test "$(id -u)" = 1000650000 || exit 41
			grep ":1000650000:" /etc/passwd && exit 42
			ls /usr/bin/ssh /usr/sbin/sshd && exit 43
			mpirun -n 4 mpi-hello`)
		Expect(run(ctx, j).Check(machines)).To(Succeed())
		pods := &corev1.PodList{}
		Expect(admin.Client.List(ctx, pods, client.InNamespace(tenant), client.MatchingLabels{mpi.JobSetNameLabel: j.Name})).To(Succeed())
		for _, pod := range pods.Items {
			Expect(*pod.Spec.SecurityContext.RunAsNonRoot).To(BeTrue())
			Expect(*pod.Spec.SecurityContext.RunAsUser).To(BeEquivalentTo(1000650000))
		}
		namespace := &corev1.Namespace{}
		Expect(admin.Client.Get(ctx, client.ObjectKey{Name: tenant}, namespace)).To(Succeed())
		Expect(namespace.Labels).To(HaveKeyWithValue("pod-security.kubernetes.io/enforce", "restricted"))
	})

	DescribeTable("fails with the exit code of the user's command", func(ctx SpecContext, reason, code string, command ...string) {
		result := run(ctx, job("fails", "openmpi5-cpu", command...))
		Expect(result.Condition).To(Equal("Failed"))
		Expect(result.Reason).To(Equal(reason))
		Expect(result.Message).To(ContainSubstring("code " + code))
	},
		Entry("of a script", "CommandFailed", "7", "bash", "-c", "mpirun -n 4 mpi-hello; exit 7"),
		Entry("of a rank", "RankFailed", "3", "mpirun", "-n", "4", "mpi-hello", "--exit-rank", "3", "--exit-code", "3"),
	)

	It("completes with a word about a launch that failed and that the command passed over", func(ctx SpecContext) {
		launch := "mpirun -n 4 mpi-hello --exit-rank 2 --exit-code 3"
		jobs := []testjob.Job{
			job("passed-pipe", "openmpi4-cpu", "bash", "-c", launch+" | cat"),
			job("passed-wait", "openmpi5-cpu", "bash", "-c", launch+" & wait"),
			job("passed-or", "mpich-cpu", "bash", "-c", launch+" || true"),
			job("passed-twice", "openmpi4-cpu", "bash", "-c", launch+" || mpirun -n 4 mpi-hello"),
		}
		for i, result := range together(ctx, jobs...) {
			Expect(result.Condition).To(Equal("Complete"), "%s\n%s", result.Message, result.log)
			if i == 3 {
				Expect(result.Message).To(Equal("the launcher succeeded"), "the last launch is the one that counts")
				continue
			}
			words := "in its last launch rank 2 on worker 0 exited with code 3, which the command passed over"
			Expect(result.Message).To(HavePrefix("the launcher succeeded; "+words), result.Job.Name)
			Expect(result.log).To(ContainSubstring(words), result.Job.Name)
		}
	})

	It("fails when the command cannot be started", func(ctx SpecContext) {
		result := run(ctx, job("typo", "mpich-cpu", "mpirunn", "-n", "4", "mpi-hello"))
		Expect(result.Condition).To(Equal("Failed"))
		Expect(result.Reason).To(Equal("CommandNotFound"))
		Expect(result.Message).To(ContainSubstring("mpirunn"))
	})

	It("fails when the launcher ran alone, whatever it says itself", func(ctx SpecContext) {
		result := run(ctx, job("alone", "openmpi4-cpu", "mpi-hello"))
		Expect(result.Condition).To(Equal("Failed"))
		Expect(result.Reason).To(Equal("WorldIncomplete"))
	})

	It("leaves nothing behind when it is deleted while it runs", func(ctx SpecContext) {
		j := job("deleted", "openmpi4-cpu", "mpirun", "-n", "4", "mpi-hello", "--sleep", "600")
		object := start(ctx, editor, j)
		Expect(leftovers(ctx, j)()).NotTo(BeEmpty())
		Expect(editor.Client.Delete(ctx, object)).To(Succeed())
		Eventually(leftovers(ctx, j)).WithTimeout(time.Minute).Should(BeEmpty())
	})

	It("goes on when the controller is replaced while it runs", Serial, func(ctx SpecContext) {
		j := job("survivor", "openmpi5-cpu", "mpirun", "-n", "4", "mpi-hello", "--sleep", "10")
		object := start(ctx, editor, j)
		Expect(admin.Client.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace("lockstep-system"),
			client.MatchingLabels{mpi.ControllerLabel: mpi.ControllerName})).To(Succeed())
		Eventually(completes(ctx, editor, object)).Should(BeTrue())
	})

	It("can be suspended and resumed", func(ctx SpecContext) {
		j := job("pause", "openmpi4-cpu", "mpirun", "-n", "4", "mpi-hello")
		removeAfterwards(ctx, j)
		object := j.TrainJob()
		suspended := true
		object.Spec.Suspend = &suspended
		Expect(editor.Client.Create(ctx, object)).To(Succeed())
		Eventually(condition(ctx, editor, object, "Suspended")).Should(BeTrue())
		Expect(editor.Client.Patch(ctx, object, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"suspend":false}}`)))).To(Succeed())
		Eventually(completes(ctx, editor, object)).Should(BeTrue())
	})
})
