package rule

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/proof/isolation"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/mpi"
)

var ownershipRule = &Rule{
	Name: "ownership", Title: "Objects that come and go",
	Doc: "Tenants, namespaces and other objects that are new, and those that are no longer compiled: whether the GitOps engine deletes them, or " +
		"they stay behind because pruning is off, an annotation keeps them, or the cluster has no GitOps engine, so that people " +
		"must delete them. A tenant that goes, or has another name, while some of its objects stay is one entry with all of them. With a namespace goes everything in it: running jobs are stopped, and the data of its volumes is deleted. Where a " +
		"namespace stays and its policies go, the pods that still run there are open to everything, which is critical; so is a policy that is " +
		"no longer compiled and closed a namespace that goes on. The labels of owners of an object belong here, too: without them people " +
		"may change what is compiled.",
	Says: []Consequence{AddsObjects, DeletesObjects, LeavesObjects, DeletesData, OpensNetwork, WidensSecurity, AdmitsMore, AdmitsLess, RestartsNothing},
	claims: func(c *match.Change) bool {
		if c.Whole() {
			return comesWithOwner(c) || c.Kind() == "Namespace" || slices.Contains(match.PlainKinds, c.Kind())
		}
		p := c.Path
		return p.Is("metadata", "labels", managedByLabel) || p.Is("metadata", "labels", mpi.TenantLabel) || p.Is("metadata", "ownerReferences", "**") ||
			c.Kind() == "Namespace" && p.Is("spec", "finalizers", "**")
	},
	judge: func(c *Cluster, changes []*match.Change) []Effect {
		effects := c.tenantsLeftBehind()
		for _, change := range changes {
			effects = append(effects, c.deletedClosingPolicy(change), c.leftClosingPolicy(change))
			switch {
			case c.leftOf(change) != "":
			case !change.Whole():
				effects = append(effects, c.ownerLabelChanged(change))
			case change.Added():
				effects = append(effects, c.objectAdded(change), c.unrestrictedNamespace(change))
			default:
				effects = append(effects, c.objectRemoved(change), c.lostDataEffect(change))
			}
		}
		return slices.DeleteFunc(effects, func(e Effect) bool { return len(e.Changes) == 0 })
	},
}

func (c *Cluster) objectAdded(change *match.Change) Effect {
	part := []*match.Change{change}
	s := c.subjectOf(change)
	switch {
	case change.Disposal.WithCluster:
		e := c.effect(part, AddsObjects, Notice, "a cluster is new")
		e.Before, e.After, e.Clause = source.Span{}, clusterPlace(c.added), Clause{Of: "cluster " + c.Name, Verb: "are", Rest: "new"}
		return e
	case s.Tenant != "" && !c.was.tenants[s.Tenant] && c.allClusters.wasThere(s.Tenant):
		return c.effect(part, AddsObjects, Notice, "a tenant comes to another cluster").withClause("come", "to cluster "+c.Name)
	case s.Tenant != "" && !c.was.tenants[s.Tenant]:
		e := c.effect(part, AddsObjects, Notice, "a tenant is new").withClause("are", "new")
		if people := c.allClusters.groupsOfTenant(s.Tenant); change.Kind() == "Namespace" && len(people) > 0 {
			e.Detail += " for the people of " + severalText(people)
		}
		return e
	case change.Kind() == "Namespace" || change.Disposal.WithTenant:
		return c.effect(part, AddsObjects, Notice, "a namespace is new").withClause("get", "a new namespace")
	}
	return c.effect(part, AddsObjects, Info, "objects are new: "+change.Kind()).withClause("get", "new objects")
}

// clusterPlace is the name of a cluster in its spec, from which the objects of the platform come.
func clusterPlace(changes []*match.Change) source.Span {
	for _, change := range changes {
		if o := change.Object(); change.Unit == "platform" && o.Rule != nil && o.Rule.Kind != origin.Rendered && !o.Origin.IsZero() {
			return o.Origin
		}
	}
	return source.Span{}
}

