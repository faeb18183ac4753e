package semdiff

import (
	"slices"
	"strings"
)

var quotaRule = &Rule{
	Name: "quota", Title: "Quotas, queues and priorities",
	Doc: "Who is guaranteed how much, may borrow how much, and goes first: ClusterQueues, cohorts, ResourceQuotas, flavors, priorities. " +
		"The entry has the difference per profile and resource, and for a cohort what it has in all afterwards, so that machines which only " +
		"move between its members are seen as that. A guarantee that shrinks in a cohort makes running jobs preemptible: what they use above it counts as " +
		"borrowed, and others may reclaim it. Without a cohort Kueue stops nothing. A ResourceQuota that shrinks stops no pod, but refuses the next one.",
	Says: []Consequence{GrowsQuota, ShrinksQuota, ReordersQueue, AdmitsLess, AdmitsMore, NewJobsOnly, AddsObjects, DeletesObjects, RestartsNothing, NoEffect},
	claims: func(c *Change) bool {
		kind := c.Kind()
		switch {
		case c.tenancy() || !c.Whole() && c.Path[0] == "metadata":
			return false
		case kind == "ResourceQuota" || kind == "PriorityClass":
			return true
		}
		return c.Object().ID.Group == "kueue.x-k8s.io"
	},
	cluster: func(c *cluster, changes []*Change) []Effect {
		var effects []Effect
		for _, object := range byObject(changes) {
			switch object[0].Kind() {
			case "ClusterQueue", "Cohort", "ResourceQuota":
				effects = append(effects, c.quota(object)...)
			default:
				effects = append(effects, c.queueing(object)...)
			}
		}
		return effects
	},
}

// quota says what becomes of what a tenant, a cohort or a namespace has.
func (c *cluster) quota(changes []*Change) []Effect {
	id := changes[0].Object().ID
	name := called(id)
	was, is := c.was.queues.get(name), c.is.queues.get(name)
	if before := changes[0].Before; before != nil {
		was = c.was.queues.get(called(before.ID))
	}
	var effects []Effect
	if was.equal(is) && !changes[0].Whole() {
		var same []*Change
		same, changes = modelled(changes)
		if len(same) > 0 {
			effects = append(effects, c.effect(same, NoEffect, Info, "the queue gives the same as before", shownAll(same)))
		}
	}
	for _, part := range parts(changes) {
		effects = append(effects, c.quotaPart(name, part, was, is)...)
	}
	return effects
}

// modelled divides changes into those that a queue has everything of, and the others.
func modelled(changes []*Change) (known, other []*Change) {
	for _, c := range changes {
		switch p := c.Path; {
		case p.Is("spec", "cohort"), p.Is("spec", "cohortName"), p.Is("spec", "parent"), p.Is("spec", "parentName"), p.Is("spec", "hard", "*"),
			p.Is("spec", "preemption", "**"), p.Is("spec", "namespaceSelector", "**"), p.Is("spec", "resourceGroups", "**") && isModelled(c):
			known = append(known, c)
		default:
			other = append(other, c)
		}
	}
	return known, other
}

// isModelled says whether a queue has everything that is known of a part of a resource group.
func isModelled(c *Change) bool {
	switch c.Path.Last() {
	case "nominalQuota", "borrowingLimit", "lendingLimit", "name":
		return true
	}
	return len(c.Path) > 2 && slices.Contains([]string{"coveredResources", "flavors", "resources", "resourceGroups"}, c.Path[len(c.Path)-2])
}

// quotaPart is what one line changes.
func (c *cluster) quotaPart(name string, part []*Change, was, is *queue) []Effect {
	var grown, shrunk, first, other, lending []*Change
	for _, change := range part {
		switch p := change.Path; {
		case p.Last() == "lendingLimit":
			lending = append(lending, change)
		case change.Whole() && change.Added(), quotaTrend(change) == more:
			grown = append(grown, change)
		case change.Whole(), quotaTrend(change) == less:
			shrunk = append(shrunk, change)
		case p.Has("preemption") || p.Last() == "flavors" || p.Has("flavorFungibility") || p.Has("fairSharing") || p.Last() == "queueingStrategy" || p.Has("admissionScope"):
			first = append(first, change)
		default:
			other = append(other, change)
		}
	}
	var effects []Effect
	if len(grown) > 0 {
		effects = append(effects, c.amountsEffect(name, grown, was, is, GrowsQuota))
	}
	if len(shrunk) > 0 {
		effects = append(effects, c.amountsEffect(name, shrunk, was, is, ShrinksQuota))
	}
	if len(lending) > 0 {
		effects = append(effects, c.lending(lending, was, is))
	}
	if len(first) > 0 {
		effects = append(effects, c.goesFirst(first))
	}
	if len(other) > 0 {
		effects = append(effects, c.membership(other, was, is)...)
	}
	return effects
}

