package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// limitsAreEnforced warns of versions whose API server cannot judge by policies: what runtimes and tenants declare is then checked here
// and by mpi-controller, but a TrainJob that asks for more is created all the same. Where jobs pin memory that is an error of its own.
func limitsAreEnforced(c *plan.Cluster, list *diag.List) {
	if !c.AdmissionPolicies() && len(c.Tenants) > 0 && (c.OpenShift || !c.PinsMemory()) {
		list.Warnf(diag.LimitsNotEnforced, c.Version.At, "Kubernetes %s has no ValidatingAdmissionPolicies: TrainJobs above the limits of runtimes and tenants are not refused", c.Version.V).
			Helpf("use version 1.30 or later")
	}
}
