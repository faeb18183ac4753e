// Package whatif answers questions about capacity: where the machines of each cluster are, how many each tenant can have, and what
// would become of that if a tenant came, or machines came or went.
//
// A question is a change of plans. What is changed is lowered, checked and proven like a real change of the specs, so that the answer
// is what a pull request with it would be told. The package is pure, and changes no plan that it is given.
package whatif

import (
	"cmp"
	"fmt"
	"slices"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/check"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/lower"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/proof/capacity"
)

// Cluster is the capacity of a cluster.
type Cluster struct {
	Name string `json:"name"`
	// Queues says that Kueue counts machines; otherwise quotas count resources.
	Queues   bool                       `json:"queues"`
	Profiles []capacity.ProfileCapacity `json:"profiles"`
	Tenants  []capacity.TenantCapacity  `json:"tenants"`
	// Quotas are what quotas promise of each resource.
	Quotas []capacity.QuotaPromise `json:"quotas"`
	// Runtimes are all that are compiled from the catalog, where one of them was certified.
	Runtimes []RuntimeTest `json:"runtimes,omitempty"`
}

// RuntimeTest is what is known of tests of a runtime on the cluster.
type RuntimeTest struct {
	Runtime string `json:"runtime"`
	// Certified is a day, `stale` or `never`.
	Certified string `json:"certified"`
	// Test is what was measured, and when: of the runtime as it was then where it is stale; nil for never.
	Test *v1alpha1.Certification `json:"test,omitempty"`
}

// Answer is what becomes of one cluster.
type Answer struct {
	// Cluster is before the change, After the same after it; nil where it cannot be made.
	Before *Cluster `json:"before"`
	After  *Cluster `json:"after"`
	Fits   bool     `json:"fits"`
	// Why are the findings that the change would bring; an error about the jobs of one runtime is no reason
	// against a tenant, who can leave the runtime out; any other error is.
	Why []Finding `json:"findings"`
	// Shrinks are the tenants that would have less room than before.
	Shrinks []Shrink `json:"shrinks"`
}

// Finding is what the compiler would say.
type Finding struct {
	Code     diag.Code     `json:"code"`
	Severity diag.Severity `json:"severity"`
	Message  string        `json:"message"`
}

// Shrink is the room of a tenant before and after.
type Shrink struct {
	Before capacity.TenantCapacity `json:"before"`
	After  capacity.TenantCapacity `json:"after"`
}

// CapacityTable returns the capacity of clusters as they are.
func CapacityTable(clusters []*plan.Cluster) []Cluster {
	result := make([]Cluster, len(clusters))
	for i, c := range clusters {
		result[i], _ = compileCapacity(c)
	}
	return result
}

// Ask returns what becomes of each cluster that the change concerns. It fails for a change that makes no sense: a profile, cohort or
// cluster that is not there, a tenant that exists.
func Ask(clusters []*plan.Cluster, change Change) ([]Answer, error) {
	concerned, err := change.concernedClusters(clusters)
	if err != nil {
		return nil, fmt.Errorf("ask about capacity: %w", err)
	}
	answers := make([]Answer, 0, len(concerned))
	for _, c := range concerned {
		answers = append(answers, answerFor(c, change))
	}
	return answers, nil
}

func answerFor(c *plan.Cluster, change Change) Answer {
	changed := change.appliedTo(c)
	before, known := compileCapacity(c)
	after, found := compileCapacity(changed)
	a := Answer{Before: &before, After: &after, Fits: true, Why: []Finding{}, Shrinks: []Shrink{}}
	refused := 0
	for _, d := range found {
		again := slices.ContainsFunc(known, func(k *diag.Diagnostic) bool { return k.Code == d.Code && k.Message == d.Message })
		switch {
		case again || d.Code == diag.NoUsableRuntime: // a question about machines leaves runtimes open
		case change.Tenant != "" && (d.Code == diag.DefaultJobDoesNotFit || d.Code == diag.QuotaRefusesJob):
			refused = max(refused, 1+len(d.Notes)) // a note for each other runtime
			// The tenant would have to leave the runtime out: no reason why its machines do not fit.
			a.Why = append(a.Why, Finding{d.Code, d.Severity, d.Message})
		default:
			a.addFinding(Finding{d.Code, d.Severity, d.Message})
		}
	}
	if t := tenantNamed(changed, change.Tenant); t != nil && refused > 0 && refused >= len(t.Usable) {
		a.Fits = false // a tenant may do without some runtimes, not without all
	}
	a.refuseOverPromises()
	a.noteShrunkTenants()
	slices.SortStableFunc(a.Why, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(x.Severity, y.Severity), cmp.Compare(x.Code, y.Code))
	})
	return a
}

