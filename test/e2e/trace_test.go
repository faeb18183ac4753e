package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

var _ = Describe("A job that is traced", func() {
	DescribeTable("tells in the log of its launcher who sent how much to whom", func(ctx SpecContext, runtime string) {
		object := job("traced-"+runtime, runtime, "mpirun", "-n", "4", "mpi-hello").TrainJob()
		object.Annotations = map[string]string{mpi.TraceAnnotation: "traffic"}
		submit(ctx, editor, object)
		Eventually(completes(ctx, editor, object)).Should(BeTrue())
		pods := podsOf(ctx, object)
		launcher := pods[ofRole(pods, mpi.LauncherJob)]
		log, err := admin.Logs.CoreV1().Pods(tenant).GetLogs(launcher.Name, &corev1.PodLogOptions{Container: mpi.Container}).DoRaw(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(log)).To(MatchRegexp(`traffic: counted by 4 of 4 ranks: \d+ B in \d+ messages, \d+ % of it between nodes, 100 % inside of collectives`))
		Expect(string(log)).To(MatchRegexp(`traffic: +rank 3 .* B .*-node-0-0\n`))
	}, Entry("on Open MPI 4", "openmpi4-cpu"), Entry("on Open MPI 5", "openmpi5-cpu"))

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