func (c *Cluster) objectRemoved(change *match.Change) Effect {
	part := []*match.Change{change}
	o := change.Before
	if change.Disposal.WithCluster {
		title := "a cluster is no longer compiled: its engine finds nothing to apply, and everything stays as it is"
		if c.appliedByHand() {
			title = "a cluster is no longer compiled: everything stays as it is until somebody deletes it"
		}
		e := c.effect(part, LeavesObjects, Warning, title)
		e.Before, e.After, e.Clause = clusterPlace(c.removed), source.Span{}, Clause{Of: "cluster " + c.Name, Verb: "are", Rest: "no longer compiled"}
		return e
	}
	stays := c.staysOnCluster(o)
	switch {
	case o.ID.Kind == "Namespace" && c.appliedByHand():
		return c.effect(part, LeavesObjects, Warning, "a namespace is no longer compiled: the cluster has no GitOps engine, so that it stays, with everything in it, until somebody deletes it").
			withClause("leave", "namespaces behind").withHelp("delete it when nobody needs what is in it, which stops its jobs and deletes its volumes: kubectl delete namespace " + o.ID.Name)
	case o.ID.Kind == "Namespace" && stays:
		return c.effect(part, LeavesObjects, Warning, "a namespace is no longer compiled and stays, with what nobody deletes in it").
			withClause("leave", "namespaces behind").withJobs(JobsHampered).withHelp("delete it by hand when nobody needs what is in it: kubectl delete namespace " + o.ID.Name)
	case o.ID.Kind == "Namespace":
		return c.effect(part, DeletesObjects, Critical, "a namespace is deleted with everything in it, running jobs too").
			withClause("lose", "a namespace with everything in it").withJobs(JobsStopped)
	case c.appliedByHand():
		severity := Warning
		if change.Disposal.WithTenant {
			severity = Notice
		}
		e := c.effect(part, LeavesObjects, severity, "objects are no longer compiled and stay, because the cluster has no GitOps engine: "+o.ID.Kind).
			withClause("leave", "objects behind").withHelp("delete them by hand after you have applied the cluster")
		if e.Subject.Runtime != "" {
			e.Clause.Of = "cluster " + c.Name
		}
		return e
	case stays && c.keepsAfterEngine():
		return c.effect(part, LeavesObjects, Warning, "the cluster goes on without a compiled GitOps engine: objects are no longer compiled and stay: "+o.ID.Kind).
			withClauseOf("cluster "+c.Name, "leave", "the stages of its GitOps engine behind, which go on with those folders that there still are").
			withHelp("take away what is left of the engine by hand: until then its stages apply what is merged into their folders, and kubectl delete of a stage deletes or keeps what it applied, by its own settings")
	case stays && !change.Disposal.WithTenant:
		return c.effect(part, LeavesObjects, Warning, "objects are no longer compiled and stay, with what they do: "+o.ID.Kind).withClause("leave", "objects behind")
	case stays:
		return c.effect(part, LeavesObjects, Notice, "objects are no longer compiled and stay: "+o.ID.Kind).withClause("leave", "objects behind")
	}
	severity := Notice
	if o.ID.Kind == "ServiceAccount" && !change.Disposal.WithTenant {
		severity = Warning
	}
	return c.effect(part, DeletesObjects, severity, "objects are deleted: "+o.ID.Kind).withClause("lose", "objects")
}

// deletedClosingPolicy is a policy that is deleted while its namespace stays, and with it the pods that run there. It has no effect where that is
// not so.
func (c *Cluster) deletedClosingPolicy(change *match.Change) Effect {
	if !change.Whole() || change.Before == nil || !isPolicy(change) || change.Disposal.WithCluster || change.After != nil && !change.Renamed() {
		return Effect{}
	}
	name := change.Before.ID.Namespace
	space, still := c.was.namespaces[name], c.is.namespaces[name] != nil
	if space == nil || still || c.was.closed[name] || c.staysOnCluster(change.Before) {
		return Effect{}
	}
	if !space.kept && c.prunesFolder(space.folder) {
		return Effect{}
	}
	e := c.effect([]*match.Change{change}, OpensNetwork, Critical, "a namespace stays, and the policies that close it are deleted: pods that run there may reach everything").withDetail(change.Before.ID.String()).
		withClause("keep", "a namespace without its network policies").withJobs(JobsHampered).withHelp("end the jobs in the namespace before this is merged, or keep a policy that denies everything")
	e.Subject.Namespace, e.Subject.Tenant = name, space.tenant
	return e
}