func (a *Answer) addFinding(f Finding) {
	a.Why = append(a.Why, f)
	a.Fits = a.Fits && f.Severity != diag.Error && f.Code != diag.Overcommitted
}

// refuseOverPromises refuses what only quotas count, where they would promise more than there is and more than before.
func (a *Answer) refuseOverPromises() {
	for _, after := range a.After.Quotas {
		if after.Over && !a.After.Queues && !slices.Contains(a.Before.Quotas, after) {
			a.addFinding(Finding{diag.Overcommitted, diag.Warning, fmt.Sprintf("`%s` has %s %s, and quotas%s would promise %s", a.After.Name, after.Has, after.Resource, a.reportOverPromised(after.Resource), after.Promised)})
		}
	}
}

// reportOverPromised says of a resource that it is promised too often without the change: then nothing fits before something is taken back.
func (a *Answer) reportOverPromised(resource string) string {
	for _, before := range a.Before.Quotas {
		if before.Resource == resource && before.Over {
			return fmt.Sprintf(" promise %s already, too much without the change, and", before.Promised)
		}
	}
	return ""
}

func (a *Answer) noteShrunkTenants() {
	for _, before := range a.Before.Tenants {
		for _, after := range a.After.Tenants {
			same := after.Tenant == before.Tenant && after.Profile == before.Profile
			if same && (after.Guaranteed < before.Guaranteed || after.Busy < before.Busy || after.Most < before.Most) {
				a.Shrinks = append(a.Shrinks, Shrink{Before: before, After: after})
			}
		}
	}
}

// compileCapacity compiles what decides about capacity, and judges it.
func compileCapacity(c *plan.Cluster) (Cluster, []*diag.Diagnostic) {
	list := &diag.List{}
	check.Cluster(c, list)
	facts := []capacity.Facts{capacity.FactsOf(lower.PlatformObjects(c)), capacity.FactsOf(lower.RuntimeObjects(c, list))}
	for _, t := range c.Tenants {
		facts = append(facts, capacity.FactsOf(lower.TenantObjects(c, t, list)))
	}
	capacity.Prove(c, facts, list)
	result := Cluster{Name: c.Name.V, Queues: c.Queueing != nil, Tenants: []capacity.TenantCapacity{}}
	stocks, rooms := capacity.Summarize(c, facts)
	result.Profiles = append([]capacity.ProfileCapacity{}, stocks...)
	result.Tenants = append(result.Tenants, rooms...)
	result.Quotas = append([]capacity.QuotaPromise{}, capacity.QuotaPromises(c, facts)...)
	result.Runtimes = runtimeTests(c)
	return result, list.Sorted()
}

// runtimeTests returns what is known of each runtime, or nothing where no test is.
func runtimeTests(c *plan.Cluster) []RuntimeTest {
	if len(c.Certified) == 0 {
		return nil
	}
	var all []RuntimeTest
	for _, r := range c.Runtimes {
		own := RuntimeTest{Runtime: r.Name.V, Certified: "never"}
		if test := c.CertificationOf(r.Name.V); test != nil {
			own.Certified, own.Test = test.State(), &test.Measured
		}
		all = append(all, own)
	}
	return all
}

func tenantNamed(c *plan.Cluster, name string) *plan.Tenant {
	for _, t := range c.Tenants {
		if t.Name.V == name {
			return t
		}
	}
	return nil
}
