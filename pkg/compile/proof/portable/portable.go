// Package portable proves that jobs can be made of compiled runtimes: by our controller, and under stock Kubeflow Trainer (2.3 and later),
// which reads some parts of a runtime otherwise than their names suggest. It looks at objects as they are emitted, so that it also finds
// what a patch or a mistake of the compiler broke.
//
// Each rule comes from upstream's source (kubeflow/trainer v2.3.0, pkg/runtime/framework/plugins/mpi), from package pkg/mpi/job, or from a
// run of a prototype. The package is pure and looks at one object at a time.
package portable

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/mpi"
)

// Prove reports every rule that an MPI runtime breaks: those of whoever runs its jobs, and where that is stock Kubeflow Trainer, its own.
// Objects of other kinds are not its business.
func Prove(objects []object.Object, byTrainer bool, list *diag.List) {
	for i := range objects {
		o := &objects[i]
		if o.ID.Kind != "ClusterTrainingRuntime" && o.ID.Kind != "TrainingRuntime" {
			continue
		}
		compiled := o.Root.Scalar("metadata", "labels", mpi.ImplementationLabel) != ""
		if !compiled && o.Root.At("spec", "mlPolicy", "mpi") == nil {
			continue
		}
		p := prover{object: o, list: list}
		launcher, node := p.proveParts()
		switch {
		case byTrainer:
			p.proveForTrainer(launcher, node)
		case node != nil:
			p.proveToldNodes(node)
		}
	}
}

// prover is the proof of one runtime.
type prover struct {
	object *object.Object
	list   *diag.List
}

// proveForTrainer proves what Kubeflow Trainer alone asks for. Launcher and node may be nil.
func (p prover) proveForTrainer(launcher, node *object.Node) {
	p.expect(p.object.Root.Scalar("spec", "mlPolicy", "numNodes") == "1", p.object.Root.At("spec", "mlPolicy", "numNodes"),
		"numNodes is not 1: Kubeflow Trainer reads it as the number of launchers, and each would run the job")
	if launcher == nil || node == nil {
		return
	}
	for _, job := range []*object.Node{launcher, node} {
		p.proveJob(job)
	}
	p.expect(ancestorLabel(launcher) == mpi.AncestorTrainer, launcher, "the launcher lacks the label `%s`: it would not get the command of a TrainJob", mpi.AncestorLabel)
	p.expect(ancestorLabel(node) == "", node, "the nodes have the label `%s`: each would run the command of a TrainJob", mpi.AncestorLabel)
	init := launcher.At("template", "spec", "template", "spec", "initContainers")
	p.expect(itemNamed(init, mpi.GateContainer) != nil, launcher,
		"the launcher has no init container `%s`: the command of a TrainJob replaces ours, and would start before the nodes can be reached", mpi.GateContainer)
	args := itemNamed(containers(launcher), mpi.Container).At("args")
	p.expect(args == nil, args, "the launcher has args: they would stay behind the command of a TrainJob")
}

// proveJob proves what launcher and nodes have in common.
func (p prover) proveJob(job *object.Node) {
	name := job.Scalar("name")
	p.expect(job.Scalar("replicas") == "1", job.Get("replicas"), "the job `%s` has not one replica, which Kubeflow Trainer refuses", name)
	p.expect(job.Get("dependsOn") == nil, job.Get("dependsOn"), "the job `%s` waits for another: with a gang scheduler, which waits for all pods, none would ever start", name)
	pod := job.At("template", "spec", "template", "spec")
	if pod == nil {
		return
	}
	security := pod.Get("securityContext")
	p.expect(canReadJobKey(security), security, "the pods of `%s` cannot read the key of their job, which is readable for the group root and for fsGroup", name)
	for volume := range pod.Get("volumes").Items() {
		own := volume.Scalar("name")
		p.expect(own != mpi.SSHAuthVolume && own != mpi.HostfileVolume, volume, "the volume `%s` is made by Kubeflow Trainer", own)
	}
	for mount := range itemNamed(pod.Get("containers"), mpi.Container).At("volumeMounts").Items() {
		path := mount.Scalar("mountPath")
		p.expect(path != mpi.HostfileDir && !strings.HasPrefix(path, mpi.HostfileDir+"/"), mount, "something is mounted at `%s`, where Kubeflow Trainer mounts the hostfile", path)
	}
	for init := range pod.Get("initContainers").Items() {
		own := init.Scalar("name")
		p.expect(own == mpi.InstallContainer || own == mpi.GateContainer && name == mpi.LauncherJob, init,
			"the pods of `%s` have the init container `%s`: none is needed but those of the agent, and each takes up to a second", name, own)
	}
}

// canReadJobKey reports whether a pod may read a file of mode 0640 that belongs to the group root, or to fsGroup. A platform that assigns
// identities, as OpenShift does, assigns the group root.
func canReadJobKey(security *object.Node) bool {
	group, own := security.Scalar("runAsGroup"), security.Scalar("fsGroup")
	return group == "" || group == "0" || own != "" && own != "0"
}

// expect reports a rule that does not hold, at the spec line behind the value, or behind the whole object.
func (p prover) expect(holds bool, at *object.Node, format string, args ...any) {
	if holds {
		return
	}
	p.list.Errorf(diag.NotPortable, p.placeOf(at), "%s: "+format, append([]any{p.object.ID}, args...)...).
		Helpf("change the patch that did it; without one it is a mistake in the compiler: please report it")
}

// placeOf is where the value comes from: the patch that changed it, else of the origins below it the first that has a place.
func (p prover) placeOf(at *object.Node) source.Span {
	place := p.object.PatchSpan(at)
	if at != nil && place.IsZero() {
		at.Leaves(p.object.Rule, func(_ []string, _ *object.Node, from *origin.Origin) {
			if place.IsZero() && from != nil {
				place = from.At
			}
		})
	}
	if place.IsZero() {
		return p.object.Origin
	}
	return place
}

func ancestorLabel(job *object.Node) string {
	return job.Scalar("template", "metadata", "labels", mpi.AncestorLabel)
}

func containers(job *object.Node) *object.Node {
	return job.At("template", "spec", "template", "spec", "containers")
}

// itemNamed returns the item of a list that has a name, or nil.
func itemNamed(list *object.Node, name string) *object.Node {
	for entry := range list.Items() {
		if entry.Scalar("name") == name {
			return entry
		}
	}
	return nil
}
