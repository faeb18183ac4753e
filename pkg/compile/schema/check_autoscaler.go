package schema

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// autoscaler checks a HorizontalPodAutoscaler (k8s.io/kubernetes/pkg/apis/autoscaling/validation).
func (c *check) autoscaler() {
	spec := c.root.Get("spec")
	if spec == nil {
		c.refuse(c.root, "spec", "required, but missing")
		return
	}
	least, most := spec.Get("minReplicas"), spec.Get("maxReplicas")
	switch {
	case most != nil && amountOf(most).Sign() <= 0:
		c.refuse(most, "", "found %s, the least allowed is 1", most.Text)
	case least != nil && most != nil && compareAmounts(most, least) < 0:
		c.refuse(most, "", "found %s, less than minReplicas, %s", most.Text, least.Text)
	}
	if least != nil && amountOf(least).Sign() <= 0 {
		c.refuse(least, "", "found %s, the least allowed is 1", least.Text)
	}
	metrics := spec.Get("metrics")
	for i := range children(metrics) {
		c.metric(&metrics.Children[i])
	}
}

// targets are the fields of each type of target. The API server asks for one of them, whatever the type.
var targets = map[string]string{"Utilization": "averageUtilization", "AverageValue": "averageValue", "Value": "value"}

// metric checks what a HorizontalPodAutoscaler looks at: the source that its type names, and the value that the type of its target names.
func (c *check) metric(n *object.Node) {
	name := n.StringAt("type")
	source := n.Get(strings.ToLower(name[:min(1, len(name))]) + name[min(1, len(name)):])
	if name == "" {
		return // the schema has refused it
	}
	if source == nil {
		c.refuse(n, "", "the type is %s, and what it asks for is missing", name)
		return
	}
	target := source.Get("target")
	if target == nil {
		return // the schema has refused it
	}
	switch field, known := targets[target.StringAt("type")]; {
	case !known:
		c.refuse(target, "type", "found `%s`, allowed are AverageValue, Utilization, Value", target.StringAt("type"))
	case target.Get("averageUtilization") == nil && target.Get("averageValue") == nil && target.Get("value") == nil:
		c.refuse(target, field, "required with the type %s, but missing", target.StringAt("type"))
	}
}
