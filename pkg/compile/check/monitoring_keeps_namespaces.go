package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// monitoringKeepsNamespaces warns of alerts and dashboards on OpenShift's monitoring of users' projects. It gives every
// series and alert of the controller the controller's namespace, so alerts reach no tenant, and dashboards find no job.
func monitoringKeepsNamespaces(c *plan.Cluster, list *diag.List) {
	m := c.Monitoring
	if m == nil || !c.OpenShift || m.Namespace.V != plan.ProjectMonitoring || !m.Alerts.V && !m.Dashboards.V {
		return
	}
	list.Warnf(diag.SettingInVain, m.Namespace.At,
		"`%s` replaces the namespace of every series by that of mpi-controller: alerts and dashboards do not find the jobs",
		m.Namespace.V).
		Helpf("write `%s`, whose Prometheus keeps the namespaces of jobs, or set `alerts: false`", plan.PlatformMonitoring)
}
