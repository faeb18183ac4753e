package check

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// historyBoundsNest warns of a bound of the history above one around it. The history cuts a job with more than its own
// bound, and removes whole jobs from a namespace or a claim with too much: a long log takes all others along.
func historyBoundsNest(c *plan.Cluster, list *diag.List) {
	bounds := map[string]plan.Named[any]{}
	for _, v := range c.History {
		bounds[strings.TrimPrefix(v.Name, "history.")] = v
	}
	for _, names := range [][2]string{{"perJob", "storage"}, {"perJob", "perNamespace"}, {"perNamespace", "storage"}} {
		own, around := bounds[names[0]], bounds[names[1]]
		size, _ := resource.ParseQuantity(fmt.Sprint(own.V))
		most, _ := resource.ParseQuantity(fmt.Sprint(around.V))
		if own.Kind != origin.Default && size.Cmp(most) > 0 {
			list.Warnf(diag.Contradiction, own.At, "`%s` is %s, and `%s` is %s: whole jobs go before a log is cut",
				names[0], size.String(), names[1], most.String()).Also(around.At, "the bound around it").
				Helpf("write less than %s, or raise `%s`", most.String(), names[1])
			return
		}
	}
}
