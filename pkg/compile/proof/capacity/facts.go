// Package capacity proves that what is compiled for a cluster can run there, as far as numbers decide it: queues guarantee no more
// machines than there are, every runtime that a tenant may use fits its queue or its quota and its limits, jobs reach their queue,
// and no resource is counted by two systems.
//
// It reads compiled objects, not the plan: a mistake of the compiler or of a patch is found like one of a spec. The plan only says
// what was meant: which runtimes a tenant may use, how many machines there are, whom a queue may preempt. Kueue's arithmetic is
// that of its scheduler (pkg/cache/scheduler/resource_node.go and pkg/scheduler/flavorassigner of v0.16).
//
// The flow is FactsOf per unit, side by side, then Prove once per cluster over the facts of all its units. Facts keep no object.
package capacity

import (
	"strconv"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Facts are what the objects of a unit say about capacity. The zero Facts say nothing.
type Facts struct {
	runtimes   []runtime
	flavors    []flavor
	topologies []topology
	queues     []queue
	locals     []localQueue
	unmanaged  []unmanagedNamespace
	quotas     []namespaceQuota
	limits     []limitRange
	claims     []claim
	priorities []priority
	removed    object.Removals
}

// localQueue leads from a namespace to a queue.
type localQueue struct {
	namespace, name, queue string
	// patch is the place of the patch that changed it, or nowhere; so it is for others.
	patch source.Span
}

// namespaceQuota is a ResourceQuota.
type namespaceQuota struct {
	namespace string
	hard      amounts
	// scoped says that it counts some pods only.
	scoped    bool
	at, patch source.Span
}

// limitRange is a LimitRange for containers.
type limitRange struct {
	namespace                     string
	most, standard, standardAsked amounts
	at, patch                     source.Span
}

// claim is a PersistentVolumeClaim.
type claim struct {
	namespace, name string
	size            amount
	kept            bool
	at              source.Span
}

// priority is a WorkloadPriorityClass.
type priority struct {
	name, description string
	value             int64
	at, patch         source.Span
}

// topology is the levels of a Topology, by label.
type topology struct {
	name   string
	levels []string
	patch  source.Span
}

// unmanagedNamespace is a namespace without the label by which Red Hat's Kueue knows that it queues the jobs there.
type unmanagedNamespace struct {
	namespace string
	patch     source.Span
}

// FactsOf returns the facts of the objects of a unit.
func FactsOf(objects []object.Object) Facts {
	var f Facts
	for i := range objects {
		f.add(&objects[i])
	}
	return f
}

func (f *Facts) add(o *object.Object) {
	switch r := readerOf(o); o.ID.Kind {
	case "ClusterTrainingRuntime", "TrainingRuntime":
		f.runtimes = append(f.runtimes, runtimeOf(o.ID, r))
	case "ResourceFlavor":
		f.flavors = append(f.flavors, flavorOf(o, r))
	case "Topology":
		f.topologies = append(f.topologies, topologyOf(o, r))
	case "ClusterQueue", "Cohort":
		f.queues = append(f.queues, queueOf(o, r))
	case "Namespace":
		if r.text("metadata", "labels", plan.ManagedByKueueLabel) != "true" {
			f.unmanaged = append(f.unmanaged, unmanagedNamespace{o.ID.Name, o.PatchSpan(o.Root.At("metadata", "labels"))})
		}
	case "LocalQueue":
		f.locals = append(f.locals, localQueue{o.ID.Namespace, o.ID.Name, r.text("spec", "clusterQueue"), o.PatchSpan(o.Root.Get("spec"))})
	case "ResourceQuota":
		hard := r.at("spec", "hard")
		scoped := o.Root.At("spec", "scopes") != nil || o.Root.At("spec", "scopeSelector") != nil
		f.quotas = append(f.quotas, namespaceQuota{o.ID.Namespace, hard.amounts(), scoped, r.at("metadata", "namespace").span(), o.PatchSpan(o.Root.Get("spec"))})
	case "LimitRange":
		f.limits = append(f.limits, limitRangesOf(o, r)...)
	case "PersistentVolumeClaim":
		f.claims = append(f.claims, claimOf(o.ID, r))
	case "WorkloadPriorityClass":
		value, _ := strconv.ParseInt(r.text("value"), 10, 64)
		f.priorities = append(f.priorities, priority{o.ID.Name, r.text("description"), value, r.at("value").span(), o.PatchSpan(&o.Root)})
	}
}

func topologyOf(o *object.Object, r objectReader) topology {
	t := topology{name: o.ID.Name, patch: o.PatchSpan(o.Root.Get("spec"))}
	for _, level := range r.at("spec", "levels").items() {
		t.levels = append(t.levels, level.text("nodeLabel"))
	}
	return t
}

func limitRangesOf(o *object.Object, r objectReader) []limitRange {
	var result []limitRange
	for _, item := range r.at("spec", "limits").items() {
		if item.text("type") == "Container" {
			result = append(result, limitRange{
				namespace: o.ID.Namespace, at: item.span(), patch: o.PatchSpan(o.Root.Get("spec")),
				most: item.at("max").amounts(), standard: item.at("default").amounts(), standardAsked: item.at("defaultRequest").amounts(),
			})
		}
	}
	return result
}

func claimOf(id object.ID, r objectReader) claim {
	annotations := r.at("metadata", "annotations")
	kept := annotations.text("argocd.argoproj.io/sync-options") == "Prune=false,Delete=false" && annotations.text("kustomize.toolkit.fluxcd.io/prune") == "disabled"
	size, _ := r.at("spec", "resources", "requests").amounts().get("storage")
	return claim{namespace: id.Namespace, name: id.Name, size: size, kept: kept, at: r.at("metadata", "name").span()}
}
