package rule

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

var gitopsRule = &Rule{
	Name: "gitops", Title: "How the GitOps engine applies it",
	Doc: "The objects of Flux and Argo CD, and the annotations that tell them how to treat an object: from where and in which order they apply, " +
		"whether they delete what git no longer has, with whose rights, and what they leave alone. Another repository is critical: all who can write there " +
		"decide what runs. So are files that a stage or a source leaves out, which an engine that prunes deletes, and hooks of Argo CD, which it deletes when it syncs, " +
		"on namespaces, volumes and what closes or protects them. Where a stage is " +
		"removed that deletes what it applied, everything in it goes. The rule for ownership has what else is deleted because of the wiring.",
	Says: []Consequence{ChangesSync, WidensAccess, AddsObjects, DeletesObjects, LeavesObjects, RestartsNothing},
	claims: func(c *match.Change) bool {
		if isEngine(c) {
			return !comesWithOwner(c) && (c.Whole() || c.Path[0] != "metadata" || isSyncKey(c.Path))
		}
		return !c.Whole() && isSyncKey(c.Path)
	},
	judge: func(c *Cluster, changes []*match.Change) []Effect {
		effects := judgeByCauseAnd(topicOf, (*Cluster).wiringEffect)(c, changes)
		for _, change := range c.added {
			if slices.Contains(guarded, change.Kind()) && isRecreated(change.After) && c.hasArgo() {
				effects = append(effects, c.recreatedBySyncEffect([]*match.Change{change}))
			}
		}
		return effects
	},
}

func isEngine(c *match.Change) bool { return isEngineObject(c.Object()) }

func isEngineObject(o *object.Object) bool {
	group := o.ID.Group
	return group == argoGroup || strings.HasSuffix(group, "toolkit.fluxcd.io")
}

func isSyncKey(p match.Path) bool {
	return p.Is("metadata", "annotations", "*") && (strings.HasPrefix(p[2], "argocd.argoproj.io/") || strings.HasPrefix(p[2], fluxKeys) || isHookKey(p[2])) ||
		len(p) > 1 && p[0] == "metadata" && p[1] == "finalizers"
}

// wiringTopic is what a change of the wiring is about.
type wiringTopic string

// The topics.
const (
	pruning wiringTopic = "prune"
	// finishing is what must be done before an object goes that is none of the engine's.
	finishing wiringTopic = "finalizers"
	keeping   wiringTopic = "keep"
	ordering  wiringTopic = "order"
	health    wiringTopic = "health"
	origins   wiringTopic = "source"
	follows   wiringTopic = "repository"
	identity  wiringTopic = "identity"
	bounds    wiringTopic = "bounds"
	pausing   wiringTopic = "suspend"
	timing    wiringTopic = "timing"
	manner    wiringTopic = "manner"
	hooking   wiringTopic = "hook"
	whole     wiringTopic = "whole"
)

func topicOf(c *match.Change) wiringTopic {
	p := c.Path
	switch {
	case c.Whole():
		return whole
	case isHookKey(p.Last()):
		return hooking
	case p.Last() == "prune" && isEngine(c), p.Has("finalizers") && isEngine(c):
		return pruning
	case p.Has("finalizers"):
		return finishing
	case p.Last() == fluxPrune || p.Last() == argoOptions && !isEngine(c):
		return keeping
	case p.Has("kubeConfig"):
		// Whatever of it changes says to which cluster, not only the Secret.
		return manner
	case p.Has("dependsOn") || p.Last() == "argocd.argoproj.io/sync-wave" || p.Last() == "wait" || p.Has("healthChecks"):
		return ordering
	case p.Has("healthCheckExprs"):
		return health
	case p.Has("clusterResourceWhitelist") || p.Has("namespaceResourceWhitelist") || p.Has("destinations") || p.Has("sourceRepos") ||
		p.Has("clusterResourceBlacklist") || p.Has("namespaceResourceBlacklist"):
		return bounds
	case slices.Contains([]string{"serviceAccountName", "project"}, p.Last()):
		return identity
	case isEngine(c) && c.New != nil && (c.Old != nil || !c.New.Leaf()) && len(newlyFollowed(c)) > 0:
		return follows
	case isEngine(c) && mannerOf(c) != nil:
		return manner
	case p.Has("source") || p.Has("sourceRef") || p.Last() == "path" || p.Has("ref") || p.Last() == "url" || p.Has("destination") || p.Has("verify") || p.Has("secretRef"):
		return origins
	case p.Last() == "suspend" || p.Has("automated"):
		return pausing
	case slices.Contains(times, p.Last()):
		return timing
	}
	return manner
}

