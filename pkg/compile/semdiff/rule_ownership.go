package semdiff

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/proof/isolation"
	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/mpi"
)

var ownershipRule = &Rule{
	Name: "ownership", Title: "Objects that come and go",
	Doc: "Tenants, namespaces and other objects that are new, and those that are no longer compiled: whether the GitOps engine deletes them, or " +
		"they stay behind because pruning is off, an annotation keeps them, or the cluster has no GitOps engine, so that whoever applies it " +
		"must delete them. With a namespace goes everything in it: running jobs are stopped, and the data of its volumes is deleted. Where a " +
		"namespace stays and its policies go, the pods that still run there are open to everything, which is critical; so is a policy that is " +
		"no longer compiled and closed a namespace that goes on. The labels that say who owns an object are told here too: without them people " +
		"may change what is compiled.",
	Says: []Consequence{AddsObjects, DeletesObjects, LeavesObjects, DeletesData, OpensNetwork, WidensSecurity, AdmitsMore, AdmitsLess, RestartsNothing},
	claims: func(c *Change) bool {
		if c.Whole() {
			return c.tenancy() || c.Kind() == "Namespace" || slices.Contains(plainKinds, c.Kind())
		}
		p := c.Path
		return p.Is("metadata", "labels", managedByLabel) || p.Is("metadata", "labels", mpi.TenantLabel) || p.Is("metadata", "ownerReferences", "**") ||
			c.Kind() == "Namespace" && p.Is("spec", "finalizers", "**")
	},
	cluster: func(c *cluster, changes []*Change) []Effect {
		var effects []Effect
		for _, change := range changes {
			effects = append(effects, c.unclosed(change), c.uncompiled(change))
			switch {
			case !change.Whole():
				effects = append(effects, c.owned(change))
			case change.Added():
				effects = append(effects, c.comes(change), c.lowStandard(change))
			default:
				effects = append(effects, c.goes(change)...)
			}
		}
		return slices.DeleteFunc(effects, func(e Effect) bool { return len(e.Changes) == 0 })
	},
}

// plainKinds are those of which nothing but their existence is known to matter.
var plainKinds = []string{"ServiceAccount", "ConfigMap", "Secret", "Service", "AppProject", "GitRepository"}

// tenancy says that the object comes or goes with its namespace, its tenant or its cluster, so that it needs no words of its own.
func (c *Change) tenancy() bool { return c.Whole() && c.withTenant }

// withTenants marks what comes or goes with a namespace or a tenant.
func (c *cluster) withTenants(changes []*Change) {
	for _, change := range changes {
		if c.seen[0] != c.seen[1] {
			change.withTenant, change.withCluster = true, true
			continue
		}
		change.left = change.Removed() && change.Whole() && change.Kind() != "PersistentVolumeClaim" && c.stays(change.Before)
		if !change.Whole() || change.Renamed() {
			continue
		}
		id := change.Object().ID
		there, gone := c.is, c.was
		if change.Added() {
			there, gone = c.was, c.is
		}
		// there is the side that does not have the object.
		_, exists := there.namespaces[id.Namespace]
		_, existed := gone.namespaces[id.Namespace]
		own := change.Object().Root.Scalar("metadata", "labels", mpi.TenantLabel)
		withNamespace := id.Namespace != "" && !exists && existed
		withOwner := own != "" && !there.has(own) && gone.has(own)
		switch id.Kind {
		case "ClusterQueue", "Cohort", "PersistentVolumeClaim", "Namespace":
			// They have words of their own.
		default:
			change.withTenant = withNamespace || withOwner
		}
	}
}

// has says whether a tenant has a namespace on a side.
func (s *state) has(tenant string) bool {
	for _, n := range s.namespaces {
		if n.tenant == tenant {
			return true
		}
	}
	return false
}

func (c *cluster) comes(change *Change) Effect {
	part := []*Change{change}
	s := c.subject(change)
	switch {
	case change.withCluster:
		e := c.effect(part, AddsObjects, Notice, "a cluster is new", change.After.ID.String())
		e.Before, e.After, e.Gist = source.Span{}, clusterPlace(c.added), Gist{Of: "cluster " + c.name, Verb: "are", Rest: "new"}
		return e
	case s.Tenant != "" && !c.was.has(s.Tenant):
		return c.effect(part, AddsObjects, Notice, "a tenant is new", change.After.ID.String()).with("are", "new")
	case change.Kind() == "Namespace" || change.withTenant:
		return c.effect(part, AddsObjects, Notice, "a namespace is new", change.After.ID.String()).with("get", "a new namespace")
	}
	return c.effect(part, AddsObjects, Info, "objects are new: "+change.Kind(), change.After.ID.String()).with("get", "new objects")
}

