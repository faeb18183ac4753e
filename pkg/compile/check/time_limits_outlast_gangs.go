package check

import (
	"time"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// leastDuration is less than most pods need to start.
const leastDuration = 30 * time.Second

// timeLimitsOutlastGangs warns of a time limit that ends a job while its pods may still start, or wait for each other.
func timeLimitsOutlastGangs(c *plan.Cluster, list *diag.List) {
	for _, r := range c.Runtimes {
		limit, gang := r.MaxDuration, &r.Gang
		if limit.V > 0 && limit.V < leastDuration {
			list.Warnf(diag.Contradiction, limit.At, "a job ends after %s, and its pods take longer to start", limit.V).
				Helpf("write the time that the longest job may take, for example 24h")
		} else if limit.V > 0 && limit.V <= gang.Timeout.V && gang.Scheduler.V != plan.GangNone {
			list.Warnf(diag.Contradiction, limit.At, "a job ends after %s, and its pods may take %s until all of them run",
				limit.V, gang.Timeout.V).Also(gang.Timeout.At, "how long a gang may take").
				Helpf("raise `maxDuration` above %s, or lower `gang.timeout`", gang.Timeout.V)
		}
	}
}