// times are fields that say when an engine looks or retries.
var times = []string{"interval", "retryInterval", "timeout", "duration", "maxDuration", "factor", "limit", "revisionHistoryLimit"}

// wirings are what changes of most topics mean, whatever the change.
var wirings = map[wiringTopic]struct {
	consequence   Consequence
	severity      Severity
	title, clause string
}{
	ordering: {ChangesSync, Notice, "the GitOps engine applies in another order", "applied in another order"},
	health:   {ChangesSync, Notice, "the GitOps engine asks for something else before it calls a stage ready", "called ready by other signs"},
	identity: {ChangesSync, Warning, "the GitOps engine applies with other rights", "applied with other rights"},
	origins:  {ChangesSync, Warning, "the GitOps engine applies from or to another place", "applied from or to another place"},
	pausing:  {ChangesSync, Warning, "the GitOps engine syncs by itself in another way", "synced by themselves in another way"},
	timing:   {RestartsNothing, Info, "the GitOps engine looks or retries at other times", "looked at at other times"},
	manner:   {ChangesSync, Warning, "the GitOps engine applies or deletes in another way", "applied in another way"},
}

func (c *Cluster) wiringEffect(part []*match.Change) Effect {
	change := part[0]
	switch about := topicOf(change); about {
	case whole:
		return c.stageAddedOrRemoved(part)
	case keeping:
		return c.keptObjectsEffect(part)
	case finishing:
		return c.effect(part, ChangesSync, Warning, "what must be done before an object is deleted changes").withClause("have", "objects that are deleted in another way")
	case bounds:
		return c.projectBoundsEffect(part)
	case follows:
		return c.repositoryEffect(part)
	case pruning:
		return c.pruningEffect(part)
	case manner:
		return c.syncOptionsEffect(part)
	case hooking:
		return c.hookEffect(part)
	case timing:
		return c.syncIntervalEffect(part)
	case identity:
		return c.applierEffect(part)
	case pausing:
		return c.pausedEffect(part)
	case origins:
		return c.sourceChanged(part)
	default:
		w := wirings[about]
		return c.effect(part, w.consequence, w.severity, w.title).withClause("are", w.clause)
	}
}

// applierEffect says with whose rights an engine applies: with its own, which are those of the whole cluster, where nothing bounds it any more.
func (c *Cluster) applierEffect(part []*match.Change) Effect {
	w := wirings[identity]
	unbound := slices.ContainsFunc(part, func(change *match.Change) bool {
		return change.Removed() || change.Path.Last() == "project" && change.New.Scalar() == "default"
	})
	if unbound {
		return c.effect(part, WidensAccess, Critical, "nothing bounds what the GitOps engine applies any more: it has its own rights, over the whole cluster").withClause("are", "applied with the engine's own rights")
	}
	return c.effect(part, w.consequence, w.severity, w.title).withClause("are", w.clause)
}

