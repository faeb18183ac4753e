package portable

import (
	"math"
	"strconv"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/mpi"
)

// proveParts proves what a job is made of, whoever makes it (pkg/mpi/job, Resolve), and returns its two parts, nil for one that is not there.
func (p prover) proveParts() (launcher, node *object.Node) {
	root := &p.object.Root
	p.expect(root.At("spec", "mlPolicy", "mpi") != nil, root.At("spec", "mlPolicy"), "there is no mlPolicy.mpi: nobody would take its jobs for MPI jobs")
	jobs := root.At("spec", "template", "spec", "replicatedJobs")
	launcher, node = itemNamed(jobs, mpi.LauncherJob), itemNamed(jobs, mpi.NodeJob)
	p.expect(launcher != nil && node != nil, jobs, "there are no replicated jobs `%s` and `%s`: the parts of a job are found by these names", mpi.LauncherJob, mpi.NodeJob)
	for _, job := range []*object.Node{launcher, node} {
		if job != nil {
			p.expect(itemNamed(containers(job), mpi.Container) != nil, job, "the job `%s` has no container `%s`, which gets the command of a TrainJob", job.Scalar("name"), mpi.Container)
		}
	}
	if node != nil {
		p.proveDefaultNodes(node)
	}
	return launcher, node
}

// proveDefaultNodes proves that a TrainJob that asks for no number of nodes gets one that the runtime allows.
func (p prover) proveDefaultNodes(node *object.Node) {
	nodes, at := p.defaultNodes(node)
	annotations := p.object.Root.At("metadata", "annotations")
	least, most := numberOr(annotations.At(mpi.MinNodesAnnotation), 1), numberOr(annotations.At(mpi.MaxNodesAnnotation), math.MaxInt32)
	p.expect(nodes >= least && nodes <= most, at, "a job that asks for no number of nodes gets %d, and the runtime allows %d to %d", nodes, least, most)
}

// proveToldNodes proves that clients are told how many nodes such a job gets, where numNodes only tells them.
func (p prover) proveToldNodes(node *object.Node) {
	told := p.object.Root.At("spec", "mlPolicy", "numNodes")
	nodes, at := p.defaultNodes(node)
	p.expect(told == at || numberOr(told, 1) == 1 || numberOr(told, 1) == nodes, told,
		"numNodes is %s, and a job that asks for no number gets %d: that is the parallelism of the job `%s`", told.Scalar(), nodes, mpi.NodeJob)
}

// defaultNodes returns how many nodes a TrainJob gets that asks for no number, and what says so.
func (p prover) defaultNodes(node *object.Node) (int, *object.Node) {
	policy := p.object.Root.At("spec", "mlPolicy")
	at := node.At("template", "spec", "parallelism")
	if ancestorLabel(node) == mpi.AncestorTrainer {
		at = policy.Get("numNodes")
	}
	nodes := numberOr(at, 1)
	if policy.Scalar("mpi", "runLauncherAsNode") == "true" {
		nodes++
	}
	return nodes, at
}

// numberOr returns a whole number, or another where there is none.
func numberOr(at *object.Node, otherwise int) int {
	if number, err := strconv.Atoi(at.Scalar()); err == nil {
		return number
	}
	return otherwise
}
