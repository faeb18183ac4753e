package semdiff

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// groups collect effects as entries, so that a thousand equal ones cost no more than a few.
type groups struct {
	byKey   map[key]*group
	samples int
	keep    bool
}

// key is what effects of one entry share.
type key struct {
	rule        string
	consequence Consequence
	before      place
	after       place
	// title tells apart what no line of a spec is responsible for.
	title  string
	aspect aspect
}

// place is a span without the file behind it.
type place struct {
	path               string
	line, column, size int
}

func placeOf(s source.Span) place { return place{s.Path(), s.Line, s.Column, s.Length} }

// group is an entry that grows.
type group struct {
	entry  Entry
	aspect aspect
	titles map[string]bool
	blast  [4]map[string]bool
	// runtimes are those that concern all of their users, by cluster; spaces are namespaces whose tenant is not known yet.
	runtimes, spaces map[string]map[string]bool
	// befores and afters are the places of the parts that were joined.
	befores, afters []source.Span
}

// The sets of group.blast.
const (
	inClusters = iota
	inTenants
	inNamespaces
	inRuntimes
)

func (g *groups) add(e Effect) {
	k := key{rule: e.Rule, consequence: e.Consequence, before: placeOf(e.Before), after: placeOf(e.After), aspect: e.aspect}
	if e.Before.IsZero() && e.After.IsZero() {
		k.title = e.Title
	}
	known := g.byKey[k]
	if known == nil {
		known = &group{
			entry: Entry{Rule: e.Rule, Consequence: e.Consequence, Before: e.Before, After: e.After}, aspect: e.aspect, titles: map[string]bool{},
			runtimes: map[string]map[string]bool{}, spaces: map[string]map[string]bool{},
		}
		for i := range known.blast {
			known.blast[i] = map[string]bool{}
		}
		g.byKey[k] = known
	}
	known.add(e, g)
}

func (g *group) add(e Effect, all *groups) {
	entry := &g.entry
	entry.Count++
	entry.Values += len(e.Changes)
	entry.Severity, entry.Jobs = max(entry.Severity, e.Severity), max(entry.Jobs, e.Jobs)
	if len(g.titles) < 100 {
		g.titles[e.Title] = true
	}
	for i, name := range [...]string{inClusters: e.Subject.Cluster, inTenants: e.Subject.Tenant, inNamespaces: e.Subject.Namespace, inRuntimes: e.Subject.Runtime} {
		if name != "" {
			g.blast[i][name] = true
		}
	}
	switch s := &e.Subject; {
	case s.Tenant != "":
	case s.Namespace != "":
		note(g.spaces, s.Cluster, s.Namespace)
	case s.Runtime != "":
		note(g.runtimes, s.Cluster, s.Runtime)
	}
	all.sample(entry, e)
}

// joined returns the groups; those that one line on one side has brought about are one, though the lines of the other side are many: a
// patch for all tenants, where each of them had its own line before.
func (g *groups) joined() []*group {
	all := slices.Collect(maps.Values(g.byKey))
	all = g.share(all, func(e *Entry) (one, other *source.Span) { return &e.After, &e.Before })
	all = g.share(all, func(e *Entry) (one, other *source.Span) { return &e.Before, &e.After })
	for _, joined := range all {
		joined.placeAgain()
	}
	return all
}

// placeAgain gives an entry that was joined the one place that its parts had on a side, where they had no other one.
func (g *group) placeAgain() {
	if len(g.befores) == 1 && g.entry.Before.IsZero() {
		g.entry.Before = g.befores[0]
	}
	if len(g.afters) == 1 && g.entry.After.IsZero() {
		g.entry.After = g.afters[0]
	}
}

// share joins groups that have the one place in common, where the other places are in several files.
func (g *groups) share(all []*group, places func(*Entry) (one, other *source.Span)) []*group {
	buckets := map[key][]*group{}
	for _, one := range all {
		at, _ := places(&one.entry)
		k := key{rule: one.entry.Rule, consequence: one.entry.Consequence, after: placeOf(*at), aspect: one.aspect}
		if at.IsZero() {
			k.title = "\x00" + one.entry.Title + one.entry.Before.String() + one.entry.After.String() + one.entry.Samples[0].Title
		}
		buckets[k] = append(buckets[k], one)
	}
	var result []*group
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
		first.note(first)
		_, other := places(&first.entry)
		*other = source.Span{}
		for _, next := range bucket[1:] {
			first.join(next, g)
		}
		result = append(result, first)
	}
	return result
}