// sourceChanged is another place that an engine applies from or to. Who can push to another branch decides what runs, as with another repository,
// but only people who have rights in this one do.
func (c *Cluster) sourceChanged(part []*match.Change) Effect {
	w := wirings[origins]
	for _, change := range part {
		revision := change.Path.Is("spec", "ref", "branch") || change.Path.Last() == "targetRevision"
		if was, is := change.Old.Scalar(), change.New.Scalar(); revision && was != "" && is != "" && !isCommit.MatchString(is) {
			return c.effect(part, w.consequence, w.severity, "the GitOps engine follows "+is+" instead of "+was+": all who can push there decide what runs on the cluster").
				withClauseOf("cluster "+c.Name, "follow", is+" of its repository instead of "+was)
		}
	}
	if slices.ContainsFunc(part, patchOverridesCompiler) {
		return c.effect(part, w.consequence, Critical, "the GitOps engine applies from or to another place than the compiled one, by a patch: "+changesText(part)).
			withClause("are", "applied from or to another place than the compiled one").withJobs(JobsHampered)
	}
	return c.effect(part, w.consequence, w.severity, w.title).withClause("are", w.clause)
}

// isCommit is how a commit is named, which nobody can change.
var isCommit = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// pausedEffect reports whether an engine goes on to apply what is merged.
func (c *Cluster) pausedEffect(part []*match.Change) Effect {
	w := wirings[pausing]
	for _, change := range part {
		switch last, on := change.Path.Last(), change.New.Scalar() == "true"; {
		case last == "selfHeal" && on:
			return c.effect(part, w.consequence, Notice, "the GitOps engine repairs what people change by hand from now on").withClause("are", "repaired from now on after a change by hand")
		case last == "selfHeal":
			return c.effect(part, w.consequence, w.severity, "the GitOps engine no longer repairs what people change by hand").withClause("are", "no longer repaired after a change by hand")
		case last == "allowEmpty" && on:
			return c.effect(part, w.consequence, w.severity, "the GitOps engine deletes everything that a stage applied if its folder is empty").withClause("may", "lose everything if a folder is empty")
		case last == "suspend" && on, last == "automated" && change.Removed(), last == "enabled" && change.New.Scalar() == "false":
			return c.effect(part, w.consequence, w.severity, "the GitOps engine is paused: what is merged is no longer applied by itself").withClause("are", "no longer synced: the GitOps engine is paused")
		case last == "suspend", last == "automated", last == "enabled":
			return c.effect(part, w.consequence, w.severity, "the GitOps engine goes on: what was merged meanwhile is applied").withClause("are", "synced again")
		}
	}
	return c.effect(part, w.consequence, w.severity, w.title).withClause("are", w.clause)
}

// seldom is when an engine looks so rarely that what is merged, and what somebody changes by hand, stays as it is for a day.
const seldom = 24 * time.Hour

// syncIntervalEffect says when the engine looks: so rarely that it hardly looks at all is a warning.
func (c *Cluster) syncIntervalEffect(part []*match.Change) Effect {
	for _, change := range part {
		was, _ := time.ParseDuration(change.Old.Scalar())
		is, _ := time.ParseDuration(change.New.Scalar())
		if change.Path.Last() == "interval" && is >= seldom && is > was {
			return c.effect(part, ChangesSync, Warning, "the GitOps engine looks so rarely that what is merged may not be applied for long: every "+change.New.Scalar()).
				withClause("are", "looked at every "+change.New.Scalar()+" only")
		}
	}
	w := wirings[timing]
	return c.effect(part, w.consequence, w.severity, w.title).withClause("are", w.clause)
}

// isSource reports whether a change is about where Flux gets files from: what it ignores is files.
func isSource(c *match.Change) bool { return strings.HasPrefix(c.Object().ID.Group, "source.") }

// syncManner is a field, how severe it is, and what an engine applies by it.
type syncManner struct {
	field    string
	severity Severity
	words    string
}