// leftClosingPolicy is a policy that is no longer compiled and closed a namespace that goes on: it stays where it is, until a person deletes it,
// and nothing closes the namespace where it was never applied. It has no effect where nothing opens by it.
func (c *Cluster) leftClosingPolicy(change *match.Change) Effect {
	if !change.Disposal.Stays || change.Disposal.WithTenant || !isPolicy(change) {
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
	severity, rest := c.severityOfFlows(name, opened)
	if opened[0].Ingress {
		rest = "traffic from " + shownPeer(opened)
	}
	e := c.effect([]*match.Change{change}, OpensNetwork, severity, "a policy that closes a namespace is no longer compiled: "+flowTitle("opens", opened)).
		withClause("have", "no compiled policy against "+rest).withJobs(JobsIncluded).
		withHelp("it stays on a cluster that has it until somebody deletes it; a cluster that is set up anew is open")
	e.Subject.Namespace, e.Subject.Tenant = name, c.ownerOfNamespace(name)
	return e.withNamespaceSubject()
}

// unrestrictedNamespace is a new namespace of a tenant whose pods may be more than restricted.
func (c *Cluster) unrestrictedNamespace(change *match.Change) Effect {
	if change.Kind() != "Namespace" {
		return Effect{}
	}
	if own := c.subjectOf(change).Tenant; own == "" && change.After.Root.Scalar("metadata", "labels", enforceLabel) != openLevel || own == "" && !isForeignObject(change.After) {
		return Effect{}
	}
	level := podSecurityLevel(change.After)
	if level == restrictedLevel || level == pinnedLevel || c.isOpenShift() && level == openLevel {
		return Effect{}
	}
	return c.effect([]*match.Change{change}, WidensSecurity, Warning, "pods of a new namespace may be "+level).withClause("get", "pods that may be "+level)
}

// isOpenShift reports whether the cluster has constraints, which bound pods where the labels of namespaces do not.
func (c *Cluster) isOpenShift() bool { return c.is.constraints }

// lostDataEffect is the data that goes with a namespace. It has no effect where the namespace stays, or has no volumes.
func (c *Cluster) lostDataEffect(change *match.Change) Effect {
	if change.Kind() != "Namespace" || change.Disposal.WithCluster || c.staysOnCluster(change.Before) {
		return Effect{}
	}
	volumes := c.volumesOf(change.Before.ID.Name)
	if volumes == "" {
		return Effect{}
	}
	return c.effect([]*match.Change{change}, DeletesData, Critical, "volumes are deleted with their namespace, and their data with them").withDetail(volumes).
		withClause("lose", "the data of volumes").withJobs(JobsStopped).withHelp("copy the data first, or keep the namespace with the annotation " + fluxPrune + ": disabled")
}

// ownerLabelChanged is a label that says who an object belongs to.
func (c *Cluster) ownerLabelChanged(change *match.Change) Effect {
	part := []*match.Change{change}
	switch {
	case change.Path.Last() == managedByLabel && change.Old != nil && change.Old.Scalar() == "lockstep":
		return c.effect(part, AdmitsMore, Warning, "people may change an object that is compiled: no policy protects it any more").withClause("may", "change what is compiled")
	case change.Path.Last() == managedByLabel:
		return c.effect(part, AdmitsLess, Notice, "only the platform team may change the object").withClause("may", "no longer change an object")
	case change.Path.Last() == mpi.TenantLabel:
		return c.otherTenantEffect(change)
	}
	return c.effect(part, RestartsNothing, Warning, "an object has another owner, and goes with it").withClause("have", "objects with another owner")
}

// otherTenantEffect is an object that belongs to another tenant. The compiled policy lockstep-tenant-label keeps a namespace with its tenant as
// long as it exists, so that the objects of the new one wait.
func (c *Cluster) otherTenantEffect(change *match.Change) Effect {
	part := []*match.Change{change}
	id := change.After.ID
	name := id.Namespace
	if id.Kind == "Namespace" {
		name = id.Name
	}
	from, to, moved := c.namespaceHandover(name)
	switch {
	case moved && id.Kind == "Namespace" && c.isDeletedFirst(name):
		return c.effect(part, DeletesObjects, Critical, "a namespace goes to another tenant: it is deleted with everything in it, running jobs too, and made again").withDetail(changeText(change)).
			withClauseOf("namespace "+name, "go", "from "+from+" to "+to+", and everything in it is deleted").withJobs(JobsStopped).
			withHelp("copy what must not be lost before this is merged; the objects of the other tenant wait until the namespace is gone")
	case moved && id.Kind == "Namespace":
		detail, rest := changeText(change), "with everything in it"
		if volumes := c.volumesOf(name); volumes != "" {
			detail, rest = detail+", with the volumes "+volumes, "with the data of its volumes "+volumes
		}
		return c.effect(part, AdmitsMore, Critical, "a namespace goes to another tenant, whose people would get all that is in it: the API server refuses that until somebody deletes the namespace").
			withDetail(detail).withClauseOf("namespace "+name, "stay", "with "+from+", and does not go to "+to+", until somebody deletes it, "+rest).withJobs(JobsHampered).
			withHelp("copy what its tenant needs, then delete the namespace, which is made again for the other one: until then the objects of both are not applied")
	case moved:
		return c.effect(part, AdmitsMore, Warning, "an object belongs to another tenant").withJobs(JobsHampered)
	}
	return c.effect(part, AdmitsMore, Critical, "an object belongs to another tenant").withClause("get", "objects of another tenant").withJobs(JobsHampered)
}
