package check

import (
	"time"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// shortestScrapes is half of the default: graphs of jobs show no more with less.
const shortestScrapes = 5 * time.Second

// lookback is how long Prometheus knows a sample (--query.lookback-delta).
const lookback = 5 * time.Minute

// alertsSeeSamples warns of scrapes so far apart that metrics are forgotten in between: no alert on them holds for long
// enough to fire, and dashboards have gaps. It warns of scrapes that fill Prometheus with equal samples, too.
func alertsSeeSamples(c *plan.Cluster, list *diag.List) {
	m := c.Monitoring
	if m == nil {
		return
	}
	interval, err := time.ParseDuration(m.Interval.V)
	switch {
	case err != nil:
	case interval < shortestScrapes:
		list.Warnf(diag.Contradiction, m.Interval.At,
			"with %s between scrapes Prometheus stores many equal samples of each job", m.Interval.V).
			Helpf("scrape every 10s, which is the default")
	case interval > lookback && (m.Alerts.V || m.Dashboards.V):
		list.Warnf(diag.SettingInVain, m.Interval.At, "with %s between scrapes alerts do not fire, and graphs are empty: "+
			"Prometheus forgets a sample after 5m", m.Interval.V).Helpf("scrape every 2m or more often, or set `alerts: false`")
	}
}