// manners are the fields by which an engine applies something else than the compiled objects.
var manners = []syncManner{
	{"targetNamespace", Critical, "all into another namespace than the compiled one"},
	{"kubeConfig", Critical, "to another cluster"},
	{"patches", Critical, "something else than what is compiled and reviewed: it patches it"},
	{"postBuild", Critical, "something else than what is compiled and reviewed: it replaces variables in it"},
	{"images", Critical, "something else than what is compiled and reviewed: it replaces images in it"},
	{"components", Critical, "something else than what is compiled and reviewed: it adds components to it"},
	{"namePrefix", Critical, "all under other names than the compiled ones"},
	{"nameSuffix", Critical, "all under other names than the compiled ones"},
	{"commonMetadata", Critical, "all with other labels and annotations than the compiled ones"},
	{"destination", Critical, "to another cluster or namespace"},
	{"exclude", Critical, leavesOut},
	{"include", Critical, leavesOut},
	{"recurse", Critical, leavesOut},
	{"sparseCheckout", Critical, leavesOut},
	{"plugin", Critical, "something else than what is compiled and reviewed: a program makes it"},
	{"kustomize", Critical, "something else than what is compiled and reviewed: it changes it"},
	{"helm", Critical, "something else than what is compiled and reviewed: it takes it for a chart"},
	{"jsonnet", Critical, "something else than what is compiled and reviewed: it takes it for a program"},
	{"ignoreDifferences", Warning, "without repairing what others change there"},
	{"ignore", Warning, "without repairing what others change there"},
	{"force", Warning, "by deleting and making again what it cannot change"},
	{"Replace=true", Warning, "by replacing objects as a whole, with what others wrote into them"},
	{"Force=true", Warning, "by deleting and making again what it cannot change"},
	{"Validate=false", Warning, "without asking whether objects are valid"},
	{"decryption", Warning, "with Secrets that it decrypts in another way"},
}

// leavesOut describes a stage, or a source, that no longer has all files. What it does not have an engine that prunes deletes.
const leavesOut = "something else than what is compiled and reviewed: it leaves files of the repository out"

// mannerOf is the first manner that a change is about, nil for none. What a source of Flux ignores is files.
func mannerOf(c *match.Change) *syncManner {
	for i := range manners {
		if m := &manners[i]; c.Path.Has(m.field) || m.words == leavesOut && c.New.At(m.field) != nil {
			if m.field == "ignore" && isSource(c) {
				return &syncManner{m.field, Critical, leavesOut}
			}
			return m
		}
	}
	return nil
}

// annotationManners are what annotations tell Flux to do with one object, and what it does when they no longer do.
var annotationManners = []struct{ key, value, words, undone string }{
	{fluxForce, "enabled", "deletes and makes again what it cannot change", "no longer deletes and makes again what it cannot change"},
	{fluxReconcile, "disabled", "leaves objects alone, whatever is merged", "applies again what it left alone"},
	{fluxApply, "Ignore", "leaves objects alone, whatever is merged", "applies again what it left alone"},
	{fluxApply, "IfNotPresent", "applies objects once, and repairs nothing afterwards", "applies again what it applied once"},
	{fluxApply, "Merge", "keeps what others write into objects", "no longer keeps what others write into objects"},
}

// syncOptionsEffect is what the engine does otherwise with what it applies.
func (c *Cluster) syncOptionsEffect(part []*match.Change) Effect {
	w := wirings[manner]
	var words []string
	severity, jobs := w.severity, JobsUntouched
	for _, change := range part {
		switch m := mannerOf(change); {
		case m == nil:
		case m.field == "recurse" && change.New.Scalar() != "true":
			words, severity, jobs = append(words, "applies "+m.words+": all folders below"), m.severity, c.jobsOfLeftOut(change.Object())
		case change.Removed() || m.field == "recurse":
			words = append(words, "no longer applies "+m.words)
		default:
			words, severity = append(words, "applies "+m.words+": "+valueText(change.New)), max(severity, m.severity)
			if m.words == leavesOut {
				jobs = c.jobsOfLeftOut(change.Object())
			}
		}
	}
	if o := part[0].After; isEngine(part[0]) && replacesAll(o) && !replacesAll(part[0].Before) {
		words, severity, jobs = append(words, "deletes all that it applies and makes it again, namespaces with running jobs too"), Critical, JobsPreemptible
	}
	for _, m := range annotationManners {
		for _, change := range part {
			switch {
			case change.Path.Last() != m.key:
			case change.New.Scalar() == m.value:
				words = append(words, m.words)
			case change.Old.Scalar() == m.value:
				words = append(words, m.undone)
			}
		}
	}
	if len(words) == 0 {
		return c.effect(part, w.consequence, w.severity, w.title).withClause("are", w.clause)
	}
	all := strings.Join(sortedDistinct(words), ", and ")
	return c.effect(part, ChangesSync, severity, "the GitOps engine "+all).withClause("have", "a GitOps engine that "+all).withJobs(jobs)
}

