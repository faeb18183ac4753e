package compile

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/emit"
	"lockstep.dev/lockstep/pkg/compile/lower"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/patch"
	"lockstep.dev/lockstep/pkg/compile/patch/overlay"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/proof/accepted"
	"lockstep.dev/lockstep/pkg/compile/proof/access"
	"lockstep.dev/lockstep/pkg/compile/proof/begun"
	"lockstep.dev/lockstep/pkg/compile/proof/capacity"
	"lockstep.dev/lockstep/pkg/compile/proof/enforced"
	"lockstep.dev/lockstep/pkg/compile/proof/isolation"
	"lockstep.dev/lockstep/pkg/compile/proof/mesh"
	"lockstep.dev/lockstep/pkg/compile/proof/portable"
	"lockstep.dev/lockstep/pkg/compile/proof/receivers"
	"lockstep.dev/lockstep/pkg/compile/proof/references"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Unit is a part of a cluster that was compiled on its own.
type Unit struct {
	Cluster string
	// Name is unique in the cluster: `platform`, `runtimes`, `platform/<release>`, `tenants/<tenant>`, and at last
	// `kustomizations`, which has no objects.
	Name string
	// Objects are sorted. Whoever takes a unit may keep them.
	Objects []object.Object
	Files   []emit.File
	// Removed are the objects that patches remove, and by which lines.
	Removed object.Removals
	// Proven is what was proven about the whole cluster; it is in the last unit only.
	Proven *ReachAndRights
}

// ReachAndRights is what people and pods of tenants may do on a cluster, for those who compare two states of it.
type ReachAndRights struct {
	Reach isolation.Reachability
	// Rights are sorted by namespace and subject.
	Rights []access.Held
}

// unitJob is a unit before it is compiled: all that its result depends on.
type unitJob struct {
	cluster *plan.Cluster
	name    string
	// tenant is whom the objects are for; nil for those of all.
	tenant *plan.Tenant
	// component says that the objects come from a chart, whose author did not see ours.
	component *plan.Component
	// own says that the objects are lowered from specs.
	own     bool
	objects func(*diag.List) []object.Object
	// overlay is what changes the cluster's objects, nil for nothing.
	overlay *overlay.Overlay
	// server is what must accept the objects.
	server *accepted.Server
	// last says that it is the last one of its cluster.
	last bool
}

// compiledUnit is the result of a job. Facts are what the whole must know of it when its objects are gone.
type compiledUnit struct {
	job   unitJob
	unit  Unit
	facts unitFacts
	list  *diag.List
	// unreadable reports whether the objects cannot be made.
	unreadable bool
	// err is that of preparing the unit.
	err error
}

// unitFacts are what units must be compared by.
type unitFacts struct {
	identities []objectIdentity
	entries    []emit.KustomizationEntry
	capacity   capacity.Facts
	isolation  isolation.Facts
	access     access.Facts
	workloads  enforced.Facts
	mesh       mesh.Facts
	references references.Facts
	effects    overlay.Effects
}

// objectIdentity is an object that exists, and the spec that it comes from.
type objectIdentity struct {
	id     object.ID
	origin source.Span
}

// unitJobs returns the jobs of all clusters: first what a cluster shares, then its tenants. Components are rendered here,
// each distinct one once, and are few.
func (s *state) unitJobs(options Options) []unitJob {
	components := patch.RenderComponents(s.root, options.Charts, s.plans, s.list)
	var servers accepted.Servers
	var jobs []unitJob
	for _, p := range s.plans {
		first := len(jobs)
		jobs = append(jobs,
			unitJob{cluster: p, name: lower.PlatformFolder, own: true, objects: func(*diag.List) []object.Object { return lower.PlatformObjects(p) }},
			unitJob{cluster: p, name: lower.RuntimeFolder, own: true, objects: func(own *diag.List) []object.Object { return lower.RuntimeObjects(p, own) }})
		for i := range p.Components {
			component := &p.Components[i]
			rendered := components.ObjectsOf(p, component)
			jobs = append(jobs, unitJob{
				cluster: p, name: lower.PlatformFolder + "/" + component.Release.V, component: component,
				objects: func(*diag.List) []object.Object { return rendered },
			})
		}
		own := s.patches[p.Name.V]
		if added := own.Resources(); len(added) > 0 {
			jobs = append(jobs, unitJob{
				cluster: p, name: lower.PlatformFolder + "/" + overlay.ResourceFile, objects: func(*diag.List) []object.Object { return slices.Clone(added) },
			})
		}
		for _, t := range p.Tenants {
			jobs = append(jobs, unitJob{cluster: p, name: lower.TenantFolder + "/" + t.Name.V, own: true, tenant: t, objects: func(own *diag.List) []object.Object { return lower.TenantObjects(p, t, own) }})
		}
		server := servers.ServerOf(p, s.list)
		for i := first; i < len(jobs); i++ {
			jobs[i].overlay, jobs[i].server = own, server
		}
		jobs[len(jobs)-1].last = true
	}
	s.unreadable = s.unreadable || s.list.Unreadable()
	return jobs
}

// patchedObjects returns the objects as the overlay leaves them, and what it did.
func (j unitJob) patchedObjects(list *diag.List) ([]object.Object, overlay.Effects) {
	lowered := j.objects(list)
	objects, effects := lowered, overlay.Effects(nil)
	if j.overlay != nil {
		objects, effects = j.overlay.Apply(slices.Clone(lowered), list)
		if j.own {
			enforced.Prove(j.cluster, lowered, objects, effects.Removed(), list)
		}
	}
	if j.name == lower.RuntimeFolder {
		addFingerprints(objects)
	}
	return objects, effects
}

// compile lowers and encodes a unit, and prepares it. It depends on nothing but the job.
func (j unitJob) compile(prepare func(Unit) error) compiledUnit {
	list := &diag.List{}
	objects, effects := j.patchedObjects(list)
	unreadable := list.Unreadable()
	j.server.Prove(objects, list)
	accepted.ReportCopied(objects, list)
	access.PowerWithoutRoles(j.cluster, objects, list)
	receivers.Prove(objects, list)
	portable.Prove(objects, !j.cluster.Bundled.V, list)
	begun.Prove(objects, j.cluster.Templates, list)
	files, entries := emit.Files(j.cluster.Name.V, objects)
	identities := make([]objectIdentity, len(objects))
	for i := range objects {
		identities[i] = objectIdentity{id: objects[i].ID, origin: objects[i].Origin}
	}
	c := compiledUnit{
		job:   j,
		unit:  Unit{Cluster: j.cluster.Name.V, Name: j.name, Objects: objects, Files: files, Removed: effects.Removed()},
		facts: unitFacts{identities: identities, entries: entries, capacity: capacity.FactsOf(objects), isolation: isolation.FactsOf(objects), access: access.FactsOf(objects), workloads: enforced.FactsOf(objects, j.own), mesh: mesh.FactsOf(objects), references: references.FactsOf(objects, j.own), effects: effects},
		list:  list,

		unreadable: unreadable,
	}
	if prepare != nil {
		c.err = prepare(c.unit)
	}
	return c
}
