package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
)

// Plan is what the compiler says that tenants and cohorts may have, in machines.
type Plan struct {
	Tenants map[string]Share
	// Cohorts are their machines: those that are guaranteed to the members, and their own.
	Cohorts map[string]int
}

// Share is that of a tenant.
type Share struct {
	Cohort string
	// Guaranteed is what it has within a minute, Most what it never exceeds.
	Guaranteed, Most int
}

// readPlan asks the compiler. The bundle has one cluster, one profile, and one cohort with machines of its own.
func readPlan(ctx context.Context, compiler, root string) (Plan, error) {
	text, err := exec.CommandContext(ctx, compiler, "plan", "--root", root, "-o", "json").Output() //nolint:gosec // our own program
	if err != nil {
		return Plan{}, fmt.Errorf("ask the compiler for the plan: %w", err)
	}
	var said struct {
		Clusters []struct {
			Profiles []struct{ Cohorts int }
			Tenants  []struct {
				Tenant, Cohort   string
				Guaranteed, Most int
			}
		}
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return Plan{}, fmt.Errorf("read the plan: %w", err)
	}
	cluster := said.Clusters[0]
	plan := Plan{Tenants: map[string]Share{}, Cohorts: map[string]int{cohortWithMachines: cluster.Profiles[0].Cohorts}}
	for _, t := range cluster.Tenants {
		plan.Tenants[t.Tenant] = Share{t.Cohort, t.Guaranteed, t.Most}
		plan.Cohorts[t.Cohort] += t.Guaranteed
	}
	return plan, nil
}

// cohortWithMachines is the one of overlays/local/cluster.yaml.
const cohortWithMachines = "research"
