package check

import (
	"path"
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
)

// chartsAreInstalled warns of a dashboard, or of a history, without the component that brings it.
func chartsAreInstalled(c *plan.Cluster, list *diag.List) {
	chartIsInstalled(c, "dashboard", c.Dashboard, plan.DashboardChart, list)
	chartIsInstalled(c, "history", c.History, mpi.ControllerName, list)
}

func chartIsInstalled(c *plan.Cluster, setting string, values []plan.Named[any], chart string, list *diag.List) {
	brings := func(component plan.Component) bool { return path.Base(component.Chart.V) == chart }
	if len(values) > 0 && !slices.ContainsFunc(c.Components, brings) {
		list.Warnf(diag.SettingInVain, values[0].At,
			"`%s` installs nothing on the cluster `%s`: none of its components is %s", setting, c.Name.V, chart).
			Helpf("add the chart `charts/%s` to `components`", chart)
	}
}
