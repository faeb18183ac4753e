package e2e

import (
	"encoding/json"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/test/testjob"
)

// What to do depends on who did it.
var _ = Describe("Whoever reads why a job failed", func() {
	It("is told whose memory limit a launcher has", ofTheMachine, func(ctx SpecContext) {
		addRuntimes(ctx, launcherApart("openmpi4-cpu", "launcher-apart"))
		j := job("launcher-memory", "launcher-apart", "bash", "-c", "mpirun -n 4 mpi-hello; tail /dev/zero; exit 1")
		j.Namespace = ownNamespace
		result := together(ctx, j)[0]
		Expect(result.Reason).To(Equal(string(diagnose.OOMKilled)), result.Message)
		Expect(result.Message).To(ContainSubstring("What to do: the launcher's memory limit of 128Mi is the runtime's, and spec.trainer.resourcesPerNode does not change it"))
	})

	DescribeTable("is told that the job itself may have ended a worker", func(ctx SpecContext, runtime, signal string) {
		result := run(ctx, job("from-inside", runtime, "mpirun", "-n", "4", "bash", "-c",
			"[ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 3 ] && { sleep 2; kill -TERM "+signal+"; exec sleep 20; }; exec mpi-hello --sleep 20"))
		fmt.Fprintln(GinkgoWriter, result.Reason+": "+result.Message)
		Expect(result.Condition).To(Equal("Failed"))
		if signal != "1" {
			Expect(result.Message).NotTo(ContainSubstring("check the machine"))
			return
		}
		Expect(result.Reason).To(Equal(string(diagnose.WorkerLost)), "a machine that shuts down and a probe send it too: "+result.Message)
		Expect(result.Message).To(And(
			ContainSubstring("nobody had deleted or evicted the pod: its machine is being shut down, a liveness probe failed, or a process of the job"),
			ContainSubstring("nothing in the job sends SIGTERM to process 1")))
	},
		Entry("by a signal to its agent, Open MPI 5", "openmpi5-cpu", "1"),
		Entry("by a signal to its agent, MPICH", "mpich-cpu", "1"),
		Entry("by a signal to all its processes, Open MPI 4", "openmpi4-cpu", "-1"),
	)

	DescribeTable("is told in kubelet's words that a container could not be started, because no log has them", func(ctx SpecContext, role string) {
		// In the namespace of a tenant the API server would refuse the mount.
		j := job("hidden-agent", "openmpi4-cpu", "mpirun", "-n", "4", "mpi-hello")
		j.Namespace = lifeNamespace
		object := patched(j, role,
			`{"volumes": [{"name": "empty", "emptyDir": {}}], "containers": [{"name": "node", "volumeMounts": [{"name": "empty", "mountPath": "/opt/lockstep/bin"}]}]}`)
		submit(ctx, admin, object)
		Eventually(said(ctx, object, trainer.TrainJobFailed)).Should(And(
			ContainSubstring("container `node` could not be started"), ContainSubstring("/opt/lockstep/bin/mpi-agent"), Not(ContainSubstring("read the log"))))
		fmt.Fprintln(GinkgoWriter, said(ctx, object, trainer.TrainJobFailed)())
	}, Entry("that of the launcher", mpi.LauncherJob), Entry("that of a node", mpi.NodeJob))

	It("is told that gates hold pods back, as long as they do", func(ctx SpecContext) {
		object := patched(job("gated", "openmpi4-cpu", "mpirun", "-n", "4", "mpi-hello"), mpi.NodeJob, `{"schedulingGates": [{"name": "example.com/wait"}]}`)
		submit(ctx, editor, object)
		Eventually(said(ctx, object, mpijob.PodsReady)).Should(ContainSubstring("is not to be scheduled yet: held back by the scheduling gate `example.com/wait`"))
		fmt.Fprintln(GinkgoWriter, said(ctx, object, mpijob.PodsReady)())
		for _, pod := range podsOf(ctx, object) {
			Expect(admin.Client.Patch(ctx, &pod, client.RawPatch(types.MergePatchType, []byte(`{"spec": {"schedulingGates": null}}`)))).To(Succeed())
		}
		Eventually(completes(ctx, editor, object)).Should(BeTrue())
	})
})

// patched is a job whose pods of a role are changed by runtimePatches.
func patched(j testjob.Job, role, pod string) *trainer.TrainJob {
	GinkgoHelper()
	object := j.TrainJob()
	patches := fmt.Sprintf(`[{"manager": "e2e.test/patch", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{"name": %q, "template": {"spec": {"template": {"spec": %s}}}}]}}}}]`, role, pod)
	Expect(json.Unmarshal([]byte(patches), &object.Spec.RuntimePatches)).To(Succeed())
	return object
}
