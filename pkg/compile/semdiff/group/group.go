// Package group puts together what rules say about the changes of clusters: equal effects with one cause are one Entry, whatever the number
// of tenants. It decides how severe an entry is, what accepts it, in which order entries come, and what the verdict is. It does not know
// the changes behind an effect, nor the rules, nor how a report is written.
package group

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Groups collect effects as entries, so that a thousand equal ones cost no more than a few. Effects come in any order.
type Groups struct {
	byKey map[groupKey]*growingEntry
	// samples is how many effects an entry keeps.
	samples int
}

// New returns no groups. Samples is how many effects an Entry keeps, the most severe first.
func New(samples int) *Groups { return &Groups{byKey: map[groupKey]*growingEntry{}, samples: samples} }

// groupKey is what effects of one entry share.
type groupKey struct {
	rule        string
	consequence rule.Consequence
	before      match.Position
	after       match.Position
	// title tells apart what no line of a spec is responsible for.
	title  string
	aspect rule.Aspect
}

// growingEntry is an entry that grows.
type growingEntry struct {
	entry    Entry
	aspect   rule.Aspect
	titles   map[string]bool
	affected affectedSets
	// clauses are the names that each clause speaks of, at most maxTitles.
	clauses map[rule.Clause]*affectedSets
	jobs    map[string]bool
	// befores and afters are the places of the parts that were joined.
	befores, afters []source.Span
}

// affectedSets are the names that effects are about.
type affectedSets [4]map[string]bool

func newAffectedSets() affectedSets { return affectedSets{{}, {}, {}, {}} }

func (a *affectedSets) add(e *rule.Effect) {
	s := &e.Subject
	subject := [...]string{inClusters: s.Cluster, inTenants: s.Tenant, inNamespaces: s.Namespace, inRuntimes: s.Runtime}
	for i, name := range subject {
		if name != "" {
			a[i][name] = true
		}
	}
	for _, tenant := range e.Users {
		a[inTenants][tenant] = true
	}
}

func (a *affectedSets) join(other *affectedSets) {
	for i := range a {
		maps.Copy(a[i], other[i])
	}
}

func (a *affectedSets) names() AffectedNames {
	return AffectedNames{
		Clusters: sortedNames(a[inClusters]), Tenants: sortedNames(a[inTenants]),
		Namespaces: sortedNames(a[inNamespaces]), Runtimes: sortedNames(a[inRuntimes]),
	}
}

// The sets of affectedSets.
const (
	inClusters = iota
	inTenants
	inNamespaces
	inRuntimes
)

// maxTitles is how many titles of an entry are told apart: beyond, they are counted as equal.
const maxTitles = 100

// Add takes an effect.
func (g *Groups) Add(e rule.Effect) {
	k := groupKey{rule: e.Rule, consequence: e.Consequence, before: match.PositionOf(e.Before), after: match.PositionOf(e.After), aspect: e.Aspect}
	if e.Before.IsZero() && e.After.IsZero() {
		k.title = e.Title
	}
	known := g.byKey[k]
	if known == nil {
		known = &growingEntry{
			entry:  Entry{Rule: e.Rule, Consequence: e.Consequence, Before: e.Before, After: e.After},
			aspect: e.Aspect, titles: map[string]bool{}, jobs: map[string]bool{},
			affected: newAffectedSets(), clauses: map[rule.Clause]*affectedSets{},
		}
		g.byKey[k] = known
	}
	known.addEffect(e, g.samples)
}

// Entries returns what was collected, with the waivers that accept it, the most severe first.
func (g *Groups) Entries(f *Findings) []Entry {
	var entries []Entry
	for _, joined := range g.joinByLine() {
		e := joined.finishedEntry()
		f.attachWaivers(&e)
		entries = append(entries, e)
	}
	slices.SortFunc(entries, compareEntries)
	return entries
}

func (g *growingEntry) addEffect(e rule.Effect, samples int) {
	entry := &g.entry
	entry.Count++
	entry.Values += len(e.Changes)
	g.noteJobs(e.Jobs, func() { g.noteJobsOf(&e) })
	entry.Severity = max(entry.Severity, e.Severity)
	if len(g.titles) < maxTitles {
		g.titles[e.Title] = true
	}
	g.affected.add(&e)
	if g.clauses[e.Clause] == nil && len(g.clauses) < maxTitles {
		sets := newAffectedSets()
		g.clauses[e.Clause] = &sets
	}
	if sets := g.clauses[e.Clause]; sets != nil {
		sets.add(&e)
	}
	entry.keepSample(e, samples)
}

