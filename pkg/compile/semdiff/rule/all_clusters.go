package rule

import (
	"maps"
	"slices"
)

// AllClusters is what is known of all clusters together: who lives where, which runtimes are where, and whose people a group is.
type AllClusters struct {
	// before and after are the clusters of a tenant in one state; tenants and runtimes those of either.
	before, after, tenants, runtimes placesByName
	// groups are the tenants of a group of people in the state before: who they are today.
	groups placesByName
	// later are those of the state afterwards.
	later placesByName
}

// placesByName are places by what is there.
type placesByName map[string]map[string]bool

func (h placesByName) add(what, where string) {
	if h[what] == nil {
		h[what] = map[string]bool{}
	}
	h[what][where] = true
}

func (h placesByName) placesOf(what string) []string { return slices.Sorted(maps.Keys(h[what])) }

// NewAllClusters puts together what is known of clusters, by their names.
func NewAllClusters(clusters map[string]ClusterInput) *AllClusters {
	e := &AllClusters{placesByName{}, placesByName{}, placesByName{}, placesByName{}, placesByName{}, placesByName{}}
	for name, known := range clusters {
		for i := range known.Tenants {
			e.addTenant(&known.Tenants[i], name)
		}
		e.addFacts(name, known.Before, true)
		e.addFacts(name, known.After, false)
	}
	return e
}

func (e *AllClusters) addTenant(t *Tenant, cluster string) {
	e.tenants.add(t.Name, cluster)
	lived, groups := e.after, e.later
	if t.Before {
		lived, groups = e.before, e.groups
	}
	lived.add(t.Name, cluster)
	for _, group := range t.Groups {
		groups.add(group, t.Name)
	}
}

func (e *AllClusters) addFacts(cluster string, units []*Facts, before bool) {
	for _, f := range units {
		for _, own := range f.namespaces {
			if own.tenant != "" {
				e.addTenant(&Tenant{Name: own.tenant, Before: before}, cluster)
			}
		}
		for _, name := range f.runtimes {
			e.runtimes.add(name, cluster)
		}
	}
}

// ClustersOfTenant returns the clusters on which a tenant lives in either state.
func (e *AllClusters) ClustersOfTenant(name string) []string { return e.tenants.placesOf(name) }

// ClustersOfRuntime returns the clusters that have a runtime in either state.
func (e *AllClusters) ClustersOfRuntime(name string) []string { return e.runtimes.placesOf(name) }

// wasThere reports whether a tenant lived on some cluster in the state before.
func (e *AllClusters) wasThere(tenant string) bool { return len(e.before[tenant]) > 0 }

// MayBeRenamed reports whether a tenant may be another one under a new name: one goes, one comes, on the same clusters.
func (e *AllClusters) MayBeRenamed(was, is string) bool {
	return len(e.after[was]) == 0 && !e.wasThere(is) && maps.Equal(e.before[was], e.after[is])
}

// groupsOfTenant are the groups of a tenant in the state afterwards, sorted.
func (e *AllClusters) groupsOfTenant(tenant string) []string {
	var groups []string
	for group, tenants := range e.later {
		if tenants[tenant] {
			groups = append(groups, group)
		}
	}
	slices.Sort(groups)
	return groups
}

// tenantsOfGroup are the tenants whose people a group is, but one: those in the state before, or else tenants that are new.
func (e *AllClusters) tenantsOfGroup(group, but string) []string {
	tenants := e.groups.placesOf(group)
	if len(tenants) == 0 {
		tenants = slices.DeleteFunc(e.later.placesOf(group), e.wasThere)
	}
	return slices.DeleteFunc(tenants, func(tenant string) bool { return tenant == but })
}
