package semdiff_test

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
)

// askGroups judges sentences about many at once: titles, clauses of the verdict, and the jobs that they mean. A sentence
// holds for everything that it counts or names. The judgement counts a second time, from the effects alone. Shown is the
// same comparison as people see it, with a few effects each.
func askGroups(r, shown *semdiff.Report, told map[string]int) (wrong []string) {
	var all []*rule.Effect
	for i := range r.Entries {
		e := &r.Entries[i]
		if e.Count != len(e.Samples) {
			wrong = append(wrong, fmt.Sprintf("%s counts %d of %d effects", e.Title, e.Count, len(e.Samples)))
		}
		for j := range e.Samples {
			all = append(all, &e.Samples[j])
		}
		wrong = append(wrong, askEntry(e, told)...)
	}
	if r.Verdict != shown.Verdict {
		wrong = append(wrong, fmt.Sprintf("all effects give the verdict %s, a few give %s", r.Verdict, shown.Verdict))
	}
	for i := range min(len(r.Entries), len(shown.Entries)) {
		a, b := &r.Entries[i], &shown.Entries[i]
		same := a.Title == b.Title && a.Jobs == b.Jobs && slices.Equal(a.JobsOf, b.JobsOf)
		if a.Severity > rule.Info && !same { // information is joined if all details are known and equal
			wrong = append(wrong, fmt.Sprintf("all effects give the title %s, a few give %s", a.Title, b.Title))
		}
	}
	clauses := slices.DeleteFunc(slices.Clone(r.Clauses), func(c group.Clause) bool {
		return strings.Contains(c.Text, "smaller change")
	})
	if len(clauses) == 0 {
		return wrong
	}
	last := len(clauses) - 1
	if want := jobsSentence(all); clauses[last].Text != want {
		wrong = append(wrong, fmt.Sprintf("the verdict ends with `%s`, the effects give `%s`", clauses[last].Text, want))
	}
	for _, c := range clauses[:last] {
		if !slices.ContainsFunc(all, func(e *rule.Effect) bool {
			return e.Clause != (rule.Clause{}) && holdsClause(c.Text, e.Clause, all, told)
		}) {
			wrong = append(wrong, "no effects make it true that "+c.Text)
		}
	}
	return wrong
}

// askEntry asks an entry whether it counts and names its effects.
func askEntry(e *group.Entry, told map[string]int) (wrong []string) {
	titles, tenants, jobs := map[string]bool{}, map[string]bool{}, map[string]bool{}
	severity, impact := rule.Info, rule.JobsUntouched
	for i := range e.Samples {
		one := &e.Samples[i]
		titles[one.Title], severity, impact = true, max(severity, one.Severity), max(impact, one.Jobs)
		if one.Subject.Tenant != "" {
			tenants[one.Subject.Tenant] = true
		}
	}
	for i := range e.Samples {
		if one := &e.Samples[i]; one.Jobs == impact {
			maps.Copy(jobs, jobsOf(one))
		}
	}
	more := ""
	if n := len(titles) - 1; n > 0 {
		told["unequal groups"]++
		more = fmt.Sprintf(", and %d change", n)
	}
	title, _, _ := strings.Cut(e.Title, " like it")
	title = strings.TrimSuffix(title, "s")
	isTitle := func(own string) bool { return strings.TrimSuffix(own+more, "s") == title }
	if !slices.ContainsFunc(slices.Collect(maps.Keys(titles)), isTitle) {
		wrong = append(wrong, fmt.Sprintf("%s is said of %d titles", e.Title, len(titles)))
	}
	if severity != e.Severity || impact != e.Jobs {
		wrong = append(wrong, fmt.Sprintf("%s is %s, jobs %s, and its effects are %s, %s",
			e.Title, e.Severity, e.Jobs, severity, impact))
	}
	for tenant := range tenants {
		if !slices.Contains(e.Affected.Tenants, tenant) {
			wrong = append(wrong, e.Title+" does not name "+tenant)
		}
	}
	if !slices.Equal(e.JobsOf, slices.Sorted(maps.Keys(jobs))) {
		wrong = append(wrong, fmt.Sprintf("%s: jobs %s of %v, and the effects have those of %v", e.Title, e.Jobs, e.JobsOf, jobs))
	}
	return wrong
}

// othersLikeIt ends a sentence about some of a group.
var othersLikeIt = regexp.MustCompile(`, and \d+ changes? like it$`)

// jobsOf are the tenants whose jobs an effect is about.
func jobsOf(e *rule.Effect) map[string]bool {
	names := map[string]bool{}
	for _, name := range append(slices.Clone(e.Users), cmp.Or(e.JobsOf, e.Subject.Tenant)) {
		if name != "" {
			names[name] = true
		}
	}
	return names
}

