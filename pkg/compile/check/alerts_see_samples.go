package check

import (
	"time"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// lookback is how long Prometheus knows a sample (--query.lookback-delta).
const lookback = 5 * time.Minute

// alertsSeeSamples warns of scrapes so far apart that metrics are forgotten in between: no alert on them holds for long
// enough to fire, and dashboards have gaps.
func alertsSeeSamples(c *plan.Cluster, list *diag.List) {
	m := c.Monitoring
	if m == nil || !m.Alerts.V && !m.Dashboards.V {
		return
	}
	if interval, err := time.ParseDuration(m.Interval.V); err == nil && interval > lookback {
		list.Warnf(diag.SettingInVain, m.Interval.At, "with %s between scrapes alerts do not fire, and graphs are empty: "+
			"Prometheus forgets a sample after 5m", m.Interval.V).Helpf("scrape every 2m or more often, or set `alerts: false`")
	}
}