// goesFirst is whom a queue stops, and what it takes first.
func (c *cluster) goesFirst(part []*Change) Effect {
	if slices.ContainsFunc(part, func(change *Change) bool {
		return change.Path.Has("preemption") && change.New.Scalar() != "Never" && change.New != nil
	}) {
		return c.effect(part, ReordersQueue, Warning, "a queue may stop running jobs for its own", shownAll(part)).with("may", "stop running jobs for waiting ones").to(Preemptible)
	}
	return c.effect(part, ReordersQueue, Notice, "whom a queue stops, and what it takes first, changes", shownAll(part)).with("have", "another order in the queue")
}

// lending is how much others may borrow of a queue. Without a bound it is everything.
func (c *cluster) lending(part []*Change, was, is *queue) Effect {
	var details []string
	keys := touchedKeys(part, was, is)
	for _, key := range keys {
		details = append(details, describe(key, part, was.amounts[key], is.amounts[key]))
	}
	if trendOf(part[0].Old, part[0].New) == more && part[0].Old != nil || part[0].New == nil {
		return c.effect(part, GrowsQuota, Notice, "more may be lent to others", strings.Join(details, "; ")).with("lend", "more to others")
	}
	return c.effect(part, ShrinksQuota, Warning, "less may be lent: others may borrow less", strings.Join(details, "; ")).with("lend", "less to others").to(Preemptible)
}

// quotaTrend says whether an amount lets somebody have more. A bound that is missing is none: everything may be borrowed, lent, used.
func quotaTrend(c *Change) trend {
	towards := trendOf(c.Old, c.New)
	last := c.Path.Last()
	bound := last == "borrowingLimit" || c.Path.Is("spec", "hard", "*")
	switch {
	case bound && c.Added():
		towards = less
	case bound && c.Removed():
		towards = more
	case c.Path.Has("flavors") && (c.Added() || c.Removed()) && last != "flavors":
		return presence(c)
	case last != "nominalQuota" && !bound:
		return unknown
	}
	return towards
}

// amountsEffect says how much is gained or lost.
func (c *cluster) amountsEffect(name string, part []*Change, was, is *queue, consequence Consequence) Effect {
	keys := touchedKeys(part, was, is)
	severity, title, verb, jobs := Notice, "more quota"+ofWhat(keys), "gain", Untouched
	if consequence == ShrinksQuota {
		severity, title, verb = Warning, "less quota"+ofWhat(keys), "lose"
		jobs = Untouched
		switch {
		case strings.HasPrefix(name, "ResourceQuota "):
			jobs = Hampered
		case was.cohort != "":
			jobs = Preemptible
		}
	}
	var details []string
	for _, key := range keys {
		details = append(details, describe(key, part, was.amounts[key], is.amounts[key]))
	}
	cohort, own := strings.CutPrefix(name, "Cohort ")
	if !own {
		cohort = or(is.cohort, was.cohort)
	}
	if cohort != "" && len(keys) > 0 && strings.Contains(details[0], "guaranteed") {
		details = append(details, c.inCohort(name, cohort, keys[0])...)
	}
	e := c.effect(part, consequence, severity, title, strings.Join(details, "; ")).to(jobs)
	e.Gist = gistOf(verb, keys, was, is)
	if own {
		e.Gist.Of = "the cohort " + cohort
	}
	return e
}

