package check

import (
	"time"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// leastRetention is enough for an alert to fire and for a user to look.
const leastRetention = 5 * time.Minute

// finishedJobsCanBeRead warns of finished jobs that go with their logs before users and alerts see them.
func finishedJobsCanBeRead(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		if kept := t.KeepFinished; kept.V > 0 && kept.V < leastRetention {
			list.Warnf(diag.SettingInVain, kept.At,
				"`finishedJobs` keeps jobs and their logs for %s: no user can read why one failed", kept.V).
				Helpf("write 5m or more, for example 168h, or remove it: finished jobs stay then")
		}
	}
}
