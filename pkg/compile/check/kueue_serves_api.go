package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// kueueServesAPI refuses an API that the installed Kueue does not serve, and warns of v1beta1, which goes.
func kueueServesAPI(c *plan.Cluster, list *diag.List) {
	if c.Queueing == nil {
		return
	}
	version, api := c.Queueing.Version.V, c.Queueing.APIVersion
	old := api.V == plan.KueueBeta1
	early := version != "" && plan.EarlierVersion(version, plan.KueueServesBeta2)
	switch {
	case !old && early, old && version != "" && !plan.EarlierVersion(version, plan.KueueDropsBeta1):
		list.Errorf(diag.KueueAPINotServed, api.At, "Kueue %s does not serve `%s`", version, api.V).
			Also(c.Queueing.Version.At, "the version of Kueue").
			Helpf("remove `apiVersion`: it follows from `version`")
	case old && early:
		list.Warnf(diag.KueueAPIGoes, api.At, "Kueue %s has no later API than `%s`, which Kueue %s no longer serves",
			version, api.V, plan.KueueDropsBeta1).
			Helpf("upgrade Kueue to a version from %s to 0.19 before, and change `version` then", plan.KueueServesBeta2)
	case old:
		list.Warnf(diag.KueueAPIGoes, api.At, "Kueue %s no longer serves `%s`", plan.KueueDropsBeta1, api.V).
			Helpf("write `version` of the installed Kueue in place of `apiVersion`: from %s on it serves v1beta2",
				plan.KueueServesBeta2)
	}
}