// noteJobs notes what becomes of running jobs, and whose they are: only those of the most severe impact are meant.
func (g *growingEntry) noteJobs(jobs rule.JobsImpact, note func()) {
	if jobs > g.entry.Jobs {
		clear(g.jobs)
		g.entry.Jobs, g.entry.AllJobs = jobs, false
	}
	if jobs == g.entry.Jobs {
		note()
	}
}

// noteJobsOf notes whose running jobs an effect is about.
func (g *growingEntry) noteJobsOf(e *rule.Effect) {
	switch {
	case e.JobsOf != "":
		g.jobs[e.JobsOf] = true
	case e.Subject.Tenant != "":
		g.jobs[e.Subject.Tenant] = true
	case len(e.Users) == 0 && e.Jobs > rule.JobsUntouched:
		g.entry.AllJobs = true
	}
	for _, tenant := range e.Users {
		g.jobs[tenant] = true
	}
}

// joinByLine returns the groups; those that one line on one side has brought about are one, though the lines of the other side are many: a
// patch for all tenants, where each of them had its own line before.
func (g *Groups) joinByLine() []*growingEntry {
	all := slices.Collect(maps.Values(g.byKey))
	all = g.joinByPlace(all, func(e *Entry) (one, other *source.Span) { return &e.After, &e.Before })
	all = g.joinByPlace(all, func(e *Entry) (one, other *source.Span) { return &e.Before, &e.After })
	all = g.joinAlike(all)
	for _, joined := range all {
		joined.restorePlace()
	}
	return all
}

// restorePlace gives an entry that was joined the one place that its parts had on a side, where they had no other one.
func (g *growingEntry) restorePlace() {
	if len(g.befores) == 1 && g.entry.Before.IsZero() {
		g.entry.Before = g.befores[0]
	}
	if len(g.afters) == 1 && g.entry.After.IsZero() {
		g.entry.After = g.afters[0]
	}
}

// joinByPlace joins groups that have the one place in common, where the other places are in several files.
func (g *Groups) joinByPlace(all []*growingEntry, places func(*Entry) (one, other *source.Span)) []*growingEntry {
	var result []*growingEntry
	buckets := map[groupKey][]*growingEntry{}
	for _, one := range all {
		at, _ := places(&one.entry)
		if at.IsZero() {
			result = append(result, one)
			continue
		}
		k := groupKey{rule: one.entry.Rule, consequence: one.entry.Consequence, after: match.PositionOf(*at), aspect: one.aspect}
		buckets[k] = append(buckets[k], one)
	}
	for _, bucket := range buckets {
		files := map[string]bool{}
		for _, one := range bucket {
			_, other := places(&one.entry)
			files[other.Path()] = true
		}
		if len(files) < 2 {
			result = append(result, bucket...)
			continue
		}
		first := bucket[0]
		first.notePlaces(first)
		_, other := places(&first.entry)
		*other = source.Span{}
		for _, next := range bucket[1:] {
			first.joinGroup(next, g.samples)
		}
		result = append(result, first)
	}
	return result
}

// joinAlike joins what is information only and the same change in several files for the same clusters: the version of a chart, which each of
// its templates has in a label.
func (g *Groups) joinAlike(all []*growingEntry) []*growingEntry {
	type change struct{ rule, title, detail, clusters string }
	var result []*growingEntry
	first := map[change]*growingEntry{}
	for _, one := range all {
		detail, alike := one.commonDetail()
		if one.entry.Severity != rule.Info || !alike {
			result = append(result, one)
			continue
		}
		c := change{one.entry.Rule, one.entry.Samples[0].Title, detail, strings.Join(sortedNames(one.affected[inClusters]), " ")}
		if known := first[c]; known != nil {
			known.joinGroup(one, g.samples)
			continue
		}
		one.notePlaces(one)
		first[c] = one
		result = append(result, one)
	}
	for _, one := range first {
		if len(one.befores) > 1 || len(one.afters) > 1 {
			one.entry.Before, one.entry.After = source.Span{}, source.Span{}
		}
	}
	return result
}

// commonDetail returns the detail of all effects, and whether they have the same one.
func (g *growingEntry) commonDetail() (detail string, same bool) {
	samples := g.entry.Samples
	if len(samples) < g.entry.Count {
		return "", false
	}
	for _, e := range samples[1:] {
		if e.Detail != samples[0].Detail {
			return "", false
		}
	}
	return samples[0].Detail, samples[0].Detail != ""
}

