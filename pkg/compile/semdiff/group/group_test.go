package group_test

import (
	"testing"

	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// TestUnequalMembers: a sentence about a group of effects of one line holds for all whom it names.
func TestUnequalMembers(t *testing.T) {
	file := source.NewFile("overlays/hpc/kustomization.yaml", []byte("a\n"))
	at := source.Span{File: file, Line: 1, Column: 1, Length: 1}
	effect := func(tenant, cluster, amount string, jobs rule.JobsImpact) rule.Effect {
		return rule.Effect{
			Rule: "quota", Consequence: rule.ShrinksQuota, Severity: rule.Warning, Jobs: jobs, Title: "less: " + amount,
			Subject: rule.Subject{Cluster: cluster, Tenant: tenant}, Clause: rule.Clause{Verb: "lose", Rest: amount + " pods"},
			After: at,
		}
	}
	all := rule.NewAllClusters(map[string]rule.ClusterInput{
		"hpc": {Tenants: []rule.Tenant{{Name: "a"}, {Name: "b"}}}, "lab": {Tenants: []rule.Tenant{{Name: "a"}}},
	})
	for name, c := range map[string]struct {
		effects []rule.Effect
		want    string
	}{
		"jobs of one of two tenants are stopped": {
			[]rule.Effect{effect("a", "hpc", "2", rule.JobsStopped), effect("b", "hpc", "2", rule.JobsHampered)},
			"a and b lose 2 pods each; running jobs of a are stopped.",
		},
		"a tenant loses another amount on each cluster": {
			[]rule.Effect{effect("a", "hpc", "2", rule.JobsUntouched), effect("a", "lab", "4", rule.JobsUntouched)},
			"a loses 2 pods on cluster hpc, and 1 change like it; running jobs are not touched.",
		},
		"two tenants lose another amount each": {
			[]rule.Effect{effect("a", "hpc", "2", rule.JobsUntouched), effect("b", "hpc", "4", rule.JobsUntouched)},
			"a loses 2 pods on cluster hpc, and 1 change like it; running jobs are not touched.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			groups := group.New(3)
			for i := range c.effects {
				groups.Add(c.effects[len(c.effects)-1-i])
			}
			var f group.Findings
			if got := group.Verdict(groups.Entries(&f), &f, all, len(c.effects)); got != c.want {
				t.Errorf("the verdict is %q, want %q", got, c.want)
			}
		})
	}
}
