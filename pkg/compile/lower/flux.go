package lower

import (
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// The APIs of Flux, in the form of kustomize-controller 1.9 and source-controller 1.9.
const (
	fluxKustomization = "kustomize.toolkit.fluxcd.io/v1"
	fluxSource        = "source.toolkit.fluxcd.io/v1"
)

var (
	sourceRule    = origin.Rule("flux source", "all stages read one revision of one repository")
	waitRule      = origin.Rule("flux", "the next stage begins when this one works")
	noWaitRule    = origin.Rule("flux", "a volume may wait for the first pod that uses it: waiting for it would never end")
	orphanRule    = origin.Rule("flux", "taking the wiring away must not take the platform away")
	tenantAccount = origin.Rule("flux", "a mistake in the folder of a tenant can harm this tenant only")
	dependsOnRule = origin.Rule("flux", "a stage begins when those are ready that it needs")
)

// stage is a folder that Flux applies.
type stage struct {
	name string
	path string
	// tenant is nil for what all share.
	tenant *plan.Tenant
	after  []string
	wait   object.Node
	// account is whose rights hold, "" for Flux's own.
	account string
	// keep says that the objects stay when the stage goes.
	keep bool
}

// fluxPlatform adds the source, the stage of the wiring itself, and the stages that all tenants share.
func (b *builder) fluxPlatform(c *plan.Cluster) {
	b.gitRepository(c)
	wait := object.Bool("wait", true, waitRule)
	b.fluxStage(c, stage{name: wiringName, path: stagePath(c, GitOpsFolder), keep: true})
	b.fluxStage(c, stage{name: platformName, path: stagePath(c, PlatformFolder), wait: wait, keep: true})
	if !hasRuntimes(c) {
		return
	}
	b.fluxStage(c, stage{name: runtimesName, path: stagePath(c, RuntimeFolder), after: []string{platformName}, wait: wait, keep: true})
}

// fluxTenant adds the two stages of a tenant. Claims may stay pending until a pod comes, so that a tenant with claims is not waited for.
func (b *builder) fluxTenant(c *plan.Cluster, t *plan.Tenant) {
	folder, boundary := stagePath(c, TenantFolder, t.Name.V), boundaryPrefix+t.Name.V
	b.fluxStage(c, stage{
		name: boundary, path: folder + "/" + BoundaryFolder, tenant: t, after: []string{platformName}, wait: object.Bool("wait", true, waitRule),
	})
	wait := object.Bool("wait", true, waitRule)
	if len(t.Claims) > 0 {
		wait = object.Bool("wait", false, noWaitRule)
	}
	after := []string{boundary}
	if hasRuntimes(c) {
		after = append(after, runtimesName)
	}
	b.fluxStage(c, stage{
		name: tenantPrefix + t.Name.V, path: folder, tenant: t, after: after, wait: wait, account: tenantPrefix + t.Name.V,
	})
}

func (b *builder) gitRepository(c *plan.Cluster) {
	g := c.GitOps
	spec := []object.Node{
		object.Text("interval", short(g.Interval.V), &g.Interval.Origin),
		object.Map("ref", text("branch", &g.Revision)),
		text("url", &g.Repository),
	}
	if g.Secret.V != "" {
		spec = append(spec, object.Map("secretRef", text("name", &g.Secret)))
	}
	b.add(sourceRule, fluxSource, "GitRepository", gitOpsMeta(c, nil, wiringName, fluxKeep()), object.Map("spec", spec...))
}

// fluxKeep keeps an object that the wiring no longer has.
func fluxKeep() object.Node {
	return object.Text("kustomize.toolkit.fluxcd.io/prune", "disabled", keepOwnRule)
}

func (b *builder) fluxStage(c *plan.Cluster, s stage) {
	var annotations []object.Node
	spec := []object.Node{
		object.Text("interval", "10m", driftRule),
		object.Text("path", "./"+s.path, made(&c.GitOps.Path.Origin, inPath)),
		object.Bool("prune", c.GitOps.Prune.V, &c.GitOps.Prune.Origin),
		object.Text("retryInterval", "1m", nil),
		object.Map("sourceRef", object.Text("kind", "GitRepository", nil), object.Text("name", wiringName, sourceRule)),
		object.Text("timeout", "5m", nil),
		s.wait,
	}
	if len(s.after) > 0 {
		spec = append(spec, object.List("dependsOn", names(s.after)...).With(dependsOnRule))
	}
	if s.account != "" {
		spec = append(spec, object.Text("serviceAccountName", s.account, tenantAccount))
	}
	if s.keep {
		spec = append(spec, object.Text("deletionPolicy", "Orphan", orphanRule))
		annotations = append(annotations, fluxKeep())
	}
	b.add(stageRule, fluxKustomization, "Kustomization", gitOpsMeta(c, s.tenant, s.name, annotations...), object.Map("spec", spec...))
}

func names(values []string) []object.Node {
	items := make([]object.Node, len(values))
	for i, value := range values {
		items[i] = object.Map("", object.Text("name", value, nil))
	}
	return items
}
