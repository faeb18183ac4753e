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
	monitoringRule, receiversRule, credentialsRule, retentionRule, priceRule, logsRule, certificationRule, templatesRule, displayMetadataRule, chartsRule, ownershipRule, specsRule, unclassifiedRule,
}

// Rules returns all rules in the order in which they are asked. The last one claims everything that is left.
func Rules() []*Rule { return rules }

// Judge gives each change of the cluster to its rule, and hands over what the rules say.
func (c *Cluster) Judge(d *match.Cluster, take func(Effect)) {
	c.added, c.removed, c.renamedTenants = d.Added, d.Removed, map[string]string{}
	c.left = map[string][]*match.Change{}
	claimed := map[*Rule][]*match.Change{}
	mpi := runtimesOfOtherMPI(d.Changes)
	var left []object.Object
	for _, change := range d.Changes {
		c.decideDisposal(change)
		rule := ruleOf(change)
		if c.noteLeft(change, rule) {
			rule = ownershipRule
		}
		if mpi[change.Object().ID] && followsMPI(rule, change) {
			rule = wiringRule
		}
		if c.isAboutParameters(change, rule) {
			rule = admissionRule
		}
		claimed[rule] = append(claimed[rule], change)
		c.noteForOthers(change)
		if change.Disposal.Stays || change.Renamed() && c.leftOf(change) != "" {
			left = append(left, *change.Before)
		}
	}
	c.keep(left)
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
				c.noteStoppedByKueue(&e)
			}
			take(e)
		}
	}
}

// noteForOthers notes changes that rules look at beside their own.
func (c *Cluster) noteForOthers(change *match.Change) {
	if change.Added() && comesWithOwner(change) && !change.Disposal.WithCluster && isForeignObject(change.After) && isUnclassifiedAlone(change) {
		c.unclaimed = append(c.unclaimed, change)
	}
	if change.Object().ID.Group == rbacGroup && change.Path.Is("roleRef", "**") {
		c.bindings = append(c.bindings, change)
	}
}

// noteLeft notes another name, and an object that a former tenant leaves behind, and reports whether it is one.
func (c *Cluster) noteLeft(change *match.Change, rule *Rule) bool {
	if change.Renamed() {
		c.renamed = append(c.renamed, change)
		if was, is := c.tenantOf(change.Before), c.tenantOf(change.After); was != is && was != "" {
			c.renamedTenants[was] = is
		}
	}
	tenant := c.leftOf(change)
	if tenant == "" || !slices.Contains([]*Rule{ownershipRule, renamesRule, storageRule}, rule) {
		return false
	}
	c.left[tenant] = append(c.left[tenant], change)
	return true
}

// keep adds to the state afterwards what objects that stay still give.
func (c *Cluster) keep(left []object.Object) {
	c.is.access.Add(access.FactsOf(left))
	for i := range left {
		if q := readQueue(&left[i]); q != nil {
			c.is.queues[q.id] = q
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