// ofWhat names the resources, the scarcest first: `: nvidia.com/gpu, cpu, memory`.
func ofWhat(keys []quotaKey) string {
	var names []string
	for _, key := range keys {
		name := strings.TrimPrefix(key.resource, "requests.")
		if counted, found := strings.CutPrefix(name, "count/"); found {
			name, _, _ = strings.Cut(counted, ".")
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ": " + few(3, names)
}

// touchedKeys are the flavors and resources that some changes are about, the scarcest first; a whole object is about all of its own.
func touchedKeys(part []*Change, was, is *queue) []quotaKey {
	var found []quotaKey
	for _, key := range keysOf(was, is) {
		a, b := was.amounts[key], is.amounts[key]
		if key.flavor != "" {
			a.Nominal, b.Nominal = or(a.Nominal, "0"), or(b.Nominal, "0")
		}
		if sameAmounts(a, b) || key.flavor != "" && sameAmount(a.Nominal, "0") && sameAmount(b.Nominal, "0") && a.Borrowing == b.Borrowing && part[0].Whole() {
			continue
		}
		if slices.ContainsFunc(part, func(c *Change) bool { return c.Whole() || aboutKey(c.Path, key) }) {
			found = append(found, key)
		}
	}
	slices.SortStableFunc(found, func(a, b quotaKey) int { return scarce(b.resource) - scarce(a.resource) })
	return found
}

func aboutKey(p Path, key quotaKey) bool {
	if key.flavor == "" {
		return p.Is("spec", "hard", key.resource)
	}
	for i, k := range p {
		if k == "flavors" && i+1 < len(p) && p[i+1] == key.flavor {
			return !p.Has("resources") || p.Has(key.resource)
		}
	}
	return !p.Has("flavors")
}

// describe is for example `nvidia.com/gpu of h100: 64 → 32 guaranteed`, with those fields that the changes are about.
func describe(key quotaKey, part []*Change, was, is Amounts) string {
	what := key.resource
	if key.flavor == "" {
		return what + ": " + or(was.Nominal, "any") + " → " + or(is.Nominal, "any")
	}
	var changes []string
	for _, field := range []struct{ name, words, none, was, is string }{
		{"nominalQuota", "guaranteed", "0", was.Nominal, is.Nominal}, {"borrowingLimit", "may be borrowed", "any", without(was, was.Borrowing, is.Borrowing), without(is, is.Borrowing, was.Borrowing)},
		{"lendingLimit", "may be lent", "any", without(was, was.Lending, is.Lending), without(is, is.Lending, was.Lending)},
	} {
		about := slices.ContainsFunc(part, func(c *Change) bool {
			return c.Path.Last() == field.name || !strings.HasSuffix(c.Path.Last(), "Limit") && c.Path.Last() != "nominalQuota"
		})
		if about && field.was != field.is && !sameAmount(field.was, field.is) {
			changes = append(changes, or(field.was, field.none)+" → "+or(field.is, field.none)+" "+field.words)
		}
	}
	return what + " of " + key.flavor + ": " + strings.Join(changes, ", ")
}

// without is a bound of a resource where the other side has one: a queue that has none of the resource neither borrows nor lends.
func without(of Amounts, bound, other string) string {
	if of.Nominal == "" && bound == "" && other != "" {
		return "0"
	}
	return bound
}

// inCohort says what a cohort has in all of a resource, and who may borrow less.
func (c *cluster) inCohort(name, cohort string, key quotaKey) []string {
	before, after := c.was.queues.total(cohort, key), c.is.queues.total(cohort, key)
	a, b, ok := amounts(before, after)
	what := " " + key.resource + " of " + key.flavor
	switch others := c.is.queues.members(cohort, name); {
	case !ok:
		return nil
	case a.Cmp(b) == 0:
		// How much that is nobody knows who has not all members.
		return []string{"the cohort " + cohort + " keeps what it has of" + what + " in all"}
	case a.Cmp(b) < 0:
		return []string{"the cohort " + cohort + " has " + difference(before, after) + what + " more in all"}
	case len(others) > 0:
		return []string{"the cohort " + cohort + " has " + difference(before, after) + what + " less in all, which " + strings.Join(others, ", ") + " can no longer borrow"}
	}
	return []string{"the cohort " + cohort + " has " + difference(before, after) + what + " less in all"}
}

// gistOf names the scarcest resource that changes.
func gistOf(verb string, keys []quotaKey, was, is *queue) Gist {
	if len(keys) == 0 {
		return Gist{Verb: verb, Rest: "quota"}
	}
	key := keys[0]
	a, b := was.amounts[key], is.amounts[key]
	switch {
	case a.Nominal != b.Nominal && key.flavor != "":
		return Gist{Verb: verb, Rest: difference(a.Nominal, b.Nominal) + " guaranteed " + key.resource}
	case a.Nominal != b.Nominal && a.Nominal == "":
		return Gist{Verb: "are", Rest: "bound in " + key.resource}
	case a.Nominal != b.Nominal && b.Nominal == "":
		return Gist{Verb: "are", Rest: "no longer bound in " + key.resource}
	case a.Nominal != b.Nominal:
		return Gist{Verb: verb, Rest: difference(a.Nominal, b.Nominal) + " of quota for " + key.resource}
	}
	return Gist{Verb: verb, Rest: bound(a.Borrowing, b.Borrowing) + key.resource + " that may be borrowed"}
}

func bound(was, is string) string {
	if was == "" || is == "" {
		return ""
	}
	return difference(was, is) + " "
}

func scarce(resource string) int {
	switch {
	case strings.Contains(resource, "gpu") || strings.Contains(resource, "neuron") || strings.Contains(resource, "gaudi"):
		return 3
	case strings.Contains(resource, "/") && !strings.HasPrefix(resource, "count/"):
		return 2
	case strings.HasSuffix(resource, "cpu"):
		return 1
	}
	return 0
}

// membership is what is neither an amount nor an order: the cohort, and who may use the queue.
func (c *cluster) membership(part []*Change, was, is *queue) []Effect {
	change := part[0]
	switch {
	case was.cohort != is.cohort && is.cohort == "":
		return []Effect{c.effect(part, ShrinksQuota, Warning, "a queue leaves its cohort and can no longer borrow", shownAll(part)).
			with("leave", "the cohort "+was.cohort).to(Preemptible)}
	case was.cohort != is.cohort:
		return []Effect{c.effect(part, ReordersQueue, Warning, "a queue belongs to another cohort: others lend to it, and borrow from it", shownAll(part)).
			with("join", "the cohort "+is.cohort).to(Preemptible)}
	case change.Path.Has("namespaceSelector") || change.Path.Has("scopes") || change.Path.Has("scopeSelector"):
		return []Effect{c.effect(part, AdmitsMore, Warning, "other namespaces or pods use a queue or a quota", shownAll(part)).with("are", "queued in another way")}
	case change.Path.Last() == "stopPolicy":
		return []Effect{c.stops(part)}
	case change.Path.Has("coveredResources") || change.Path.Has("resourceGroups"):
		if change.Removed() {
			return []Effect{c.effect(part, AdmitsLess, Warning, "a queue no longer takes jobs that request a resource", shownAll(part)).with("are", "refused in the queue")}
		}
		return []Effect{c.effect(part, AdmitsMore, Notice, "a queue takes jobs that request another resource", shownAll(part)).with("can", "queue for another resource")}
	}
	return []Effect{c.effect(part, ReordersQueue, Warning, "a queue works in another way", shownAll(part)).with("have", "another queue")}
}

func (c *cluster) stops(part []*Change) Effect {
	switch part[0].New.Scalar() {
	case "HoldAndDrain":
		return c.effect(part, AdmitsLess, Critical, "a queue stops all of its jobs and takes no new ones", shownAll(part)).with("stop", "all jobs of a queue").to(Stopped)
	case "Hold":
		return c.effect(part, AdmitsLess, Warning, "a queue takes no new jobs", shownAll(part)).with("start", "no new jobs")
	}
	return c.effect(part, AdmitsMore, Notice, "a queue takes jobs again", shownAll(part)).with("start", "jobs again")
}

// queueing is what queues are made of: flavors, topologies, priorities, the queues of namespaces.
func (c *cluster) queueing(changes []*Change) []Effect {
	var effects []Effect
	for _, part := range parts(changes) {
		effects = append(effects, c.queueingPart(part))
	}
	return effects
}

func (c *cluster) queueingPart(part []*Change) Effect {
	change := part[0]
	kind, name := change.Kind(), change.Object().ID.String()
	switch {
	case change.Whole() && change.Added():
		return c.effect(part, AddsObjects, Info, "a "+kind+" is new", name).with("get", "another "+kind)
	case change.Whole() && kind == "LocalQueue":
		return c.effect(part, DeletesObjects, Warning, "a queue of a namespace is gone: jobs that name it wait for ever", name).with("lose", "a queue").to(Hampered)
	case change.Whole():
		return c.effect(part, DeletesObjects, Warning, "a "+kind+" is gone: what names it no longer starts", name).with("lose", "a "+kind)
	case change.Path.Last() == "value" || change.Path.Last() == "preemptionPolicy" || change.Path.Last() == "globalDefault":
		return c.effect(part, ReordersQueue, Warning, "a priority has another value: other jobs go first", shownAll(part)).with("have", "other priorities")
	case change.Path.Last() == "stopPolicy":
		return c.stops(part)
	case kind == "ResourceFlavor" || kind == "Topology":
		return c.effect(part, NewJobsOnly, Warning, "new jobs go to other machines", shownAll(part)).with("send", "new jobs to other machines")
	case change.Path.Last() == "description" || change.Path[0] == "apiVersion":
		return c.effect(part, RestartsNothing, Info, "it is described in another way, or in another version of its API", shownAll(part)).with("are", "described in other words")
	}
	return c.effect(part, ReordersQueue, Warning, "jobs queue in another way", shownAll(part)).with("have", "another queue")
}