// clusterPlace is the name of a cluster in its spec, from which the objects of the platform come.
func clusterPlace(changes []*Change) source.Span {
	for _, change := range changes {
		if o := change.Object(); change.Unit == "platform" && o.Rule != nil && o.Rule.Kind != origin.Rendered && !o.Origin.IsZero() {
			return o.Origin
		}
	}
	return source.Span{}
}

func (c *cluster) goes(change *Change) []Effect {
	part := []*Change{change}
	o := change.Before
	if change.withCluster {
		title := "a cluster is no longer compiled: its engine finds nothing to apply, and everything stays as it is"
		if c.byHand() {
			title = "a cluster is no longer compiled: everything stays as it is until somebody deletes it"
		}
		e := c.effect(part, LeavesObjects, Warning, title, o.ID.String())
		e.Before, e.After, e.Gist = clusterPlace(c.removed), source.Span{}, Gist{Of: "cluster " + c.name, Verb: "are", Rest: "no longer compiled"}
		return []Effect{e}
	}
	stays := c.stays(o)
	switch {
	case o.ID.Kind == "Namespace" && c.byHand():
		return []Effect{c.effect(part, LeavesObjects, Warning, "a namespace is no longer compiled: the cluster has no GitOps engine, so that it stays, with everything in it, until somebody deletes it", o.ID.String()).
			with("leave", "namespaces behind").helped("delete it when nobody needs what is in it, which stops its jobs and deletes its volumes: kubectl delete namespace " + o.ID.Name)}
	case o.ID.Kind == "Namespace" && stays:
		return []Effect{c.effect(part, LeavesObjects, Warning, "a namespace is no longer compiled and stays, with what nobody deletes in it", o.ID.String()).
			with("leave", "namespaces behind").to(Hampered).helped("delete it by hand when nobody needs what is in it: kubectl delete namespace " + o.ID.Name)}
	case o.ID.Kind == "Namespace":
		return append(c.lost(change), c.effect(part, DeletesObjects, Critical, "a namespace is deleted with everything in it, running jobs too", o.ID.String()).
			with("lose", "a namespace with everything in it").to(Stopped))
	case c.byHand():
		severity := Warning
		if change.withTenant {
			severity = Notice
		}
		e := c.effect(part, LeavesObjects, severity, "objects are no longer compiled and stay, because the cluster has no GitOps engine: "+o.ID.Kind, o.ID.String()).
			with("leave", "objects behind").helped("whoever applies the cluster deletes them by hand")
		if e.Subject.Runtime != "" {
			e.Gist.Of = "cluster " + c.name
		}
		return []Effect{e}
	case stays && !change.withTenant:
		return []Effect{c.effect(part, LeavesObjects, Warning, "objects are no longer compiled and stay, with what they do: "+o.ID.Kind, o.ID.String()).with("leave", "objects behind")}
	case stays:
		return []Effect{c.effect(part, LeavesObjects, Notice, "objects are no longer compiled and stay: "+o.ID.Kind, o.ID.String()).with("leave", "objects behind")}
	}
	severity := Notice
	if o.ID.Kind == "ServiceAccount" && !change.withTenant {
		severity = Warning
	}
	return []Effect{c.effect(part, DeletesObjects, severity, "objects are deleted: "+o.ID.Kind, o.ID.String()).with("lose", "objects")}
}

// stays says whether an object stays on the cluster when it is no longer compiled.
func (c *cluster) stays(o *object.Object) bool {
	prunes, known := c.was.sync.prunes(c.name, o.Folder)
	if later, stillKnown := c.is.sync.prunes(c.name, o.Folder); known && stillKnown {
		// What prunes is the engine as it is told afterwards.
		prunes = later
	}
	return kept(o) || known && !prunes || c.byHand()
}

// byHand says that no GitOps engine of the specs applied the cluster: nothing deletes what is no longer compiled, but whoever applies it.
// An engine that comes with the change does not know what was applied before.
func (c *cluster) byHand() bool { return len(c.was.sync.stages) == 0 }