// notePlaces remembers the places of a part.
func (g *growingEntry) notePlaces(part *growingEntry) {
	add := func(known []source.Span, at source.Span) []source.Span {
		if at.IsZero() || slices.ContainsFunc(known, func(other source.Span) bool { return match.PositionOf(other) == match.PositionOf(at) }) {
			return known
		}
		return append(known, at)
	}
	for _, at := range append(slices.Clone(part.befores), part.entry.Before) {
		g.befores = add(g.befores, at)
	}
	for _, at := range append(slices.Clone(part.afters), part.entry.After) {
		g.afters = add(g.afters, at)
	}
}

// joinGroup adds all of another group.
func (g *growingEntry) joinGroup(next *growingEntry, samples int) {
	e, n := &g.entry, &next.entry
	g.notePlaces(next)
	e.Count, e.Values = e.Count+n.Count, e.Values+n.Values
	g.noteJobs(n.Jobs, func() {
		maps.Copy(g.jobs, next.jobs)
		e.AllJobs = e.AllJobs || n.AllJobs
	})
	e.Severity = max(e.Severity, n.Severity)
	maps.Copy(g.titles, next.titles)
	g.affected.join(&next.affected)
	for clause, sets := range next.clauses {
		if known := g.clauses[clause]; known != nil {
			known.join(sets)
		} else if len(g.clauses) < maxTitles {
			g.clauses[clause] = sets
		}
	}
	for i := range n.Samples {
		e.keepSample(n.Samples[i], samples)
	}
}

// keepSample keeps an effect if it is among the first in their order, whatever the order in which effects come.
func (e *Entry) keepSample(one rule.Effect, most int) {
	at, _ := slices.BinarySearchFunc(e.Samples, one, compareEffects)
	if at < most {
		e.Samples = slices.Insert(e.Samples, at, one)
	}
	e.Samples = e.Samples[:min(most, len(e.Samples))]
}

// compareEffects puts the most severe first.
func compareEffects(a, b rule.Effect) int {
	return cmp.Or(
		-cmp.Compare(a.Severity, b.Severity), compareNamed(a.Subject.Tenant, b.Subject.Tenant), strings.Compare(a.Subject.Cluster, b.Subject.Cluster),
		strings.Compare(a.Subject.Namespace, b.Subject.Namespace), strings.Compare(a.Subject.Runtime, b.Subject.Runtime),
		strings.Compare(a.Subject.Object, b.Subject.Object), strings.Compare(a.Subject.Path, b.Subject.Path),
		strings.Compare(a.Title, b.Title), strings.Compare(a.Detail, b.Detail),
	)
}

// compareNamed puts what has a name before what has none.
func compareNamed(a, b string) int {
	if (a == "") != (b == "") {
		return cmp.Compare(len(b), len(a))
	}
	return strings.Compare(a, b)
}

// finishedEntry returns the entry.
func (g *growingEntry) finishedEntry() Entry {
	entry := g.entry
	entry.Affected = g.affected.names()
	entry.JobsOf = sortedNames(g.jobs)
	first := &entry.Samples[0]
	entry.Title, entry.Clause, entry.Help = first.Title, first.Clause, first.Help
	entry.speaksOf = entry.Affected
	if sets := g.clauses[first.Clause]; sets != nil && slices.ContainsFunc([]int{inClusters, inTenants, inRuntimes}, func(i int) bool {
		return len(sets[i]) < len(g.affected[i])
	}) {
		// Others have another clause, with another group, amount or right: the first one is not about them.
		entry.speaksOf, entry.otherClauses = sets.names(), len(g.clauses)-1
	}
	if more := len(g.titles) - 1; more > 0 {
		entry.Title += ", and " + rule.Plural(more, "change") + " like it"
	}
	return entry
}

func sortedNames(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

func compareEntries(a, b Entry) int {
	return cmp.Or(
		-cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Consequence.Rank(), b.Consequence.Rank()), -cmp.Compare(a.Affected.Size(), b.Affected.Size()),
		match.PositionOf(a.After).Compare(match.PositionOf(b.After)), match.PositionOf(a.Before).Compare(match.PositionOf(b.Before)),
		strings.Compare(a.Rule, b.Rule), strings.Compare(a.Title, b.Title),
	)
}