// jobsOfLeftOut is what may become of running jobs where an engine no longer finds files: it deletes what is in them if a stage of it prunes.
func (c *Cluster) jobsOfLeftOut(o *object.Object) JobsImpact {
	for _, s := range c.is.engine {
		if s.prunes && (s.object == o.ID || s.object.Group != o.ID.Group) && !c.keepsNamespaces(s.object) {
			return JobsPreemptible
		}
	}
	return JobsHampered
}

// replacesAll reports whether a stage of Argo CD deletes and makes again all that it applies, at each sync.
func replacesAll(stage *object.Object) bool {
	return replacesObjects(stage.Root.At("spec", "syncPolicy", "syncOptions").Strings())
}

// hookKeys are annotations that make an object a hook of Argo CD, and say when it deletes it; it reads those of Helm too
// (https://argo-cd.readthedocs.io/en/stable/user-guide/resource_hooks/, https://argo-cd.readthedocs.io/en/stable/user-guide/helm/#helm-hooks).
var hookKeys = []string{"argocd.argoproj.io/hook", "helm.sh/hook", "argocd.argoproj.io/hook-delete-policy", "helm.sh/hook-delete-policy"}

func isHookKey(key string) bool { return slices.Contains(hookKeys, key) }

// isRecreated reports whether Argo CD deletes an object and makes it again at a sync: it is a hook, or replaced by force.
func isRecreated(o *object.Object) bool {
	annotations := o.Root.At("metadata", "annotations")
	return annotations.Scalar(hookKeys[0])+annotations.Scalar(hookKeys[1]) != "" || replacesObjects(splitList(annotations.Scalar(argoOptions)))
}

// guarded are kinds that must never be gone: what is in them, or is behind them, goes with them or is open.
var guarded = []string{
	"Namespace", "NetworkPolicy", "PersistentVolumeClaim", "PersistentVolume", "CustomResourceDefinition", "ValidatingAdmissionPolicy",
	"ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration", "Application", "AppProject",
}

func (c *Cluster) hasArgo() bool {
	return slices.ContainsFunc(slices.Concat(c.was.engine, c.is.engine), func(s engineStage) bool { return s.object.Group == argoGroup })
}

// hookEffect is an object that becomes a hook, or is none any more.
func (c *Cluster) hookEffect(part []*match.Change) Effect {
	switch {
	case !c.hasArgo():
		return c.effect(part, RestartsNothing, Info, "hooks of Argo CD change: the cluster has none").withClause("have", "other annotations for a GitOps engine")
	case !isRecreated(part[0].After):
		return c.effect(part, ChangesSync, Notice, "Argo CD applies an object as others, no longer as a hook").withClause("have", "objects that are no longer hooks")
	}
	return c.recreatedBySyncEffect(part)
}

