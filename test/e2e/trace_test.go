package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

var _ = Describe("A job that is traced", func() {
	DescribeTable("tells in the log of its launcher who sent how much to whom", func(ctx SpecContext, runtime string) {
		object := job("traced-"+runtime, runtime, "mpirun", "-n", "4", "mpi-hello").TrainJob()
		object.Annotations = map[string]string{mpi.TraceAnnotation: "traffic"}
		log := launcherLog(ctx, object)
		Expect(log).To(MatchRegexp(`traffic: counted by 4 of 4 ranks: \d+ B in \d+ messages, \d+ % of it between nodes, 100 % inside of collectives`))
		Expect(log).To(MatchRegexp(`traffic: +rank 3 .* B .*-node-0-0\n`))
	}, Entry("on Open MPI 4", "openmpi4-cpu"), Entry("on Open MPI 5", "openmpi5-cpu"))

	DescribeTable("tells how long each rank was inside of MPI, and who kept the others waiting", func(ctx SpecContext, runtime string) {
		object := job("waiting-"+runtime, runtime, "mpirun", "-n", "4", "python3", "-c", `import time
from mpi4py import MPI
world = MPI.COMM_WORLD
for step in range(4):
    time.sleep(1.0 if world.rank == 3 else 0.1)
    world.allreduce(1)
`).TrainJob()
		object.Annotations = map[string]string{mpi.TraceAnnotation: "waiting"}
		log := launcherLog(ctx, object)
		Expect(log).To(ContainSubstring("waiting: counted of 4 ranks: inside of MPI for "))
		Expect(log).To(MatchRegexp(`waiting: +rank 0 +[0-9.]+ s +\d+ % .* s +\d+  waiting-.*-launcher-0-0\n`))
		Expect(log).To(MatchRegexp(`waiting: rank 3 \(waiting-.*-node-0-0\) keeps the others waiting: it was inside of MPI for `))
	}, Entry("on MPICH", "mpich-cpu"), Entry("on Open MPI 5", "openmpi5-cpu"))

	It("counts C programs on Open MPI 4, beside what they send", func(ctx SpecContext) {
		object := job("waiting-openmpi4", "openmpi4-cpu", "mpirun", "-n", "4", "mpi-hello").TrainJob()
		object.Annotations = map[string]string{mpi.TraceAnnotation: "waiting,traffic"}
		log := launcherLog(ctx, object)
		Expect(log).To(ContainSubstring("waiting: counted of 4 ranks: inside of MPI for "))
		Expect(log).To(ContainSubstring("traffic: counted by 4 of 4 ranks: "))
	})

	It("is refused where what it asks for cannot be recorded", func(ctx SpecContext) {
		unknown := job("untraceable", "openmpi4-cpu", "true").TrainJob()
		unknown.Annotations = map[string]string{mpi.TraceAnnotation: "everything"}
		Expect(editor.Client.Create(ctx, unknown)).To(MatchError(ContainSubstring("allowed are `traffic`, `waiting`, `horovod` and `nccl`")))

		without := job("without-volume", "openmpi4-cpu", "true").TrainJob()
		without.Annotations = map[string]string{mpi.TraceAnnotation: "horovod"}
		submit(ctx, editor, without)
		Eventually(said(ctx, without, "Failed")).Should(ContainSubstring("mount a claim"))
		Expect(podsOf(ctx, without)).To(BeEmpty())
		Eventually(told(ctx, without.Name)).Should(HaveExactElements(string(diagnose.InvalidTrace)))
	})
})

// launcherLog runs a job to its end, and returns the log of its launcher.
func launcherLog(ctx SpecContext, object *trainer.TrainJob) string {
	GinkgoHelper()
	submit(ctx, editor, object)
	Eventually(completes(ctx, editor, object)).Should(BeTrue())
	pods := podsOf(ctx, object)
	launcher := pods[ofRole(pods, mpi.LauncherJob)]
	log, err := admin.Logs.CoreV1().Pods(tenant).GetLogs(launcher.Name, &corev1.PodLogOptions{Container: mpi.Container}).DoRaw(ctx)
	Expect(err).NotTo(HaveOccurred())
	return string(log)
}
