package compile

import (
	"maps"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/emit"
	"lockstep.dev/lockstep/pkg/compile/lower"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/patch/overlay"
	"lockstep.dev/lockstep/pkg/compile/proof/access"
	"lockstep.dev/lockstep/pkg/compile/proof/capacity"
	"lockstep.dev/lockstep/pkg/compile/proof/enforced"
	"lockstep.dev/lockstep/pkg/compile/proof/isolation"
	"lockstep.dev/lockstep/pkg/compile/proof/mesh"
	"lockstep.dev/lockstep/pkg/compile/proof/references"
	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/compile/waive"
)

// unitJoiner puts units together, cluster by cluster, and hands them over.
type unitJoiner struct {
	list    *diag.List
	take    func(Unit) error
	waivers *waive.Waivers
	// prepare is nil where units are not prepared.
	prepare func(Unit) error

	// What is known of the cluster whose units come at the moment.
	cluster string
	// began is how many findings there were before it.
	began    int
	exists   map[object.ID]source.Span
	entries  []emit.KustomizationEntry
	capacity []capacity.Facts
	// foreign are the units of charts and overlays. They are added last: an object that exists already is their mistake.
	foreign []compiledUnit
	// isolation and access take the facts as they come.
	isolation  *isolation.Cluster
	access     *access.Cluster
	effects    overlay.Effects
	workloads  *enforced.Workloads
	mesh       mesh.Facts
	references references.Facts
}

// joinWithProgress is join that tells its progress.
func (j *unitJoiner) joinWithProgress(of int, progress func(done, of int)) func(compiledUnit) error {
	if progress == nil {
		return j.join
	}
	done := 0
	return func(c compiledUnit) error {
		err := j.join(c)
		done++
		progress(done, of)
		return err
	}
}

// join takes the next unit. Units of one cluster follow each other.
func (j *unitJoiner) join(c compiledUnit) error {
	if c.err != nil {
		return c.err
	}
	if j.exists == nil || j.cluster != c.unit.Cluster {
		// Clusters are often of one size.
		j.cluster, j.exists, j.entries, j.capacity = c.unit.Cluster, make(map[object.ID]source.Span, len(j.exists)), nil, nil
		j.isolation, j.access = &isolation.Cluster{}, &access.Cluster{}
		j.workloads = &enforced.Workloads{}
		j.began = j.list.Len()
		j.foreign, j.effects, j.mesh, j.references = nil, nil, mesh.Facts{}, references.Facts{}
	}
	if c.job.own {
		j.add(&c)
	} else {
		j.foreign = append(j.foreign, compiledUnit{job: c.job, facts: c.facts, list: c.list})
	}
	if err := j.take(c.unit); err != nil || !c.job.last {
		return err
	}
	for i := range j.foreign {
		j.add(&j.foreign[i])
	}
	c.job.overlay.ReportIneffective(j.effects, maps.Keys(j.exists), j.list)
	removed := j.effects.Removed()
	j.isolation.AddRemoved(removed)
	j.access.AddRemoved(removed)
	capacity.Prove(c.job.cluster, append(j.capacity, capacity.RemovedFacts(removed)), j.list)
	j.workloads.Prove(c.job.cluster, j.list)
	mesh.Prove(c.job.cluster, j.mesh, j.list)
	references.Prove(c.job.cluster, j.references, j.exists, j.list)
	proven := &ReachAndRights{Reach: j.isolation.Prove(c.job.cluster, j.list), Rights: j.access.Prove(c.job.cluster, j.list)}
	j.waivers.Accept(c.job.cluster, j.list.Since(j.began))
	last := Unit{Cluster: j.cluster, Name: "kustomizations", Files: emit.Kustomizations(j.cluster, j.entries, lower.GitOpsFolder), Proven: proven}
	if j.prepare != nil {
		if err := j.prepare(last); err != nil {
			return err
		}
	}
	return j.take(last)
}

// add adds what is known of a unit to its cluster.
func (j *unitJoiner) add(c *compiledUnit) {
	j.list.AddCopies(c.list.Since(0))
	for _, added := range c.facts.identities {
		j.noteIdentity(c.job, added)
	}
	j.entries = append(j.entries, c.facts.entries...)
	j.capacity = append(j.capacity, c.facts.capacity)
	j.isolation.Add(c.facts.isolation)
	j.access.Add(c.facts.access)
	j.workloads.Add(c.facts.workloads)
	j.mesh = j.mesh.Join(c.facts.mesh)
	j.references = j.references.Join(c.facts.references)
	j.effects = j.effects.Join(c.facts.effects)
}

// noteIdentity notes an object, and reports one that exists already.
func (j *unitJoiner) noteIdentity(from unitJob, added objectIdentity) {
	taken, found := j.exists[added.id]
	switch {
	case !found:
		j.exists[added.id] = added.origin
	case from.component != nil:
		j.list.Errorf(diag.ObjectCollision, added.origin, "the chart `%s` renders %s, which exists already", from.component.Chart.V, added.id).
			Also(taken, "compiled from here").Helpf("rename the object in the chart, or leave it out with values")
	default:
		j.list.Errorf(diag.ObjectCollision, added.origin, "%s is compiled twice", added.id).Also(taken, "also for this")
	}
}
