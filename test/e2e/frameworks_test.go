package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"lockstep.dev/lockstep/test/testjob"
)

// mpi4pyRank is a rank in Python that says what mpi-hello says.
const mpi4pyRank = `from mpi4py import MPI
import os
c = MPI.COMM_WORLD
total, expected = c.allreduce(c.rank + 1), c.size * (c.size + 1) // 2
line = f"rank={c.rank} size={c.size} host={os.uname().nodename} sum={total} expected={expected} {'ok' if total == expected else 'mismatch'}\n"
os.write(1, line.encode())
`

var _ = Describe("Frameworks as they come", func() {
	It("run on Intel MPI, by either of its launchers, and tell of a rank that failed", func(ctx SpecContext) {
		python, hydra := own("intelmpi-cpu", "mpirun", "-n", "4", "python3", "-c", mpi4pyRank), own("intelmpi-cpu", "mpiexec.hydra", "mpi-hello")
		bad := own("intelmpi-cpu", "mpirun", "mpi-hello", "--exit-rank", "2", "--exit-code", "3")
		python.Name, hydra.Name, bad.Name = "intel-python", "intel-hydra", "intel-fails"
		results := together(ctx, python, hydra, bad)
		for _, result := range results[:2] {
			Expect(result.Check(machines)).To(Succeed(), "%s\n%s", result.Message, result.log)
			Expect(result.Hosts()).To(HaveLen(2), "each rank on its node, although Intel's launcher would fill the first")
		}
		Expect(results[1].lines("library=")).To(ConsistOf(HavePrefix("Intel(R) MPI Library")), results[1].log)
		Expect(results[2].Reason).To(Equal("RankFailed"), "%s\n%s", results[2].Message, results[2].log)
		Expect(results[2].Message).To(And(ContainSubstring("rank 2"), ContainSubstring("code 3")))
	})

	DescribeTable("train with mpi4py as one process would", func(ctx SpecContext, runtime string) {
		learn := own(runtime, "mpirun", "-n", "4", "mpi-train")
		learn.Name = "train-" + runtime
		result := together(ctx, learn)[0]
		Expect(result.Condition).To(Equal("Complete"), "%s\n%s", result.Message, result.log)
		Expect(testjob.CheckLearned(result.log, int(learn.Nodes), int(learn.Slots), 1e-6)).To(Succeed(), result.log)
	},
		Entry("on Open MPI 5", "openmpi5-cpu"), Entry("on MPICH", "mpich-cpu"), Entry("on Intel MPI", "intelmpi-cpu"),
	)
})
