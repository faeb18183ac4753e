package schema

import (
	"slices"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
)

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
