package lower

import (
	"path"
	"strconv"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// argoVersion is the API of Argo CD, as its versions 3.1 to 3.5 have it.
const argoVersion = "argoproj.io/v1alpha1"

// inCluster is what Argo CD calls the cluster that it runs on.
const inCluster = "https://kubernetes.default.svc"

// The waves of Argo CD: a lower one is created earlier and pruned later. A project must be there before its applications, and still
// there when these take their objects away.
const (
	projectWave = iota - 1
	platformWave
	runtimesWave
	boundaryWave
	tenantWave
)

var (
	projectRule       = origin.Rule("argo cd project", "a mistake in the folder of a tenant can harm this tenant only")
	platformProject   = origin.Rule("argo cd project", "the platform makes roles, policies and namespaces: it may do everything, from this repository only")
	namespacesRule    = origin.Rule("argo cd project", "the namespaces of the tenant and no others")
	kindsRule         = origin.Rule("argo cd project", "what people of the tenant may write themselves, and nothing that bounds the tenant")
	noClusterKinds    = origin.Rule("argo cd project", "nothing without namespace; the platform applies that")
	waveRule          = origin.Rule("argo cd wave", "the platform comes first, then runtimes and what bounds tenants, then what tenants may write themselves")
	retryRule         = origin.Rule("argo cd", "what a stage needs may come later: Argo CD does not wait for the health of an Application unless it is told to")
	syncOptionsRule   = origin.Rule("argo cd", "server-side apply changes only what is compiled; an object has one owner; what others need goes last")
	cascadeRule       = origin.Rule("argo cd", "with the Application of a tenant go its objects")
	argoTrackedServer = origin.Rule("argo cd", "the cluster that Argo CD runs on")
)

// argoPlatform adds the project and the applications of the platform. The first application is that of the wiring itself.
func (b *builder) argoPlatform(c *plan.Cluster) {
	everything := object.Map("", object.Text("group", "*", nil), object.Text("kind", "*", nil))
	b.argoProject(c, nil, wiringName, platformProject, &c.GitOps.Repository,
		object.List("clusterResourceWhitelist", everything),
		object.List("destinations", argoDestination(constantText("*"))))
	b.argoApplication(c, argoApplication{name: wiringName, project: wiringName, path: stagePath(c, GitOpsFolder), namespace: &c.GitOps.Namespace, wave: platformWave, keep: true})
	b.argoApplication(c, argoApplication{name: platformName, project: wiringName, path: stagePath(c, PlatformFolder), namespace: &c.ControllerNamespace, wave: platformWave, keep: true})
	if !hasRuntimes(c) {
		return
	}
	b.argoApplication(c, argoApplication{name: runtimesName, project: wiringName, path: stagePath(c, RuntimeFolder), namespace: &c.ControllerNamespace, wave: runtimesWave, keep: true})
}

// argoTenant adds the application of what bounds a tenant, which is the platform's, and, where the tenant has objects of its own, an
// application and a project for these.
func (b *builder) argoTenant(c *plan.Cluster, t *plan.Tenant, own []object.Object) {
	name, folder := tenantPrefix+t.Name.V, stagePath(c, TenantFolder, t.Name.V)
	first := &t.Namespaces[0]
	b.argoApplication(c, argoApplication{
		name: boundaryPrefix + t.Name.V, tenant: t, project: wiringName, path: folder + "/" + BoundaryFolder, namespace: first, wave: boundaryWave, cascade: true,
	})
	if g := t.Jobs; g != nil {
		jobs := jobsPrefix + t.Name.V
		b.argoTenantProject(c, t, jobs, trainJobKind, &g.Repository)
		b.argoApplication(c, argoApplication{
			name: jobs, tenant: t, project: jobs, path: path.Clean(g.Path.V), namespace: first, wave: tenantWave,
			repository: &g.Repository, revision: &g.Revision,
		})
	}
	if len(own) == 0 {
		return
	}
	b.argoTenantProject(c, t, name, kindsOf(own), &c.GitOps.Repository)
	b.argoApplication(c, argoApplication{name: name, tenant: t, project: name, path: folder, namespace: first, wave: tenantWave})
}

// argoTenantProject adds a project that admits kinds in the namespaces of a tenant, from one repository.
func (b *builder) argoTenantProject(c *plan.Cluster, t *plan.Tenant, name string, kinds []resourceKind, from *plan.Value[string]) {
	destinations := make([]object.Node, len(t.Namespaces))
	for i := range t.Namespaces {
		destinations[i] = argoDestination(planText("", &t.Namespaces[i]))
	}
	b.argoProject(c, t, name, projectRule, from,
		object.List("clusterResourceWhitelist").With(noClusterKinds),
		object.List("destinations", destinations...).With(namespacesRule),
		object.List("namespaceResourceWhitelist", kindWhitelist(kinds)...).With(kindsRule))
}

func kindWhitelist(kinds []resourceKind) []object.Node {
	items := make([]object.Node, len(kinds))
	for i, kind := range kinds {
		items[i] = object.Map("", object.Text("group", kind.group, nil), object.Text("kind", kind.kind, nil))
	}
	return items
}

func argoDestination(namespace object.Node) object.Node {
	return object.Map("", namespace.Named("namespace"), object.Text("server", inCluster, argoTrackedServer))
}

func (b *builder) argoProject(c *plan.Cluster, t *plan.Tenant, name string, rule *origin.Origin, from *plan.Value[string], spec ...object.Node) {
	spec = append(spec, object.List("sourceRepos", planText("", from)))
	annotations := []object.Node{syncWave(projectWave)}
	if t == nil {
		annotations = append(annotations, argoKeepAnnotation())
	}
	b.add(rule, argoVersion, "AppProject", gitOpsMeta(c, t, name, annotations...), object.Map("spec", spec...))
}

func syncWave(n int) object.Node {
	return object.Text("argocd.argoproj.io/sync-wave", strconv.Itoa(n), waveRule)
}

// argoKeepAnnotation keeps an object that the wiring no longer has.
func argoKeepAnnotation() object.Node {
	return object.Text("argocd.argoproj.io/sync-options", "Prune=false,Delete=false", keepOwnRule)
}

// argoApplication is a folder that Argo CD applies.
type argoApplication struct {
	name, project, path string
	// tenant is nil for what all share.
	tenant    *plan.Tenant
	namespace *plan.Value[string]
	wave      int
	// cascade says that the objects go with the application, and keep that the application stays when git no longer has it.
	cascade, keep bool
	// repository and revision are nil for those of the platform.
	repository, revision *plan.Value[string]
}

func (b *builder) argoApplication(c *plan.Cluster, a argoApplication) {
	g := c.GitOps
	from, of := derivedOrigin(&g.Path.Origin, inPath), (*origin.Origin)(nil)
	automated := object.Map("automated",
		object.Bool("prune", g.Prune.V, &g.Prune.Origin),
		object.Bool("selfHeal", true, driftRule))
	if a.repository != nil && g.Prune.V {
		automated.Put(object.Bool("allowEmpty", true, lastJobRule))
	}
	if a.repository == nil {
		a.repository, a.revision = &g.Repository, &g.Revision
	} else {
		from, of = &a.tenant.Jobs.Path.Origin, derivedOrigin(&a.tenant.Jobs.Wanted.Origin, ofTenant)
	}
	annotations := []object.Node{syncWave(a.wave)}
	if a.keep {
		annotations = append(annotations, argoKeepAnnotation())
	}
	metadata := gitOpsMeta(c, a.tenant, a.name, annotations...)
	if a.cascade && g.Prune.V {
		metadata.Put(object.Texts("finalizers", cascadeRule, "resources-finalizer.argocd.argoproj.io"))
	}
	b.add(stageRule, argoVersion, "Application", metadata, object.Map("spec",
		argoDestination(planText("", a.namespace)).Named("destination"),
		object.Text("project", a.project, of),
		object.Map("source",
			object.Text("path", a.path, from),
			planText("repoURL", a.repository),
			planText("targetRevision", a.revision)),
		argoSyncPolicy(g, automated)))
}

// argoSyncPolicy tries again, because what a stage needs may come later. With the newest commit it may try forever; a version that tries
// the same commit again must give up, or a good commit would never follow a bad one. It gives up after a minute.
func argoSyncPolicy(g *plan.GitOps, automated object.Node) object.Node {
	retry := object.Map("retry",
		object.Map("backoff", object.Text("duration", "5s", nil), object.Number("factor", 2, nil), object.Text("maxDuration", "20s", nil)),
		object.Number("limit", 5, &g.Refreshes.Origin)).With(retryRule)
	if g.Refreshes.V {
		retry.Put(object.Number("limit", -1, &g.Refreshes.Origin))
		retry.Put(object.Bool("refresh", true, &g.Refreshes.Origin))
	}
	return object.Map("syncPolicy",
		automated,
		retry,
		object.Texts("syncOptions", syncOptionsRule, "ServerSideApply=true", "FailOnSharedResource=true", "PruneLast=true"))
}
