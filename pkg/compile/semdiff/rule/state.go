package rule

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/proof/access"
	"lockstep.dev/lockstep/pkg/compile/proof/isolation"
)

// clusterState is what is known of one state of a cluster.
type clusterState struct {
	// exists reports whether the state has the cluster.
	exists  bool
	network isolation.Cluster
	access  access.Cluster
	// namespaces are those that are compiled, by name; tenants those whose they are.
	namespaces map[string]*namespace
	tenants    map[string]bool
	closed     map[string]bool
	// claims has the volumes of a namespace.
	claims     map[string][]volumeClaim
	queues     queues
	engine     engineStages
	registries map[string]bool
	// sources, accounts, runtimes and folders are those of the facts.
	sources, accounts, runtimes, folders map[string]bool
	// parameters and parameterKinds belong to admission policies.
	parameters     []policyParameters
	parameterKinds map[string]bool
	// warning and deciding are the policies of the facts.
	warning, deciding map[string]bool
	// constraints reports whether there are SecurityContextConstraints: it is OpenShift.
	constraints bool
	// held is computed once, when a rule asks.
	held map[holder]*access.Holding
}

func newClusterState(units []*Facts) *clusterState {
	n := len(units) // most units are a tenant, with a namespace and a few queues
	s := &clusterState{
		exists: n > 0, namespaces: make(map[string]*namespace, n), tenants: make(map[string]bool, n), closed: map[string]bool{},
		claims: map[string][]volumeClaim{}, queues: make(queues, 2*n), registries: map[string]bool{}, sources: map[string]bool{},
		accounts: make(map[string]bool, n), runtimes: map[string]bool{}, folders: make(map[string]bool, 2*n),
		parameterKinds: map[string]bool{}, warning: map[string]bool{}, deciding: map[string]bool{},
	}
	for _, f := range units {
		s.network.Add(f.network)
		// Both states may have the same facts, and each adds up roles in its own way.
		s.access.Add(f.access.ForOtherCluster())
		for _, own := range f.namespaces {
			s.namespaces[own.name], s.tenants[own.tenant] = own, true
		}
		for _, name := range f.closed {
			s.closed[name] = true
		}
		for _, volume := range f.claims {
			s.claims[volume.namespace] = append(s.claims[volume.namespace], volume)
		}
		for _, q := range f.queues {
			s.queues[q.id] = q
		}
		for _, host := range f.registries {
			s.registries[host] = true
		}
		addNames(s.sources, f.sources)
		addNames(s.accounts, f.accounts)
		addNames(s.runtimes, f.runtimes)
		addNames(s.folders, f.folders)
		addNames(s.parameterKinds, f.parameterKinds)
		addNames(s.warning, f.warning)
		addNames(s.deciding, f.deciding)
		s.parameters = append(s.parameters, f.parameters...)
		s.engine = append(s.engine, f.stages...)
		s.constraints = s.constraints || f.constraints
	}
	return s
}

func addNames(names map[string]bool, list []string) {
	for _, name := range list {
		names[name] = true
	}
}

// engineStages is what a GitOps engine is told.
type engineStages []engineStage

// stageOfFolder returns the stage that applies a folder of a cluster, nil where none does.
func (e engineStages) stageOfFolder(cluster, folder string) *engineStage {
	var found *engineStage
	best := -1
	for i := range e {
		tail, within := e[i].folderBelow(cluster)
		if within && strings.HasPrefix(folder+"/", tail) && len(tail) > best {
			best, found = len(tail), &e[i]
		}
	}
	return found
}

// folderBelow is the folder of a stage below that of a cluster, ending with a slash.
func (s *engineStage) folderBelow(cluster string) (tail string, found bool) {
	_, tail, found = strings.Cut(strings.TrimSuffix(s.folder, "/")+"/", cluster+"/")
	return tail, found
}

// sameStage is the stage of an engine that is told by the same object, nil for none.
func (e engineStages) sameStage(s *engineStage) *engineStage {
	for i := range e {
		if e[i].object == s.object {
			return &e[i]
		}
	}
	return nil
}
