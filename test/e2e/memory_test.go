package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/test/testjob"
)

// ofTheMachine is the label of specs that may end differently on another kernel, or with control groups of another version. A guest
// runs them (test/guest).
var ofTheMachine = Label("machine")

// limited is a job of which each node has 256 MiB.
func limited(name, runtime string, command ...string) testjob.Job {
	j := job(name, runtime, command...)
	memory := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")}
	j.Resources = &corev1.ResourceRequirements{Requests: memory, Limits: memory}
	return j
}

// With control groups of version 1 the kernel kills one process; with version 2 kubelet has it kill all of the container, our agent
// too. The user is told the same.
var _ = Describe("A memory limit", ofTheMachine, func() {
	DescribeTable("is where the kernel kills a rank, and the job says which node it was", func(ctx SpecContext, runtime string) {
		result := run(ctx, limited("memory-"+runtime, runtime, "mpirun", "-n", "4", "bash", "-c",
			"[ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 3 ] && exec tail /dev/zero; exec mpi-hello --sleep 60"))
		AddReportEntry(runtime, result.Reason+": "+result.Message)
		Expect(result.Condition).To(Equal("Failed"))
		Expect(result.Reason).To(Equal(string(diagnose.OOMKilled)), result.Message)
		Expect(result.Message).To(And(ContainSubstring("Worker 0"), ContainSubstring(mpi.NodeJob+"-0-0"), ContainSubstring("raise the memory limit")))
	}, catalog)

	It("of the launcher, which is the first node, is told with the launcher's name", func(ctx SpecContext) {
		result := run(ctx, limited("memory-first", "openmpi5-cpu", "mpirun", "-n", "4", "bash", "-c",
			`[ $OMPI_COMM_WORLD_RANK = 0 ] && exec tail /dev/zero; exec mpi-hello --sleep 60`))
		Expect(result.Reason).To(Equal(string(diagnose.OOMKilled)), result.Message)
		Expect(result.Message).To(And(ContainSubstring(mpi.LauncherJob+"-0-0"), ContainSubstring("raise the memory limit")))
	})

	It("is that of the container where the agent counts what was killed", func(ctx SpecContext) {
		results := together(ctx, limited("memory-read", "openmpi5-cpu", "mpirun", "-n", "2", "--map-by", "ppr:1:node", "bash", "-c",
			`group=/sys/fs/cgroup limit=memory.max events=memory.events
			[ -e $group/$events ] || group=$group/memory limit=memory.limit_in_bytes events=memory.oom_control
			echo group: $(cat $group/$limit; grep -c "^oom_kill 0$" $group/$events)`))
		Expect(results[0].lines("group:")).To(HaveExactElements(" 268435456 1", " 268435456 1"), results[0].log)
	})
})
