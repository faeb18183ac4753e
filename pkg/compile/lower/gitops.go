package lower

import (
	"path"
	"slices"
	"strings"
	"time"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
)

// What a GitOps engine needs is in GitOpsFolder, apart from what it applies: somebody applies that folder once, and from then on the
// engine applies it itself. The folder of a tenant is split there: BoundaryFolder has all that bounds the tenant, which the platform's
// account applies; what the tenant's people may write themselves is beside it, and is applied with rights for nothing else
// (docs/decisions/2026-11-23-gitops-ownership.md).
const (
	GitOpsFolder   = "gitops"
	BoundaryFolder = "boundary"
)

// The names of the engine's objects. Those of tenants end with the tenant's name.
const (
	wiringName     = "lockstep"
	platformName   = "lockstep-platform"
	runtimesName   = "lockstep-runtimes"
	boundaryPrefix = "lockstep-boundary-"
	tenantPrefix   = "lockstep-tenant-"
)

var (
	stageRule   = origin.Rule("gitops", "the platform comes first, then runtimes and what bounds tenants, then what tenants may write themselves")
	partOfRule  = origin.Rule("gitops", "the engine writes to its own objects, so that they do not have the label of objects that nobody may change")
	nameRule    = origin.Rule("gitops", "the bundle has one source and one stage of each kind on a cluster")
	keepOwnRule = origin.Rule("gitops", "taking the wiring away must not take the platform away: somebody deletes it by hand")
	// claimsStayRule is about the stage of a tenant's own objects.
	claimsStayRule = origin.Rule("gitops", "volumes stay when their tenant goes, and nobody needs the tenant's account to take the stage away")
	lastJobRule    = origin.Rule("gitops", "a tenant may take its last job out of git, and Argo CD empties no stage without")
	driftRule      = origin.Rule("gitops", "what somebody changed in the cluster is put right within ten minutes; what changes in git comes sooner")
)

// gitOps adds the wiring of what all tenants share.
func (b *builder) gitOps(c *plan.Cluster) {
	if c.GitOps == nil {
		return
	}
	wiring := builder{place: object.Place{Folder: GitOpsFolder, File: PlatformFile, Origin: c.GitOps.Repository.At}}
	if c.GitOps.Flux.V {
		wiring.fluxPlatform(c)
	} else {
		wiring.argoPlatform(c)
	}
	b.objects = append(b.objects, wiring.objects...)
}

// tenantGitOps splits what was compiled for a tenant and adds its wiring.
func (b *builder) tenantGitOps(c *plan.Cluster, t *plan.Tenant) {
	if c.GitOps == nil {
		return
	}
	bounds := builder{place: b.place}
	bounds.place.Folder = path.Join(b.place.Folder, BoundaryFolder)
	var own []object.Object
	for i := range b.objects {
		o := &b.objects[i]
		if isOwnedByTenant(o) {
			own = append(own, *o)
			continue
		}
		o.Folder = bounds.place.Folder
		if o.ID.Kind == "Namespace" && len(t.Claims) > 0 {
			keepNamespace(o)
		}
	}
	wiring := builder{place: object.Place{Folder: GitOpsFolder, File: "tenant-" + t.Name.V, Origin: t.Name.At}}
	if c.GitOps.Flux.V {
		bounds.fluxApplier(c, t, own)
		wiring.fluxTenant(c, t, own)
	} else {
		wiring.argoTenant(c, t, own)
	}
	b.objects = append(append(b.objects, bounds.objects...), wiring.objects...)
}

// isOwnedByTenant reports whether people of a tenant may write such an object too: then it bounds nobody. Everything else does: quotas, limits,
// network policies, queues, bindings of roles, accounts, namespaces, and runtimes, which say what pods are.
func isOwnedByTenant(o *object.Object) bool { return o.ID.Kind == "PersistentVolumeClaim" }

// keepNamespace keeps a namespace with volumes when its tenant goes: its claims are kept, but would go with it.
func keepNamespace(o *object.Object) {
	metadata := o.Root.Get("metadata")
	annotations := metadata.Get("annotations")
	if annotations == nil {
		metadata.Put(object.Map("annotations"))
		annotations = metadata.Get("annotations")
	}
	for _, keep := range keepAnnotations(keepRule) {
		annotations.Put(keep)
	}
}

// gitOpsMeta names an object of the engine. Annotations may be empty.
func gitOpsMeta(c *plan.Cluster, t *plan.Tenant, name string, annotations ...object.Node) object.Node {
	labels := []object.Node{object.Text("app.kubernetes.io/part-of", managedBy, partOfRule)}
	from := nameRule
	if t != nil {
		labels, from = append(labels, planText(mpi.TenantLabel, &t.Name)), derivedOrigin(&t.Name.Origin, ofTenant)
	}
	metadata := object.Map("metadata", object.Map("labels", labels...), object.Text("name", name, from), planText("namespace", &c.GitOps.Namespace))
	if len(annotations) > 0 {
		metadata.Put(object.Map("annotations", annotations...))
	}
	return metadata
}

// stagePath is the folder of a stage in the repository.
func stagePath(c *plan.Cluster, folders ...string) string {
	return path.Join(append([]string{c.GitOps.Path.V, c.Name.V}, folders...)...)
}

// hasRuntimes reports whether there is a folder of runtimes.
func hasRuntimes(c *plan.Cluster) bool { return len(c.Runtimes) > 0 }

// resourceKind is a kind of objects by its group.
type resourceKind struct{ group, kind string }

// kindsOf returns the kinds of objects, sorted, each once.
func kindsOf(objects []object.Object) []resourceKind {
	var kinds []resourceKind
	for i := range objects {
		k := resourceKind{group: objects[i].ID.Group, kind: objects[i].ID.Kind}
		if !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	slices.SortFunc(kinds, func(a, b resourceKind) int {
		if a.group != b.group {
			return strings.Compare(a.group, b.group)
		}
		return strings.Compare(a.kind, b.kind)
	})
	return kinds
}

// shortDuration is a duration without the zero minutes and seconds that Go writes: 5m, not 5m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
