package check

import (
	"path"
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// dashboardIsInstalled warns of a dashboard without the component that brings it.
func dashboardIsInstalled(c *plan.Cluster, list *diag.List) {
	brings := func(component plan.Component) bool { return path.Base(component.Chart.V) == plan.DashboardChart }
	if len(c.Dashboard) == 0 || slices.ContainsFunc(c.Components, brings) {
		return
	}
	list.Warnf(diag.SettingInVain, c.Dashboard[0].At,
		"`dashboard` installs nothing on the cluster `%s`: none of its components is %s", c.Name.V, plan.DashboardChart).
		Helpf("add the chart `charts/%s` to `components`", plan.DashboardChart)
}
