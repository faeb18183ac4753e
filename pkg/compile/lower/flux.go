package lower

import (
	"path"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// The APIs of Flux, in the form of Flux 2.7 and later.
const (
	fluxKustomization = "kustomize.toolkit.fluxcd.io/v1"
	fluxSource        = "source.toolkit.fluxcd.io/v1"
)

var (
	sourceRule    = origin.Rule("flux source", "all stages read one revision of one repository")
	waitRule      = origin.Rule("flux", "a stage is ready when what it applied works")
	noWaitRule    = origin.Rule("flux", "a volume may wait for the first pod that uses it: waiting for it would never end")
	settleRule    = origin.Rule("flux", "a later commit waits until the health of this one is known: what starts no pods settles in seconds")
	orphanRule    = origin.Rule("flux", "taking the wiring away must not take the platform away")
	tenantAccount = origin.Rule("flux", "a mistake in the folder of a tenant can harm this tenant only")
	dependsOnRule = origin.Rule("flux", "what a stage needs was applied once: a later change waits for no other stage, and a broken stage holds up no other")
	jobsSource    = origin.Rule("flux jobs", "the tenant's people decide what is in their repository, and their account what of it is applied")
	jobsStayRule  = origin.Rule("flux jobs", "jobs go with their namespace, and nobody needs the tenant's account to take the stage away")
	jobHealthRule = origin.Rule("flux jobs", "a job that fails, or waits in a queue, is no failure of the stage")
	healthRule    = origin.Rule("flux health", "a queue works when Kueue admits jobs to it, and when somebody stopped it")
)

// fluxStage is a folder that Flux applies.
type fluxStage struct {
	name string
	path string
	// source is the GitRepository with the folder, "" for the platform's; of then says where its path is from.
	source string
	of     *origin.Origin
	// namespace is where objects go that name none, nil for nowhere.
	namespace *plan.Value[string]
	// tenant is nil for what all share.
	tenant *plan.Tenant
	// after is the stage that must have been applied once, or "".
	after string
	wait  object.Node
	// queues is the API of the queues in it, or "".
	queues string
	// timeout is how long the objects may take to work, "" for as long as images take to be pulled.
	timeout string
	// account is whose rights hold, "" for Flux's own.
	account string
	// orphans is why the objects stay when the stage goes, nil if they go with it.
	orphans *origin.Origin
	// keep says that the stage stays when git no longer has it.
	keep bool
}

// fluxPlatform adds the source, the stage of the wiring itself, and the stages that all tenants share.
func (b *builder) fluxPlatform(c *plan.Cluster) {
	g := c.GitOps
	b.gitRepository(c, sourceRule, gitOpsMeta(c, nil, wiringName, fluxKeepAnnotation()), &g.Repository, &g.Revision, &g.Secret)
	wait := object.Bool("wait", true, waitRule)
	b.fluxStage(c, fluxStage{name: wiringName, path: stagePath(c, GitOpsFolder), orphans: orphanRule, keep: true})
	b.fluxStage(c, fluxStage{name: platformName, path: stagePath(c, PlatformFolder), wait: wait, orphans: orphanRule, keep: true})
	if !hasRuntimes(c) {
		return
	}
	b.fluxStage(c, fluxStage{name: runtimesName, path: stagePath(c, RuntimeFolder), after: platformName, wait: wait, timeout: settles, orphans: orphanRule, keep: true})
}

// fluxTenant adds the stage of what bounds a tenant and, where the tenant has objects of its own, one for these. These are claims, which
// may stay pending until a pod comes, so that nobody waits for them.
func (b *builder) fluxTenant(c *plan.Cluster, t *plan.Tenant, own []object.Object) {
	folder, boundary := stagePath(c, TenantFolder, t.Name.V), boundaryPrefix+t.Name.V
	bounds := fluxStage{
		name: boundary, path: folder + "/" + BoundaryFolder, tenant: t, after: platformName, wait: object.Bool("wait", true, waitRule), timeout: settles,
	}
	if t.Queue != nil {
		bounds.queues = kueueAPI(c)
	}
	b.fluxStage(c, bounds)
	b.fluxJobs(c, t)
	if len(own) == 0 {
		return
	}
	b.fluxStage(c, fluxStage{
		name: tenantPrefix + t.Name.V, path: folder, tenant: t, after: boundary, wait: object.Bool("wait", false, noWaitRule), account: tenantPrefix + t.Name.V,
		orphans: claimsStayRule,
	})
}

// fluxJobs adds the source and the stage of the tenant's own repository. A job goes from the cluster when git no longer has it.
func (b *builder) fluxJobs(c *plan.Cluster, t *plan.Tenant) {
	if t.Jobs == nil {
		return
	}
	name, g := jobsPrefix+t.Name.V, t.Jobs
	b.gitRepository(c, jobsSource, gitOpsMeta(c, t, name), &g.Repository, &g.Revision, &g.Secret)
	stage := fluxStage{
		name: name, path: strings.TrimPrefix(path.Clean(g.Path.V), "."), source: name, of: &g.Path.Origin,
		tenant: t, after: boundaryPrefix + t.Name.V, account: name,
		wait: object.Bool("wait", false, jobHealthRule), timeout: settles, orphans: jobsStayRule,
	}
	if len(t.Namespaces) == 1 {
		stage.namespace = &t.Namespaces[0]
	}
	b.fluxStage(c, stage)
}

func (b *builder) gitRepository(c *plan.Cluster, rule *origin.Origin, metadata object.Node, url, branch, secret *plan.Value[string]) {
	spec := []object.Node{
		object.Text("interval", shortDuration(c.GitOps.Interval.V), &c.GitOps.Interval.Origin),
		object.Map("ref", planText("branch", branch)),
		planText("url", url),
	}
	if secret.V != "" {
		spec = append(spec, object.Map("secretRef", planText("name", secret)))
	}
	b.add(rule, fluxSource, "GitRepository", metadata, object.Map("spec", spec...))
}

// fluxKeepAnnotation keeps an object that the wiring no longer has.
func fluxKeepAnnotation() object.Node {
	return object.Text("kustomize.toolkit.fluxcd.io/prune", "disabled", keepOwnRule)
}

func (b *builder) fluxStage(c *plan.Cluster, s fluxStage) {
	var annotations []object.Node
	source, of := object.Text("name", wiringName, sourceRule), derivedOrigin(&c.GitOps.Path.Origin, inPath)
	if s.source != "" {
		source, of = object.Text("name", s.source, jobsSource), s.of
	}
	spec := []object.Node{
		object.Text("interval", "10m", driftRule),
		object.Text("path", "./"+s.path, of),
		object.Bool("prune", c.GitOps.Prune.V, &c.GitOps.Prune.Origin),
		object.Text("retryInterval", "1m", nil),
		object.Map("sourceRef", object.Text("kind", "GitRepository", nil), source),
		s.timeoutOr("5m"),
		s.wait,
	}
	if s.after != "" {
		spec = append(spec, object.List("dependsOn", object.Map("",
			object.Text("name", s.after, nil), object.Text("readyExpr", appliedOnce, nil))).With(dependsOnRule))
	}
	if s.queues != "" {
		spec = append(spec, object.List("healthCheckExprs", queueHealthCheck(s.queues, "ClusterQueue"), queueHealthCheck(s.queues, "LocalQueue")).With(healthRule))
	}
	if s.namespace != nil {
		spec = append(spec, planText("targetNamespace", s.namespace))
	}
	if s.account != "" {
		by := tenantAccount
		if s.source != "" {
			by = derivedOrigin(&s.tenant.Jobs.Wanted.Origin, ofTenant)
		}
		spec = append(spec, object.Text("serviceAccountName", s.account, by))
	}
	if s.orphans != nil {
		spec = append(spec, object.Text("deletionPolicy", "Orphan", s.orphans))
	}
	if s.keep {
		annotations = append(annotations, fluxKeepAnnotation())
	}
	b.add(stageRule, fluxKustomization, "Kustomization", gitOpsMeta(c, s.tenant, s.name, annotations...), object.Map("spec", spec...))
}

// settles is the timeout of stages that start no pods.
const settles = "1m"

func (s *fluxStage) timeoutOr(usual string) object.Node {
	if s.timeout == "" {
		return object.Text("timeout", usual, nil)
	}
	return object.Text("timeout", s.timeout, settleRule)
}

// appliedOnce is true of a stage that was ready with some revision. Without an expression Flux asks that the other stage is ready with
// this revision, looks again half a minute later, and waits forever where the other one is broken.
const appliedOnce = "has(dep.status.lastAppliedRevision)"

// queueWorks is true of a queue to which Kueue admits jobs, of one that somebody stopped, and of a LocalQueue that follows its ClusterQueue,
// which has a health of its own.
const queueWorks = "has(status.conditions) && status.conditions.exists(c, c.type == 'Active' && (c.status == 'True' || c.reason in ['Stopped', 'ClusterQueueIsInactive']))"

// queueHealthCheck tells when a queue of Kueue works: Flux takes one for ready that Kueue has not looked at.
func queueHealthCheck(api, kind string) object.Node {
	return object.Map("",
		object.Text("apiVersion", api, nil), object.Text("current", queueWorks, nil), object.Text("inProgress", "!("+queueWorks+")", nil), object.Text("kind", kind, nil))
}
