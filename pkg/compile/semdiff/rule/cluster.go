package rule

import (
	"net/netip"
	"slices"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/mpi"
)

// ClusterInput is what is known of a cluster beside its differences.
type ClusterInput struct {
	Name string
	// Before and After are the facts of the units of each state; none is a state that does not have the cluster.
	Before, After []*Facts
	// Tenants are those who live there in either state; those of the facts need not be among them.
	Tenants []Tenant
	// Ranges are the addresses of pods and Services, `10.128.0.0/14`. What is not a range is left out.
	Ranges []string
	// AllClusters are the tenants and runtimes of all clusters.
	AllClusters *AllClusters
}

// Tenant is a tenant of a cluster.
type Tenant struct {
	Name string
	// Namespaces are its own; Runtimes are those that it may use; Groups are its people.
	Namespaces, Runtimes, Groups []string
	// Before reports whether it lives on the cluster in the state before.
	Before bool
}

// Cluster is a cluster as rules see it: what is known of both of its states, and the objects that come and go.
type Cluster struct {
	Name string
	// was and is are what is known of both states.
	was, is *clusterState
	// added and removed are the objects that only one state has, under any name.
	added, removed []*match.Change
	// renamed holds the objects that have another name.
	renamed []*match.Change
	// left holds the objects that former tenants leave behind, renamedTenants the new names of tenants.
	left           map[string][]*match.Change
	renamedTenants map[string]string
	// unclaimed are those of added that come with a namespace and that no rule would understand otherwise.
	unclaimed []*match.Change
	// bindings are changes of what role a binding gives, whichever rule tells them.
	bindings []*match.Change
	tenants  []Tenant
	// owners are the tenants that namespaces belong to.
	owners      map[string]string
	ranges      []netip.Prefix
	allClusters *AllClusters
	// selected are the tenants whose namespaces a selector selects, by its text.
	selected map[string][]string
}

// NewCluster puts together what is known of a cluster.
func NewCluster(known ClusterInput) *Cluster {
	c := &Cluster{
		Name: known.Name, was: newClusterState(known.Before), is: newClusterState(known.After), tenants: known.Tenants, selected: map[string][]string{}, owners: make(map[string]string, len(known.After)),
		allClusters: known.AllClusters,
	}
	if c.allClusters == nil {
		c.allClusters = NewAllClusters(map[string]ClusterInput{known.Name: known})
	}
	for i := range known.Tenants {
		for _, name := range known.Tenants[i].Namespaces {
			c.owners[name] = known.Tenants[i].Name
		}
	}
	for _, s := range []*clusterState{c.was, c.is} {
		for name, n := range s.namespaces {
			if n.tenant != "" {
				c.owners[name] = n.tenant
			}
		}
	}
	for _, text := range known.Ranges {
		if prefix, err := netip.ParsePrefix(text); err == nil && !slices.Contains(c.ranges, prefix) {
			c.ranges = append(c.ranges, prefix)
		}
	}
	return c
}

// Exists reports which states have the cluster.
func (c *Cluster) Exists() (before, after bool) { return c.was.exists, c.is.exists }

// isNew reports whether only the state afterwards has the cluster.
func (c *Cluster) isNew() bool { return c.is.exists && !c.was.exists }

// subjectOf is whom a change happens to.
func (c *Cluster) subjectOf(change *match.Change) Subject {
	o := change.Object()
	s := Subject{Cluster: c.Name, Tenant: c.tenantOf(o), Namespace: o.ID.Namespace, Object: o.ID.String(), Path: change.Path.String()}
	switch o.ID.Kind {
	case "Namespace":
		s.Namespace = o.ID.Name
	case "ClusterTrainingRuntime", "TrainingRuntime":
		s.Runtime = o.ID.Name
	}
	return s
}

// tenantOf is the tenant that an object belongs to, or "".
func (c *Cluster) tenantOf(o *object.Object) string {
	if own := o.Root.Scalar("metadata", "labels", mpi.TenantLabel); own != "" {
		return own
	}
	return c.ownerOfNamespace(o.ID.Namespace)
}

// ownerOfNamespace is the tenant that a namespace belongs to, or "".
func (c *Cluster) ownerOfNamespace(namespace string) string { return c.owners[namespace] }

// tenantsUsing are the tenants that may use a runtime, sorted.
func (c *Cluster) tenantsUsing(runtime string) []string {
	var names []string
	for i := range c.tenants {
		if slices.Contains(c.tenants[i].Runtimes, runtime) {
			names = append(names, c.tenants[i].Name)
		}
	}
	for _, s := range []*clusterState{c.is, c.was} {
		for _, n := range s.namespaces {
			if slices.Contains(n.runtimes, runtime) {
				names = append(names, n.tenant)
			}
		}
	}
	return sortedDistinct(names)
}