// recreatedBySyncEffect is an object that the engine deletes and makes again when it syncs.
func (c *Cluster) recreatedBySyncEffect(part []*match.Change) Effect {
	o, severity, jobs, cost := part[0].After, Warning, JobsUntouched, ""
	if slices.Contains(guarded, o.ID.Kind) {
		severity = Critical
	}
	switch {
	case o.ID.Kind == "Namespace":
		jobs, cost = JobsStopped, ", with everything in it, running jobs too"
	case o.ID.Kind == "NetworkPolicy":
		jobs, cost = JobsHampered, ": what it closes is open meanwhile"
	case slices.Contains(storageKinds, o.ID.Kind):
		jobs, cost = JobsHampered, ", with its data"
	}
	if part[0].Whole() {
		jobs = JobsUntouched
	}
	what := "deletes " + withArticle(o.ID.Kind) + " when it syncs" + cost
	return c.effect(part, ChangesSync, severity, "Argo CD "+what).withDetail(objectName(o.ID)+": "+changesText(part)).
		withClause("have", "a GitOps engine that "+what).withJobs(jobs).withAspect(Aspect(o.ID.Kind))
}

// pruningEffect says what becomes of what git no longer has, and of what a stage applied that goes.
func (c *Cluster) pruningEffect(part []*match.Change) Effect {
	change := part[0]
	at := slices.IndexFunc(part, func(own *match.Change) bool { return !own.Path.Has("finalizers") })
	switch {
	case at < 0 && change.Added():
		return c.effect(part, ChangesSync, Warning, "when the stage of the GitOps engine goes, everything that it applied goes with it from now on").withClause("have", "objects that go with their stage from now on")
	case at < 0:
		return c.effect(part, ChangesSync, Notice, "when the stage of the GitOps engine goes, what it applied stays from now on").withClause("have", "objects that no longer go with their stage")
	case part[at].New.Scalar() == "true":
		return c.effect(part, ChangesSync, Warning, "the GitOps engine deletes from now on what git no longer has, what was left behind earlier too").
			withClause("are", "pruned from now on").withJobs(JobsHampered)
	}
	return c.effect(part, ChangesSync, Warning, "the GitOps engine no longer deletes what git no longer has").withClause("are", "no longer pruned")
}

// stageAddedOrRemoved is a stage, or another object that tells an engine what to do, which comes or goes.
func (c *Cluster) stageAddedOrRemoved(part []*match.Change) Effect {
	change := part[0]
	kind := change.Kind()
	switch {
	case change.Added() && isForTenantJobs(change.After):
		return c.effect(part, ChangesSync, Warning, "the GitOps engine starts jobs of the tenant from a repository: people who push there do what editors do").
			withClause("run", "jobs from a repository")
	case change.Added():
		return c.effect(part, AddsObjects, Info, "an object of the GitOps engine is new: "+kind).withClause("are", "synced in a new stage")
	case deletesWithStage(change.Before) && c.keepsNamespaces(change.Before.ID):
		return c.effect(part, DeletesObjects, Critical, "a stage of the GitOps engine goes, and what it applied goes with it, but namespaces and what else is marked to stay").
			withClause("lose", "what a stage applied, but namespaces").withJobs(JobsHampered).withHelp("suspend the stage and turn its pruning off before it is removed")
	case deletesWithStage(change.Before):
		return c.effect(part, DeletesObjects, Critical, "a stage of the GitOps engine goes, and everything that it applied goes with it, running jobs too").
			withClause("lose", "everything that a stage applied").withJobs(JobsStopped).withHelp("suspend the stage and turn its pruning off before it is removed")
	}
	if kind == "Kustomization" || kind == "Application" {
		return c.effect(part, LeavesObjects, Warning, "a stage of the GitOps engine goes, and what it applied stays: "+kind).withClause("are", "no longer synced by a stage")
	}
	return c.effect(part, DeletesObjects, Warning, "an object of the GitOps engine is gone: "+kind).withClause("are", "no longer synced by a stage")
}