// unclosed is a policy that is deleted while its namespace stays, and with it the pods that run there. It is no effect where that is
// not so.
func (c *cluster) unclosed(change *Change) Effect {
	if !change.Whole() || change.Before == nil || !isPolicy(change) || change.withCluster || change.After != nil && !change.Renamed() {
		return Effect{}
	}
	name := change.Before.ID.Namespace
	space, still := c.was.namespaces[name], c.is.namespaces[name] != nil
	if space == nil || still || c.was.closed[name] || c.stays(change.Before) {
		return Effect{}
	}
	prunes, known := c.was.sync.prunes(c.name, space.folder)
	if !space.kept && (!known || prunes) {
		return Effect{}
	}
	e := c.effect([]*Change{change}, OpensNetwork, Critical, "a namespace stays, and the policies that close it are deleted: pods that run there may reach everything", change.Before.ID.String()).
		with("keep", "a namespace without its network policies").to(Hampered).helped("end the jobs in the namespace before this is merged, or keep a policy that denies everything")
	e.Subject.Namespace, e.Subject.Tenant = name, space.tenant
	return e
}

// uncompiled is a policy that is no longer compiled and closed a namespace that goes on: it stays where it is, until somebody deletes it,
// and nothing closes the namespace where it was never applied. It is no effect where nothing opens by it.
func (c *cluster) uncompiled(change *Change) Effect {
	if !change.left || change.withTenant || !isPolicy(change) {
		return Effect{}
	}
	name := change.Before.ID.Namespace
	if c.was.namespaces[name] != nil && c.is.namespaces[name] == nil {
		return Effect{}
	}
	opened, _ := isolation.Difference(&c.was.network, &c.is.network, name)
	if len(opened) == 0 {
		return Effect{}
	}
	severity, rest := c.danger(name, opened)
	if opened[0].Ingress {
		rest = "traffic from " + shownPeer(opened)
	}
	e := c.effect([]*Change{change}, OpensNetwork, severity, "a policy that closes a namespace is no longer compiled: "+flowTitle("opens", opened), change.Before.ID.String()).
		with("have", "no compiled policy against "+rest).to(Included).
		helped("it stays on a cluster that has it until somebody deletes it; a cluster that is set up anew is open")
	e.Subject.Namespace, e.Subject.Tenant = name, c.owner(name)
	return e.inPlatform()
}

// lowStandard is a new namespace of a tenant whose pods may be more than restricted.
func (c *cluster) lowStandard(change *Change) Effect {
	if change.Kind() != "Namespace" || c.subject(change).Tenant == "" {
		return Effect{}
	}
	level := levelOf(change.After)
	if level == restrictedLevel || level == pinnedLevel || c.openShift() && level == openLevel {
		return Effect{}
	}
	return c.effect([]*Change{change}, WidensSecurity, Warning, "pods of a new namespace may be "+level, change.After.ID.String()).with("get", "pods that may be "+level)
}

// openShift says whether the cluster has constraints, which bound pods where the labels of namespaces do not.
func (c *cluster) openShift() bool { return c.is.constraints }

// lost is the data that goes with a namespace.
func (c *cluster) lost(change *Change) []Effect {
	volumes := c.volumesOf(change.Before.ID.Name)
	if volumes == "" {
		return nil
	}
	return []Effect{c.effect([]*Change{change}, DeletesData, Critical, "volumes are deleted with their namespace, and their data with them", volumes).
		with("lose", "the data of volumes").to(Stopped).helped("copy the data first, or keep the namespace with the annotation " + fluxPrune + ": disabled")}
}

// owned is a label that says who an object belongs to.
func (c *cluster) owned(change *Change) Effect {
	part := []*Change{change}
	switch {
	case change.Path.Last() == managedByLabel && change.Old != nil && change.Old.Scalar() == "lockstep":
		return c.effect(part, AdmitsMore, Warning, "people may change an object that is compiled: no policy protects it any more", shown(change)).with("may", "change what is compiled")
	case change.Path.Last() == managedByLabel:
		return c.effect(part, AdmitsLess, Notice, "only the platform team may change the object", shown(change)).with("may", "no longer change an object")
	case change.Path.Last() == mpi.TenantLabel:
		return c.otherTenant(change)
	}
	return c.effect(part, RestartsNothing, Warning, "an object has another owner, and goes with it", shown(change)).with("have", "objects with another owner")
}
