package schema

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// workload checks what a Deployment, a StatefulSet or a DaemonSet says about its pods.
func (c *check) workload() {
	spec := c.root.Get("spec")
	if spec == nil {
		c.refuse(c.root, "spec", "required, but missing")
		return
	}
	selector, template := spec.Get("selector"), spec.Get("template")
	if selector == nil || len(children(selector.Get("matchLabels")))+len(children(selector.Get("matchExpressions"))) == 0 {
		c.refuse(spec, "selector", "required, but missing or empty")
		return
	}
	if template == nil || template.Get("spec") == nil {
		c.refuse(spec, "template.spec.containers", "required, but missing: at least one")
		return
	}
	labels := template.At("metadata", "labels")
	for i := range children(selector.Get("matchLabels")) {
		wanted := &selector.Get("matchLabels").Children[i]
		if labels == nil || labels.StringAt(wanted.Key) != wanted.Text {
			c.refuse(wanted, "", "the template lacks the label %s=%s, so its pods would not be found", wanted.Key, wanted.Text)
		}
	}
	c.labels(labels)
	if restart := template.At("spec", "restartPolicy"); restart != nil {
		c.oneOfOrDefault(restart, "Always")
	}
	c.updateStrategy(spec)
	c.notBelowZero(spec, "replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
}

// strategies are those by which pods of a workload follow a new template.
var strategies = map[string][]string{"Deployment": {"Recreate", "RollingUpdate"}, "StatefulSet": {"OnDelete", "RollingUpdate"}, "DaemonSet": {"OnDelete", "RollingUpdate"}}

func (c *check) updateStrategy(spec *object.Node) {
	kind := c.table.name.kind
	strategy := spec.Get("updateStrategy")
	if kind == "Deployment" {
		strategy = spec.Get("strategy")
	}
	if strategy != nil {
		c.oneOfOrDefault(strategy.Get("type"), strategies[kind]...)
		if rolling := strategy.Get("rollingUpdate"); rolling != nil && strategy.StringAt("type") == "Recreate" {
			c.refuse(rolling, "", "not allowed with the type Recreate")
		}
	}
	if kind == "StatefulSet" {
		c.oneOfOrDefault(spec.Get("podManagementPolicy"), "OrderedReady", "Parallel")
	}
}

// notBelowZero checks numbers that must not be below 0.
func (c *check) notBelowZero(n *object.Node, names ...string) {
	for _, name := range names {
		if count := n.Get(name); count != nil && strings.HasPrefix(count.Text, "-") {
			c.refuse(count, "", "found %s, the least allowed is 0", count.Text)
		}
	}
}

// job checks what a Job, or a CronJob for its Jobs, says.
func (c *check) job(spec *object.Node) {
	if spec == nil {
		c.refuse(c.root, "spec", "required, but missing")
		return
	}
	c.notBelowZero(spec, "backoffLimit", "parallelism", "completions", "activeDeadlineSeconds", "ttlSecondsAfterFinished")
	pod := spec.At("template", "spec")
	if pod == nil || pod.StringAt("restartPolicy") == "" {
		c.refuse(spec, "template.spec.restartPolicy", "required, but missing: OnFailure or Never")
		return
	}
	c.oneOf(pod.Get("restartPolicy"), "OnFailure", "Never")
	c.labels(spec.At("template", "metadata", "labels"))
}

func (c *check) cronJob() {
	spec := c.root.Get("spec")
	if spec == nil {
		c.refuse(c.root, "spec", "required, but missing")
		return
	}
	c.requireFields(spec, "schedule")
	c.schedule(spec.Get("schedule"))
	c.oneOf(spec.Get("concurrencyPolicy"), "Allow", "Forbid", "Replace")
	c.notBelowZero(spec, "startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")
	if template := spec.Get("jobTemplate"); template != nil {
		c.job(template.Get("spec"))
	}
}

func (c *check) disruptionBudget() {
	spec := c.root.Get("spec")
	if spec == nil {
		return
	}
	least, most := spec.Get("minAvailable"), spec.Get("maxUnavailable")
	if least != nil && most != nil {
		c.refuse(most, "", "not allowed beside minAvailable")
	}
	for _, limit := range []*object.Node{least, most} {
		if limit.StringAt() != "" {
			c.refuseInvalid(limit, validation.IsValidPercent(limit.Text))
		}
	}
	c.notBelowZero(spec, "minAvailable", "maxUnavailable")
}