// keepsNamespaces reports whether all namespaces that a stage applied are marked to stay when it goes, and running jobs in them. Where none is
// known nobody knows what goes.
func (c *Cluster) keepsNamespaces(id object.ID) bool {
	found := false
	for _, space := range c.was.namespaces {
		if s := c.was.engine.stageOfFolder(c.Name, space.folder); s == nil || s.object != id {
			continue
		}
		if found = space.kept; !found {
			return false
		}
	}
	return found
}

// keptObjectsEffect says what becomes of objects that an engine keeps, or kept.
func (c *Cluster) keptObjectsEffect(part []*match.Change) Effect {
	before, after := engineProtections(part[0].Before), engineProtections(part[0].After)
	switch lost, gained := missingFrom(before, after), missingFrom(after, before); {
	case isRecreated(part[0].After) && !isRecreated(part[0].Before) && c.hasArgo():
		return c.recreatedBySyncEffect(part)
	case len(c.was.engine)+len(c.is.engine) == 0:
		return c.effect(part, RestartsNothing, Info, "what a GitOps engine would keep changes: the cluster has none").withClause("have", "other annotations for a GitOps engine")
	case len(lost) > 0:
		return c.effect(part, ChangesSync, Warning, "the GitOps engine may delete what it kept until now").withClause("have", "objects that are no longer kept")
	case len(gained) > 0:
		return c.effect(part, ChangesSync, Info, "the GitOps engine keeps what git no longer has").withClause("have", "objects that are kept")
	}
	return c.effect(part, ChangesSync, Notice, "the GitOps engine applies an object in another way").withClause("have", "objects that are applied in another way")
}

// engineProtections are what keeps an object from an engine: that it is not pruned, by either engine, and that it does not go with its stage.
func engineProtections(o *object.Object) []string {
	var found []string
	annotations := o.Root.At("metadata", "annotations")
	if annotations.Scalar(fluxPrune) == "disabled" {
		found = append(found, fluxPrune)
	}
	for _, option := range splitList(annotations.Scalar(argoOptions)) {
		if option = strings.TrimSpace(option); option == "Prune=false" || option == "Delete=false" {
			found = append(found, option)
		}
	}
	return found
}

// What annotations tell Flux about an object (https://fluxcd.io/flux/components/kustomize/kustomizations/#controlling-the-apply-behavior-of-resources).
const (
	fluxKeys = "kustomize.toolkit.fluxcd.io/"
	// fluxForce tells it to delete and make again an object that it cannot change.
	fluxForce = fluxKeys + "force"
	// fluxReconcile tells it to leave an object alone.
	fluxReconcile = fluxKeys + "reconcile"
	// fluxApply tells it to apply an object once, or next to what others write.
	fluxApply = fluxKeys + "ssa"
)

// replacesObjects reports whether sync options tell Argo CD to delete and make again what it cannot change
// (https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/#force-sync).
func replacesObjects(options []string) bool {
	has := func(want string) bool {
		return slices.ContainsFunc(options, func(option string) bool { return strings.TrimSpace(option) == want })
	}
	return has("Force=true") && has("Replace=true")
}

// isForceSynced reports whether the engine deletes an object and makes it again where it cannot change it.
func (c *Cluster) isForceSynced(o *object.Object) bool {
	annotations := o.Root.At("metadata", "annotations")
	s := c.is.engine.stageOfFolder(c.Name, o.Folder)
	return len(c.is.engine) > 0 && (annotations.Scalar(fluxForce) == "enabled" || replacesObjects(splitList(annotations.Scalar(argoOptions))) || s != nil && s.forces)
}

