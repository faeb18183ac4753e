package e2e

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"lockstep.dev/lockstep/test/testjob"
)

// Two jobs per runtime, so that every pair of runtime, number of nodes and place of the launcher is run once.
var _ = Describe("A world", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		var specs []string
		for _, runtime := range runtimes {
			specs = append(specs, launcherApart(runtime, runtime+"-apart"))
		}
		addRuntimes(ctx, specs...)
	})

	DescribeTable("has exactly the pods and the ranks that were asked for", func(ctx SpecContext, runtime string, apart, within int32) {
		beside, inside := shape(runtime+"-apart", apart), shape(runtime, within)
		beside.Namespace = ownNamespace
		for i, result := range together(ctx, beside, inside) {
			nodes := int(result.Job.Nodes)
			Expect(result.Check(min(nodes, machines))).To(Succeed())
			Expect(result.Hosts()).To(HaveLen(nodes))
			Expect(result.Timings.Count).To(Equal(nodes+1-i), "pods of %s: there is a launcher apart, or there is none", result.Job.Name)
		}
	},
		Entry("Open MPI 4: one node and a launcher, three with the launcher", "openmpi4-cpu", int32(1), int32(3)),
		Entry("Open MPI 5: three nodes and a launcher, one that is the launcher", ofTheMachine, "openmpi5-cpu", int32(3), int32(1)),
		Entry("MPICH: three nodes and a launcher, one that is the launcher", "mpich-cpu", int32(3), int32(1)),
	)
})

func shape(runtime string, nodes int32) testjob.Job {
	j := job("shape-"+runtime, runtime, "mpirun", "mpi-hello")
	j.Nodes = nodes
	return j
}

// launcherApart is the spec of a runtime of the catalog, with another name and a launcher that is not a node.
func launcherApart(runtime, name string) string {
	GinkgoHelper()
	spec := strings.Replace(source("catalog/runtimes/"+runtime+".yaml"), "name: "+runtime, "name: "+name, 1)
	spec, _, found := strings.Cut(spec, "  launcher:\n")
	Expect(found).To(BeTrue())
	return spec + "  launcher:\n    cpu: 100m\n    memory: 128Mi\n"
}
