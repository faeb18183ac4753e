package rule

import (
	"cmp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

var quotaRule = &Rule{
	Name: "quota", Title: "Quotas, queues and priorities",
	Doc: "Who is guaranteed how much, may borrow how much, and goes first: ClusterQueues, cohorts, ResourceQuotas, flavors, priorities. " +
		"The entry has the difference per profile and resource, and for a cohort what it has in all afterwards, so that machines which only " +
		"move between its members are seen as that. A guarantee that shrinks in a cohort makes running jobs preemptible: what they use above it counts as " +
		"borrowed, and others may reclaim it. Without a cohort Kueue stops nothing. A ResourceQuota that shrinks stops no pod, but refuses the next one.",
	Says: []Consequence{GrowsQuota, ShrinksQuota, ReordersQueue, AdmitsLess, AdmitsMore, NewJobsOnly, AddsObjects, DeletesObjects, RestartsNothing, NoEffect},
	claims: func(c *match.Change) bool {
		kind := c.Kind()
		switch {
		case comesWithOwner(c) || !c.Whole() && c.Path[0] == "metadata":
			return false
		case kind == "ResourceQuota" || kind == "PriorityClass":
			return true
		}
		return c.Object().ID.Group == "kueue.x-k8s.io" && slices.Contains(queueKinds, kind)
	},
	judge: func(c *Cluster, changes []*match.Change) []Effect {
		var effects []Effect
		for _, object := range match.ByObject(changes) {
			switch object[0].Kind() {
			case "ClusterQueue", "Cohort", "ResourceQuota":
				effects = append(effects, c.quotaEffects(object)...)
			default:
				effects = append(effects, judgeByCause((*Cluster).queueingEffect)(c, object)...)
			}
		}
		return effects
	},
}

// queueKinds are the kinds of Kueue that are understood. Others let it start jobs on other clusters, or ask programs.
var queueKinds = []string{"ClusterQueue", "LocalQueue", "Cohort", "ResourceFlavor", "Topology", "WorkloadPriorityClass"}

// quotaEffects says what becomes of what a tenant, a cohort or a namespace has.
func (c *Cluster) quotaEffects(changes []*match.Change) []Effect {
	id := changes[0].Object().ID
	was, is := c.was.queues.get(id), c.is.queues.get(id)
	if before := changes[0].Before; before != nil {
		was = c.was.queues.get(before.ID)
	}
	var effects []Effect
	if was.equal(is) && !changes[0].Whole() {
		var same []*match.Change
		if same, changes = splitModelled(changes); len(same) > 0 {
			effects = append(effects, c.effect(same, NoEffect, Info, "the queue gives the same as before"))
		}
	}
	judge := func(c *Cluster, part []*match.Change) Effect { return c.quotaEffect(id, part, was, is) }
	return append(effects, judgeByCauseAnd(quotaFieldOf, judge)(c, changes)...)
}

// splitModelled divides changes into those that a queue has everything of, and the others.
func splitModelled(changes []*match.Change) (known, other []*match.Change) {
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

// isModelled reports whether a queue has everything that is known of a part of a resource group.
func isModelled(c *match.Change) bool {
	switch c.Path.Last() {
	case "nominalQuota", "borrowingLimit", "lendingLimit", "name":
		return true
	}
	return len(c.Path) > 2 && slices.Contains([]string{"coveredResources", "flavors", "resources", "resourceGroups"}, c.Path[len(c.Path)-2])
}

// quotaField is what of a queue a change is about.
type quotaField int

const (
	membership quotaField = iota
	grown
	shrunk
	lent
	order
)

func quotaFieldOf(change *match.Change) quotaField {
	switch p := change.Path; {
	case p.Last() == "lendingLimit":
		return lent
	case change.Whole() && change.Added(), quotaTrend(change) == more:
		return grown
	case change.Whole(), quotaTrend(change) == less:
		return shrunk
	case p.Has("preemption") || p.Last() == "flavors" || p.Has("flavorFungibility") || p.Has("fairSharing") || p.Last() == "queueingStrategy" || p.Has("admissionScope"):
		return order
	}
	return membership
}

// quotaEffect is what one line changes of one field.
func (c *Cluster) quotaEffect(id object.ID, part []*match.Change, was, is *queue) Effect {
	if id.Kind == "ClusterQueue" && areBoundsOnly(part) && was.cohort != is.cohort && (was.cohort == "" || is.cohort == "") {
		// What the cohort itself means is told with it.
		return c.effect(part, NoEffect, Info, "bounds of what is borrowed and lent come and go with the cohort")
	}
	switch quotaFieldOf(part[0]) {
	case grown:
		return c.amountsEffect(id, part, was, is, GrowsQuota)
	case shrunk:
		return c.amountsEffect(id, part, was, is, ShrinksQuota)
	case lent:
		return c.lendingEffect(part, was, is)
	case order:
		return c.preemptionEffect(part)
	}
	return c.membershipEffect(part, was, is)
}

// areBoundsOnly reports whether changes are about bounds of what is borrowed and lent only: without a cohort they mean nothing.
func areBoundsOnly(part []*match.Change) bool {
	return !slices.ContainsFunc(part, func(change *match.Change) bool {
		last := change.Path.Last()
		return last != "borrowingLimit" && last != "lendingLimit"
	})
}

// preemptionEffect is whom a queue stops, and what it takes first.
func (c *Cluster) preemptionEffect(part []*match.Change) Effect {
	if slices.ContainsFunc(part, func(change *match.Change) bool {
		return change.Path.Has("preemption") && change.New.Scalar() != "Never" && change.New != nil
	}) {
		return c.effect(part, ReordersQueue, Warning, "a queue may stop running jobs for its own").withClause("may", "stop running jobs for waiting ones").withJobs(JobsPreemptible)
	}
	if slices.ContainsFunc(part, patchOverridesCompiler) {
		return c.effect(part, ReordersQueue, Warning, "a patch says whom a queue stops, what it takes first, or who gets more than others").withClause("have", "another order in the queue, by a patch")
	}
	return c.effect(part, ReordersQueue, Notice, "whom a queue stops, and what it takes first, changes").withClause("have", "another order in the queue")
}

// lendingEffect is how much others may borrow of a queue. Without a bound it is everything.
func (c *Cluster) lendingEffect(part []*match.Change, was, is *queue) Effect {
	keys := touchedKeys(part, was, is)
	if !slices.ContainsFunc(keys, func(key quotaKey) bool { return hasResource(was.amounts[key]) || hasResource(is.amounts[key]) }) {
		return c.effect(part, NoEffect, Info, "a bound of what is lent of a resource of which the queue has nothing")
	}
	details := describeAmounts(keys, part, was, is)
	if trendOf(part[0].Old, part[0].New) == more && part[0].Old != nil || part[0].New == nil {
		return c.effect(part, GrowsQuota, Notice, "more may be lent to others").withDetail(strings.Join(details, "; ")).withClause("lend", "more to others")
	}
	return c.effect(part, ShrinksQuota, Warning, "less may be lent: others may borrow less").withDetail(strings.Join(details, "; ")).withClause("lend", "less to others").withJobs(JobsPreemptible)
}

// quotaTrend reports whether an amount lets a holder have more. A bound that is missing does not bound: everything may be borrowed, lent, used.
func quotaTrend(c *match.Change) trend {
	towards := trendOf(c.Old, c.New)
	last := c.Path.Last()
	bound := last == "borrowingLimit" || c.Path.Is("spec", "hard", "*")
	switch {
	case bound && c.Added():
		towards = less
	case bound && c.Removed():
		towards = more
	case c.Path.Has("flavors") && (c.Added() || c.Removed()) && last != "flavors":
		return presenceTrend(c)
	case last != "nominalQuota" && !bound:
		return unknown
	}
	return towards
}

// amountsEffect says how much is gained or lost.
func (c *Cluster) amountsEffect(id object.ID, part []*match.Change, was, is *queue, consequence Consequence) Effect {
	keys := touchedKeys(part, was, is)
	severity, title, verb, jobs := Notice, "more quota"+ofResources(keys), "gain", JobsUntouched
	if consequence == ShrinksQuota {
		severity, title, verb = Warning, "less quota"+ofResources(keys), "lose"
		switch {
		case id.Kind == "ResourceQuota":
			jobs = JobsHampered
		case was.cohort != "":
			jobs = JobsPreemptible
		}
	}
	details := describeAmounts(keys, part, was, is)
	cohort, own := cmp.Or(is.cohort, was.cohort), id.Kind == "Cohort"
	if own {
		cohort = id.Name
	}
	for i := range keys {
		if cohort != "" && keys[i].resource == keys[0].resource && guaranteeDiffers(keys[i], part, was, is) {
			details = append(details, c.cohortNotes(id, cohort, keys[i])...)
		}
	}
	e := c.effect(part, consequence, severity, title).withDetail(strings.Join(details, "; ")).withJobs(jobs)
	e.Clause = quotaClause(verb, keys, part, was, is)
	if own {
		e.Clause.Of = "the cohort " + cohort
	}
	return e
}

// ofResources names the resources, the scarcest first: `: nvidia.com/gpu, cpu, memory`.
func ofResources(keys []quotaKey) string {
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
	return ": " + firstFew(3, names)
}

// touchedKeys are the flavors and resources that some changes are about, the scarcest first; a whole object is about all of its own.
func touchedKeys(part []*match.Change, was, is *queue) []quotaKey {
	var found []quotaKey
	for _, key := range quotaKeysOf(was, is) {
		a, b := was.amounts[key], is.amounts[key]
		if key.flavor != "" {
			a.Nominal, b.Nominal = cmp.Or(a.Nominal, "0"), cmp.Or(b.Nominal, "0")
		}
		if sameAmounts(a, b) || key.flavor != "" && match.SameQuantity(a.Nominal, "0") && match.SameQuantity(b.Nominal, "0") && a.Borrowing == b.Borrowing && part[0].Whole() {
			continue
		}
		if slices.ContainsFunc(part, func(c *match.Change) bool { return c.Whole() || isAboutKey(c.Path, key) }) {
			found = append(found, key)
		}
	}
	slices.SortStableFunc(found, func(a, b quotaKey) int { return scarcity(b.resource) - scarcity(a.resource) })
	return found
}

func isAboutKey(p match.Path, key quotaKey) bool {
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

// describeAmounts describes amounts, each as it was and is.
func describeAmounts(keys []quotaKey, part []*match.Change, was, is *queue) []string {
	words := make([]string, len(keys))
	for i, key := range keys {
		words[i] = describeAmount(key, part, was.amounts[key], is.amounts[key])
	}
	return words
}

// describeAmount is for example `nvidia.com/gpu of h100: 64 → 32 guaranteed`, with those fields that the changes are about.
func describeAmount(key quotaKey, part []*match.Change, was, is Amounts) string {
	what := key.resource
	if key.flavor == "" {
		return what + ": " + cmp.Or(was.Nominal, "any") + " → " + cmp.Or(is.Nominal, "any")
	}
	var changes []string
	for _, field := range []struct{ name, words, none, was, is string }{
		{"nominalQuota", "guaranteed", "0", was.Nominal, is.Nominal}, {"borrowingLimit", "may be borrowed", "any", unboundedAmount(was, was.Borrowing, is.Borrowing), unboundedAmount(is, is.Borrowing, was.Borrowing)},
		{"lendingLimit", "may be lent", "any", unboundedAmount(was, was.Lending, is.Lending), unboundedAmount(is, is.Lending, was.Lending)},
	} {
		if isAboutField(part, field.name) && amountsDiffer(field.was, field.is) {
			changes = append(changes, cmp.Or(field.was, field.none)+" → "+cmp.Or(field.is, field.none)+" "+field.words)
		}
	}
	return what + " of " + key.flavor + ": " + strings.Join(changes, ", ")
}

// guaranteeDiffers reports whether some changes are about what is guaranteed of a resource, and it differs.
func guaranteeDiffers(key quotaKey, part []*match.Change, was, is *queue) bool {
	return key.flavor != "" && isAboutField(part, "nominalQuota") && amountsDiffer(was.amounts[key].Nominal, is.amounts[key].Nominal)
}

// isAboutField reports whether some changes are about a field of an amount. Those that are about no field are about all.
func isAboutField(part []*match.Change, field string) bool {
	return slices.ContainsFunc(part, func(c *match.Change) bool {
		last := c.Path.Last()
		return last == field || !strings.HasSuffix(last, "Limit") && last != "nominalQuota"
	})
}

func amountsDiffer(was, is string) bool { return was != is && !match.SameQuantity(was, is) }

// unboundedAmount is a bound of a resource where the other side has one: a queue that has none of the resource neither borrows nor lends.
func unboundedAmount(of Amounts, bound, other string) string {
	if of.Nominal == "" && bound == "" && other != "" {
		return "0"
	}
	return bound
}

// cohortNotes says what a cohort has in all of a resource, and who may borrow less.
func (c *Cluster) cohortNotes(id object.ID, cohort string, key quotaKey) []string {
	before, after := c.was.queues.cohortTotal(cohort, key), c.is.queues.cohortTotal(cohort, key)
	a, b, ok := match.ParseQuantities(before, after)
	what := " " + key.resource + " of " + key.flavor
	has := "the cohort " + cohort + " has " + amountDifference(before, after) + what
	switch others := c.is.queues.tenantsInCohort(cohort, id); {
	case !ok:
		return nil
	case a.Cmp(b) == 0:
		// How much that is takes all members to know.
		return []string{"the cohort " + cohort + " keeps its total of" + what}
	case a.Cmp(b) < 0:
		return []string{has + " more in all"}
	case len(others) > 0:
		return []string{has + " less in all, which " + strings.Join(others, ", ") + " can no longer borrow"}
	default:
		return []string{has + " less in all"}
	}
}

// quotaClause names the scarcest resource that some changes are about, with that of all profiles.
func quotaClause(verb string, keys []quotaKey, part []*match.Change, was, is *queue) Clause {
	if len(keys) == 0 {
		return Clause{Verb: verb, Rest: "quota"}
	}
	key := keys[0]
	a, b := was.amounts[key], is.amounts[key]
	switch {
	case key.flavor != "" && guaranteeDiffers(key, part, was, is):
		all := slices.DeleteFunc(slices.Clone(keys), func(k quotaKey) bool { return k.resource != key.resource || !guaranteeDiffers(k, part, was, is) })
		before, after := "0", "0"
		for _, k := range all {
			before, after = addAmounts(before, was.amounts[k].Nominal), addAmounts(after, is.amounts[k].Nominal)
		}
		return Clause{Verb: verb, Rest: amountDifference(before, after) + " guaranteed " + key.resource + ofProfiles(all, was, is)}
	case key.flavor != "":
		return Clause{Verb: verb, Rest: boundDifference(a.Borrowing, b.Borrowing) + key.resource + ofProfiles(keys[:1], was, is) + " that may be borrowed"}
	case a.Nominal == "":
		return Clause{Verb: "are", Rest: "bound in " + key.resource}
	case b.Nominal == "":
		return Clause{Verb: "are", Rest: "no longer bound in " + key.resource}
	}
	return Clause{Verb: verb, Rest: amountDifference(a.Nominal, b.Nominal) + " of quota for " + key.resource}
}

// ofProfiles names the profiles of a resource, where a queue has others, too: another line may be about these.
func ofProfiles(keys []quotaKey, was, is *queue) string {
	var names []string
	for _, key := range keys {
		names = append(names, key.flavor)
	}
	for _, other := range quotaKeysOf(was, is) {
		if other.resource == keys[0].resource && !slices.Contains(names, other.flavor) && (hasResource(was.amounts[other]) || hasResource(is.amounts[other])) {
			return " of " + severalText(sortedDistinct(names))
		}
	}
	return ""
}

// hasResource reports whether a queue has some of a resource.
func hasResource(a Amounts) bool { return !match.SameQuantity(cmp.Or(a.Nominal, "0"), "0") }

func boundDifference(was, is string) string {
	if was == "" || is == "" {
		return ""
	}
	return amountDifference(was, is) + " "
}

func scarcity(resource string) int {
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

// membershipEffect is what is neither an amount nor an order: the cohort, and who may use the queue.
func (c *Cluster) membershipEffect(part []*match.Change, was, is *queue) Effect {
	change := part[0]
	switch {
	case was.cohort != is.cohort && is.cohort == "":
		e := c.effect(part, ShrinksQuota, Warning, "a queue leaves its cohort and can no longer borrow")
		return e.withDetail(strings.Join(append([]string{e.Detail}, c.leftCohortNotes(change.After.ID, was)...), "; ")).withClause("leave", "the cohort "+was.cohort).withJobs(JobsPreemptible)
	case was.cohort != is.cohort:
		e := c.effect(part, ReordersQueue, Warning, "a queue belongs to another cohort: others lend to it, and borrow from it")
		return e.withDetail(strings.Join(append([]string{e.Detail}, c.leftCohortNotes(change.After.ID, was)...), "; ")).withClause("join", "the cohort "+is.cohort).withJobs(JobsPreemptible)
	case namesNamespace(change) && change.Removed() && c.is.namespaces[change.Old.Scalar()] == nil:
		// The namespace itself is told.
		return c.effect(part, AdmitsLess, Notice, "a queue takes no jobs of a namespace that is gone")
	case namesNamespace(change) && c.was.namespaces[change.New.Scalar()] == nil && c.is.namespaces[change.New.Scalar()] != nil:
		return c.effect(part, AdmitsMore, Notice, "a queue takes jobs of a namespace that is new")
	case namesNamespace(change) && change.Removed():
		return c.effect(part, AdmitsLess, Warning, "a queue takes no jobs of a namespace any more").withClause("take", "no jobs of namespace "+change.Old.Scalar()+" any more")
	case namesNamespace(change):
		return c.effect(part, AdmitsMore, Warning, "a queue takes jobs of another namespace").withClause("take", "jobs of another namespace, "+change.New.Scalar())
	case change.Kind() == "ClusterQueue" && change.Path.Has("namespaceSelector") && selectsEverybody(change.After):
		return c.effect(part, AdmitsMore, Warning, "a queue takes jobs of every namespace: all who can make a LocalQueue get its machines").
			withClause("share", "the machines of a queue with every namespace").withJobs(JobsPreemptible)
	case change.Path.Has("namespaceSelector") || change.Path.Has("scopes") || change.Path.Has("scopeSelector"):
		return c.effect(part, AdmitsMore, Warning, "other namespaces or pods use a queue or a quota").withClause("let", "other namespaces or pods use a queue or a quota")
	case change.Path.Last() == "stopPolicy":
		return c.stopEffect(part)
	case change.Path.Has("coveredResources") || change.Path.Has("resourceGroups"):
		if change.Removed() {
			return c.effect(part, AdmitsLess, Warning, "a queue no longer takes jobs that request a resource").withClause("are", "refused in the queue")
		}
		return c.effect(part, AdmitsMore, Notice, "a queue takes jobs that request another resource").withClause("can", "queue for another resource")
	}
	return c.effect(part, ReordersQueue, Warning, "a queue works in another way").withClause("have", "another queue")
}

// leftCohortNotes says of the cohort that a queue leaves what it has less, and who can no longer borrow it: of the scarcest resource.
func (c *Cluster) leftCohortNotes(id object.ID, was *queue) []string {
	var notes []string
	keys := quotaKeysOf(was, &queue{})
	slices.SortStableFunc(keys, func(a, b quotaKey) int { return scarcity(b.resource) - scarcity(a.resource) })
	for _, key := range keys {
		if was.cohort != "" && key.resource == keys[0].resource && hasResource(was.amounts[key]) {
			notes = append(notes, c.cohortNotes(id, was.cohort, key)...)
		}
	}
	return notes
}

// selectsEverybody reports whether a queue takes jobs of all namespaces: an empty selector is for all, none is for no one
// (https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/#namespace-selector).
func selectsEverybody(o *object.Object) bool {
	selector := o.Root.At("spec", "namespaceSelector")
	if selector == nil || selector.Kind != object.MapNode {
		return false
	}
	return !slices.ContainsFunc(selector.Children, func(part object.Node) bool { return len(part.Children) > 0 })
}

// namesNamespace reports whether a change is a namespace that comes to a queue, or leaves it.
func namesNamespace(c *match.Change) bool {
	conditions := c.Object().Root.At("spec", "namespaceSelector", "matchExpressions")
	return c.Path.Is("spec", "namespaceSelector", "matchExpressions", "*", "values", "*") && c.Added() != c.Removed() && len(conditions.Children) == 1 && conditions.Children[0].Scalar("operator") == "In"
}

func (c *Cluster) stopEffect(part []*match.Change) Effect {
	switch part[0].New.Scalar() {
	case "HoldAndDrain":
		return c.effect(part, AdmitsLess, Critical, "a queue stops all of its jobs and takes no new ones").withClause("stop", "all jobs of a queue").withJobs(JobsStopped)
	case "Hold":
		return c.effect(part, AdmitsLess, Warning, "a queue takes no new jobs").withClause("start", "no new jobs")
	}
	return c.effect(part, AdmitsMore, Notice, "a queue takes jobs again").withClause("start", "jobs again")
}

// queueingEffect is what queues are made of: flavors, topologies, priorities, the queues of namespaces.
func (c *Cluster) queueingEffect(part []*match.Change) Effect {
	change := part[0]
	kind, last := change.Kind(), change.Path.Last()
	switch {
	case change.Whole() && change.Added():
		return c.effect(part, AddsObjects, Info, "a "+kind+" is new").withClause("get", "another "+kind)
	case change.Whole() && kind == "LocalQueue":
		return c.effect(part, DeletesObjects, Warning, "a queue of a namespace is gone: jobs that name it wait forever").withClause("lose", "a queue").withJobs(JobsHampered)
	case change.Whole():
		return c.effect(part, DeletesObjects, Warning, "a "+kind+" is gone: what names it no longer starts").withClause("lose", "a "+kind)
	case last == "value" || last == "preemptionPolicy" || last == "globalDefault":
		return c.effect(part, ReordersQueue, Warning, "a priority has another value: other jobs go first").withClause("have", "other priorities")
	case last == "stopPolicy":
		return c.stopEffect(part)
	case kind == "ResourceFlavor" || kind == "Topology":
		return c.effect(part, NewJobsOnly, Warning, "new jobs go to other machines").withClause("send", "new jobs to other machines")
	case last == "description" || change.Path[0] == "apiVersion":
		return c.effect(part, RestartsNothing, Info, "it is described in another way, or in another version of its API").withClause("are", "described in other words")
	}
	return c.effect(part, ReordersQueue, Warning, "jobs queue in another way").withClause("have", "another queue")
}
