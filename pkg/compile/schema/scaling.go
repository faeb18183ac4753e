package schema

import (
	"slices"
	"strconv"
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

// customResourceDefinition checks the name of a CustomResourceDefinition, and that objects of one of its versions are stored.
func (c *check) customResourceDefinition() {
	spec := c.root.Get("spec")
	if spec == nil {
		return
	}
	name, wanted := c.root.At("metadata", "name"), spec.StringAt("names", "plural")+"."+spec.StringAt("group")
	if name.StringAt() != "" && name.Text != wanted {
		c.refuse(name, "", "found `%s`, must be spec.names.plural and spec.group, `%s`", name.Text, wanted)
	}
	stored := 0
	versions := spec.Get("versions")
	for i := range children(versions) {
		if isTrue(versions.Children[i].Get("storage")) {
			stored++
		}
	}
	if stored != 1 {
		c.refuse(spec, "versions", "%d versions have `storage: true`, needed is one", stored)
	}
}

// fields of a schedule: what each allows, in numbers and in names.
var scheduleFields = []struct {
	name        string
	least, most int
	names       []string
}{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of the month", 1, 31, nil},
	{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{"day of the week", 0, 6, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// schedules are whole ones by name.
var schedules = []string{"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}

// schedule checks when a CronJob runs, as github.com/robfig/cron/v3 reads it for the API server.
func (c *check) schedule(n *object.Node) {
	text := n.StringAt()
	switch {
	case text == "":
		return // said elsewhere
	case strings.Contains(text, "TZ="):
		c.refuse(n, "", "a time zone is not allowed here: write it to `timeZone`")
		return
	case strings.HasPrefix(text, "@"):
		if !slices.Contains(schedules, text) && !strings.HasPrefix(text, "@every ") {
			c.refuse(n, "", "found `%s`, allowed are %s and five fields", text, strings.Join(schedules, ", "))
		}
		return
	}
	parts := strings.Fields(text)
	if len(parts) != len(scheduleFields) {
		c.refuse(n, "", "found %d fields, needed are five: minute, hour, day of the month, month, day of the week", len(parts))
		return
	}
	for i, part := range parts {
		field := scheduleFields[i]
		for _, span := range strings.Split(part, ",") {
			if !isAllowedSpan(span, field.least, field.most, field.names) {
				c.refuse(n, "", "found `%s` for the %s, allowed are %d to %d", span, field.name, field.least, field.most)
			}
		}
	}
}

// isAllowedSpan reports whether a part of a field is a number, a range or all, each with a step or without.
func isAllowedSpan(span string, least, most int, names []string) bool {
	span, step, stepped := strings.Cut(span, "/")
	if every, err := strconv.Atoi(step); stepped && (err != nil || every <= 0) {
		return false
	}
	if span == "*" || span == "?" {
		return true
	}
	from, to, isRange := strings.Cut(span, "-")
	number := func(text string) int {
		if i := slices.Index(names, strings.ToLower(text)); i >= 0 {
			return least + i
		}
		if value, err := strconv.Atoi(text); err == nil && value >= least && value <= most && text[0] != '+' {
			return value
		}
		return -1
	}
	first := number(from)
	return first >= 0 && (!isRange || number(to) >= first)
}
