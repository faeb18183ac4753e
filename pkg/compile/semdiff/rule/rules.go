package rule

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/proof/access"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

// rules are all rules in the order in which they are asked: what is special comes before what is general.
var rules = []*Rule{
	renamesRule, spellingRule, capabilityRule, gitopsRule, boundaryRule,
	immutableRule, networkRule, exposureRule, accessRule, securityRule, admissionRule, quotaRule, storageRule, readersRule,
	imageRule, programRule, resourcesRule, environmentRule, nodesRule, lifecycleRule, wiringRule,
	monitoringRule, receiversRule, credentialsRule, retentionRule, priceRule, logsRule, certificationRule, displayMetadataRule, chartsRule, ownershipRule, specsRule, unclassifiedRule,
}

// Rules returns all rules in the order in which they are asked. The last one claims everything that is left.
func Rules() []*Rule { return rules }

// Judge gives each change of the cluster to its rule, and hands over what the rules say.
func (c *Cluster) Judge(d *match.Cluster, take func(Effect)) {
	c.added, c.removed = d.Added, d.Removed
	claimed := map[*Rule][]*match.Change{}
	var left []object.Object
	for _, change := range d.Changes {
		c.decideDisposal(change)
		rule := ruleOf(change)
		claimed[rule] = append(claimed[rule], change)
		if change.Added() && comesWithOwner(change) && !change.Disposal.WithCluster && isForeignObject(change.After) && isUnclassifiedAlone(change) {
			c.unclaimed = append(c.unclaimed, change)
		}
		if change.Object().ID.Group == rbacGroup && change.Path.Is("roleRef", "**") {
			c.bindings = append(c.bindings, change)
		}
		if change.Disposal.Stays && change.Before.ID.Group == rbacGroup {
			left = append(left, *change.Before)
		}
	}
	// What stays gives what it gave.
	c.is.access.Add(access.FactsOf(left))
	users := map[string][]string{}
	for _, rule := range rules {
		for _, e := range rule.judge(c, claimed[rule]) {
			e.Rule, e.Subject.Cluster = rule.Name, c.Name
			c.assignToFormerTenant(&e)
			switch s := &e.Subject; {
			case s.Tenant != "":
			case s.Namespace != "":
				s.Tenant = c.ownerOfNamespace(s.Namespace)
			case s.Runtime != "":
				if users[s.Runtime] == nil {
					users[s.Runtime] = c.tenantsUsing(s.Runtime)
				}
				e.Users = users[s.Runtime]
			}
			take(e)
		}
	}
}

// assignToFormerTenant gives an effect in a namespace that goes to another tenant to the one that it happens to: what is taken, and running jobs, are
// those of the tenant that had it. The verdict speaks of the namespace: the tenant has what it gains elsewhere already.
func (c *Cluster) assignToFormerTenant(e *Effect) {
	from, to, moved := c.namespaceHandover(e.Subject.Namespace)
	if !moved {
		return
	}
	e.JobsOf = from
	if slices.Contains(taking, e.Consequence) && (e.Subject.Tenant == "" || e.Subject.Tenant == to) {
		e.Subject.Tenant = from
	}
	if e.Clause != (Clause{}) && e.Clause.Of == "" && e.Subject.Runtime == "" {
		e.Clause.Of = "namespace " + e.Subject.Namespace
	}
}

// taking are the consequences for those who have less afterwards.
var taking = []Consequence{NarrowsAccess, ClosesNetwork, DeletesData, DeletesObjects, LeavesObjects}

// ruleOf is the first rule that claims a change; the last one claims all.
func ruleOf(change *match.Change) *Rule {
	switch disposal := &change.Disposal; {
	case change.Path.Is("apiVersion") && change.Same == "":
		// It is not a version of an API.
		return unclassifiedRule
	case disposal.WithCluster || disposal.Stays || comesWithOwner(change) && !change.Renamed():
		return ownershipRule
	}
	return ruleOfAlone(change)
}

// isUnclassifiedAlone reports whether no rule would understand an object that comes along with its namespace if it came alone.
func isUnclassifiedAlone(change *match.Change) bool {
	alone := *change
	alone.Disposal = match.Disposal{}
	return ruleOfAlone(&alone) == unclassifiedRule
}

// ruleOfAlone is the first rule that claims a change, whatever the object comes or goes with.
func ruleOfAlone(change *match.Change) *Rule {
	for _, rule := range rules {
		if rule.claims(change) {
			return rule
		}
	}
	return unclassifiedRule
}