// jobsSentence is what the effects say of running jobs.
func jobsSentence(all []*rule.Effect) string {
	worst, everybody, names := rule.JobsUntouched, false, map[string]bool{}
	for _, e := range all {
		worst = max(worst, e.Jobs)
	}
	for _, e := range all {
		if own := jobsOf(e); e.Jobs == worst {
			everybody = everybody || len(own) == 0
			maps.Copy(names, own)
		}
	}
	who := ""
	if len(names) > 0 && !everybody {
		who = " of " + subjectOf(names, "tenant")
	}
	return map[rule.JobsImpact]string{
		rule.JobsUntouched:   "running jobs are not touched",
		rule.JobsIncluded:    "running jobs go on, and it holds for them at once",
		rule.JobsHampered:    "running jobs" + who + " go on, but may fail for it",
		rule.JobsPreemptible: "running jobs may be stopped",
		rule.JobsStopped:     "running jobs" + who + " are stopped",
	}[worst]
}

// subjectOf is how a sentence names, or counts, some.
func subjectOf(names map[string]bool, noun string) string {
	list := slices.Sorted(maps.Keys(names))
	switch len(list) {
	case 1:
		if noun == "tenant" {
			return list[0]
		}
		return noun + " " + list[0]
	case 2:
		return list[0] + " and " + list[1]
	}
	return strconv.Itoa(len(list)) + " " + noun + "s"
}

// holdsClause reports whether a clause of the verdict is true: the effects with the clause are about all names in it, or
// about as many as it counts.
func holdsClause(text string, c rule.Clause, all []*rule.Effect, told map[string]int) bool {
	text = othersLikeIt.ReplaceAllString(text, "")
	places := map[string]map[string]map[string]bool{"tenant": {}, "runtime": {}, "cluster": {}} // noun, name, clusters
	note := func(noun, name, cluster string) {
		if name != "" && places[noun][name] == nil {
			places[noun][name] = map[string]bool{}
		}
		if name != "" {
			places[noun][name][cluster] = true
		}
	}
	for _, e := range all {
		if s := &e.Subject; e.Clause == c {
			for _, name := range append(slices.Clone(e.Users), s.Tenant) {
				note("tenant", name, s.Cluster)
			}
			note("runtime", s.Runtime, s.Cluster)
			note("cluster", s.Cluster, s.Cluster)
		}
	}
	first, verbRest, _ := strings.Cut(c.Verb, " ")
	verbRest = strings.TrimSpace(verbRest + " " + c.Rest)
	said := regexp.MustCompile(`^(.*) ` + first + `e?s? ?` + regexp.QuoteMeta(verbRest) +
		`( each)?( on each of \d+ clusters)?( on .*)?$`)
	if irregular := map[string]string{"are": "(?:is|are)", "have": "(?:has|have)"}[first]; irregular != "" {
		said = regexp.MustCompile(strings.Replace(said.String(), first+"e?s?", irregular, 1))
	}
	found := said.FindStringSubmatch(text)
	if found == nil {
		return false
	}
	if c.Of != "" {
		return found[1] == c.Of
	}
	for noun, names := range places {
		who := namedOrCounted(found[1], noun, names)
		if who == nil {
			continue
		}
		if len(who) > 1 {
			told["clauses of several"]++
		}
		return !slices.ContainsFunc(who, func(name string) bool { return !holdsOnClusters(found[3]+found[4], names[name]) })
	}
	return false
}

// namedOrCounted returns the names in the subject of a sentence, or as many as it counts; nil if it is about others, or
// about too many.
func namedOrCounted(subject, noun string, names map[string]map[string]bool) []string {
	if count, found := strings.CutSuffix(subject, " "+noun+"s"); found {
		if n, err := strconv.Atoi(count); err == nil && n <= len(names) {
			return slices.Sorted(maps.Keys(names))[:n]
		}
	}
	if noun != "tenant" {
		subject = strings.TrimPrefix(subject, noun+" ")
	}
	who := strings.Split(subject, " and ")
	if slices.ContainsFunc(who, func(name string) bool { return names[name] == nil }) {
		return nil
	}
	return who
}

// holdsOnClusters reports whether the end of a clause is true of one who has it on some clusters.
func holdsOnClusters(end string, clusters map[string]bool) bool {
	var n int
	if _, err := fmt.Sscanf(end, " on each of %d clusters", &n); err == nil {
		return n <= len(clusters)
	}
	if _, err := fmt.Sscanf(end, " on %d clusters", &n); err == nil {
		return n <= len(clusters)
	}
	names := strings.Split(strings.TrimPrefix(strings.TrimPrefix(end, " on "), "cluster "), " and ")
	return end == "" || slices.ContainsFunc(names, func(name string) bool { return clusters[name] })
}
