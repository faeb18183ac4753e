package check

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// monitoringKeepsNamespaces warns of alerts on OpenShift's monitoring of users' projects. It gives every alert the
// namespace of the controller and shows our rules no series of kubelet, so nothing routes to tenants, and two alerts
// cannot be.
func monitoringKeepsNamespaces(c *plan.Cluster, list *diag.List) {
	m := c.Monitoring
	if m == nil || !c.OpenShift || m.Namespace.V != plan.ProjectMonitoring || !m.Alerts.V {
		return
	}
	list.Warnf(diag.SettingInVain, m.Namespace.At,
		"`%s` gives every alert the namespace of mpi-controller: none reaches tenants, or finds nodes behind or idle",
		m.Namespace.V).
		Helpf("write `%s`, whose Prometheus keeps the namespaces of jobs, or set `alerts: false`", plan.PlatformMonitoring)
}