// repositoryEffect is another repository: those who can write there decide what runs on the cluster, with the rights of the engine.
func (c *Cluster) repositoryEffect(part []*match.Change) Effect {
	was, is := part[0].Old.Scalar(), newlyFollowed(part[0])[0]
	if part[0].Old == nil {
		return c.effect(part, ChangesSync, Critical, "the GitOps engine follows one more repository: all who can write to "+is+" decide what runs on the cluster").
			withClauseOf("cluster "+c.Name, "follow", "the repository "+is+" too").withJobs(JobsIncluded).withHelp("merge it when you know who can write there")
	}
	if repositoryPlace(was) == is {
		return c.effect(part, ChangesSync, Warning, "the GitOps engine reads its repository in another way").withClause("are", "applied from or to another place")
	}
	if isForTenantJobs(part[0].Object()) {
		return c.effect(part, ChangesSync, Warning, "the GitOps engine starts jobs of the tenant from another repository: people who push to "+
			is+" do what editors do").withClause("run", "jobs from the repository "+is)
	}
	return c.effect(part, ChangesSync, Critical, "the GitOps engine follows another repository: all who can write to "+is+" decide what runs on the cluster").
		withClauseOf("cluster "+c.Name, "follow", "the repository "+is+" instead of "+repositoryPlace(was)).withJobs(JobsIncluded).
		withHelp("merge it when you know who can write there")
}

// newlyFollowed are the repositories that the new value of a change names.
func newlyFollowed(c *match.Change) []string {
	keys := []string{"repoURL", "url"}
	if c.Kind() == "Application" {
		keys = keys[:1]
	}
	if c.New.Leaf() && slices.Contains(keys, c.Path.Last()) {
		return []string{repositoryPlace(c.New.Scalar())}
	}
	return followedPlaces(c.New, keys)
}

// repositoryPlace is the host and the path of the address of a repository, however it is spelled: git.example.com/platform/mpi.
func repositoryPlace(address string) string {
	if _, rest, found := strings.Cut(address, "://"); found {
		address = rest
	} else if host, path, found := strings.Cut(address, ":"); found {
		address = host + "/" + path
	}
	host, path, _ := strings.Cut(address, "/")
	host = host[strings.LastIndex(host, "@")+1:]
	return strings.TrimSuffix(strings.TrimSuffix(host+"/"+path, "/"), ".git")
}

// deletesWithStage reports whether an engine deletes what a stage applied when the stage itself is deleted
// (https://fluxcd.io/flux/components/kustomize/kustomizations/#prune, https://argo-cd.readthedocs.io/en/stable/user-guide/app_deletion/).
func deletesWithStage(o *object.Object) bool {
	if o.ID.Group == argoGroup {
		return slices.ContainsFunc(o.Root.At("metadata", "finalizers").Strings(), func(name string) bool { return strings.HasPrefix(name, cascading) })
	}
	if o.ID.Kind != "Kustomization" || o.Root.Scalar("spec", "suspend") == "true" {
		return false
	}
	switch o.Root.Scalar("spec", "deletionPolicy") {
	case "Orphan":
		return false
	case "Delete", "WaitForTermination":
		return true
	}
	return o.Root.Scalar("spec", "prune") == "true"
}

// cascading begins the finalizers with which Argo CD deletes what an Application applied.
const cascading = "resources-finalizer.argocd.argoproj.io"

// projectBoundsEffect are what a project of Argo CD may apply.
func (c *Cluster) projectBoundsEffect(part []*match.Change) Effect {
	widened := slices.ContainsFunc(part, func(change *match.Change) bool {
		return change.Added() != strings.HasSuffix(listName(change), "Blacklist") || !change.Added() && !change.Removed()
	})
	if widened {
		severity := Warning
		if slices.ContainsFunc(part, func(change *match.Change) bool {
			return strings.Contains(valueText(change.New), "*") || listName(change) == "clusterResourceWhitelist"
		}) {
			severity = Critical
		}
		return c.effect(part, WidensAccess, severity, "a project of the GitOps engine may apply more").withClause("may", "apply more through the GitOps engine")
	}
	return c.effect(part, ChangesSync, Notice, "a project of the GitOps engine may apply less: what it no longer may is refused").withClause("may", "apply less through the GitOps engine")
}

func listName(c *match.Change) string {
	if len(c.Path) > 1 {
		return c.Path[1]
	}
	return ""
}
