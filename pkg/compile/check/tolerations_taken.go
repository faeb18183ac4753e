package check

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// tolerationsAreTaken refuses what the API server takes in no pod (k8s.io/kubernetes pkg/apis/core/validation, ValidateTolerations): jobs would
// have no pods at all.
func tolerationsAreTaken(c *plan.Cluster, list *diag.List) {
	for _, p := range c.Profiles() {
		for _, t := range p.Tolerations {
			switch key := t.V.Key; {
			case t.V.Operator == corev1.TolerationOpExists && t.V.Value != "":
				list.Errorf(diag.BadToleration, t.At, "a toleration with `operator: Exists` has no value, and this one has `%s`", t.V.Value).
					Helpf("remove `value`, or write `operator: Equal`")
			case key == "" && t.V.Operator != corev1.TolerationOpExists:
				list.Errorf(diag.BadToleration, t.At, "a toleration without `key` is for all taints, with `operator: Exists`").Helpf("write the key of the taint")
			case key != "" && len(validation.IsQualifiedName(key)) > 0:
				report := list.Errorf(diag.BadToleration, t.At, "`%s` is not the key of a taint", key)
				if before, effect, found := strings.Cut(key, ":"); found {
					report.Helpf("write `key: %s` and `effect: %s`", before, effect)
				} else {
					report.Helpf("a key is a name with an optional domain, as `nvidia.com/gpu`")
				}
			}
		}
	}
}