// note remembers the places of a part.
func (g *group) note(part *group) {
	add := func(known []source.Span, at source.Span) []source.Span {
		if at.IsZero() || slices.ContainsFunc(known, func(other source.Span) bool { return placeOf(other) == placeOf(at) }) {
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

// join adds all of another group.
func (g *group) join(next *group, all *groups) {
	e, n := &g.entry, &next.entry
	g.note(next)
	e.Count, e.Values = e.Count+n.Count, e.Values+n.Values
	e.Severity, e.Jobs = max(e.Severity, n.Severity), max(e.Jobs, n.Jobs)
	maps.Copy(g.titles, next.titles)
	for i := range g.blast {
		maps.Copy(g.blast[i], next.blast[i])
	}
	for cluster, runtimes := range next.runtimes {
		note(g.runtimes, cluster, slices.Collect(maps.Keys(runtimes))...)
	}
	for cluster, spaces := range next.spaces {
		note(g.spaces, cluster, slices.Collect(maps.Keys(spaces))...)
	}
	for i := range n.Samples {
		all.sample(e, n.Samples[i])
	}
}

// sample keeps an effect if it is among the first in their order, whatever the order in which effects come.
func (g *groups) sample(entry *Entry, e Effect) {
	at, _ := slices.BinarySearchFunc(entry.Samples, e, compareEffects)
	if at < g.samples || g.keep {
		entry.Samples = slices.Insert(entry.Samples, at, e)
	}
	if len(entry.Samples) > g.samples && !g.keep {
		entry.Samples = entry.Samples[:g.samples]
	}
}

// compareEffects puts the gravest first.
func compareEffects(a, b Effect) int {
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

func note(sets map[string]map[string]bool, cluster string, names ...string) {
	if sets[cluster] == nil {
		sets[cluster] = map[string]bool{}
	}
	for _, name := range names {
		sets[cluster][name] = true
	}
}

// finish returns the entry. It needs the clusters to know who uses a runtime, and whose a namespace is.
func (g *group) finish(clusters map[string]*cluster) Entry {
	entry := g.entry
	for name, runtimes := range g.runtimes {
		for runtime := range runtimes {
			for _, tenant := range clusters[name].users(runtime) {
				g.blast[inTenants][tenant] = true
			}
		}
	}
	for name, spaces := range g.spaces {
		for space := range spaces {
			if owner := clusters[name].owner(space); owner != "" {
				g.blast[inTenants][owner] = true
			}
		}
	}
	for i := range entry.Samples {
		if s := &entry.Samples[i].Subject; s.Tenant == "" && s.Namespace != "" {
			s.Tenant = clusters[s.Cluster].owner(s.Namespace)
		}
	}
	entry.Blast = Blast{
		Clusters: list(g.blast[inClusters]), Tenants: list(g.blast[inTenants]),
		Namespaces: list(g.blast[inNamespaces]), Runtimes: list(g.blast[inRuntimes]),
	}
	first := &entry.Samples[0]
	entry.Title, entry.Gist, entry.Help = first.Title, first.Gist, first.Help
	if more := len(g.titles) - 1; more > 0 {
		entry.Title += fmt.Sprintf(", and %s like it", plural(more, "change"))
	}
	return entry
}

func list(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

// plural returns for example `1 tenant` and `2 tenants`.
func plural(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		noun = strings.TrimSuffix(noun, "y") + "ie"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// report puts everything together.
func (c *Comparison) report() Report {
	r := Report{Findings: c.findings, Totals: Totals{Units: c.units}}
	r.Findings.Waivers = c.waivers
	for _, name := range slices.Sorted(maps.Keys(c.clusters)) {
		known := c.clusters[name]
		known.finish(c)
		r.Clusters = append(r.Clusters, known.report())
		r.Totals.add(&known.totals)
	}
	r.Totals.Values += c.tellSpecs()
	for _, g := range c.groups.joined() {
		r.Entries = append(r.Entries, g.finish(c.clusters))
	}
	for i := range r.Entries {
		c.findings.judge(&r.Entries[i])
		r.Totals.BySeverity[r.Entries[i].Severity]++
	}
	slices.SortFunc(r.Entries, compareEntries)
	r.Verdict = r.verdict() + r.Findings.waivers()
	return r
}

func (t *Totals) add(other *Totals) {
	t.Objects, t.Added, t.Removed = t.Objects+other.Objects, t.Added+other.Added, t.Removed+other.Removed
	t.Changed, t.Renamed, t.Values = t.Changed+other.Changed, t.Renamed+other.Renamed, t.Values+other.Values
}

func compareEntries(a, b Entry) int {
	return cmp.Or(
		-cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Consequence.rank(), b.Consequence.rank()), -cmp.Compare(a.Blast.Size(), b.Blast.Size()),
		comparePlaces(placeOf(a.After), placeOf(b.After)), comparePlaces(placeOf(a.Before), placeOf(b.Before)),
		strings.Compare(a.Rule, b.Rule), strings.Compare(a.Title, b.Title),
	)
}

func comparePlaces(a, b place) int {
	return cmp.Or(strings.Compare(a.path, b.path), cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column), cmp.Compare(a.size, b.size))
}
