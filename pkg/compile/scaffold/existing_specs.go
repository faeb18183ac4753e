package scaffold

import (
	"io/fs"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/resolve"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Existing is what a repository has already. Mistakes in its specs do not matter here: what can be read is known.
type Existing struct {
	bundle *resolve.Bundle
	plans  []*plan.Cluster
}

// ReadExisting reads the repository below root as Compile with the same options does.
func ReadExisting(root fs.FS, options compile.Options) *Existing {
	list := &diag.List{}
	loader := decode.Loader{Root: root, Jsonnet: options.Jsonnet, Workers: options.Workers}
	k := &Existing{bundle: resolve.IndexDocuments(loader.Load(source.Find(root), list), list)}
	k.plans = plan.Clusters(k.bundle, "")
	return k
}

// Names returns the names of the specs of a kind, sorted.
func (k *Existing) Names(kind string) []string {
	switch kind {
	case v1alpha1.HardwareProfileKind:
		return k.bundle.Profiles.Names()
	case v1alpha1.MPIRuntimeKind:
		return k.bundle.Runtimes.Names()
	case v1alpha1.TenantKind:
		return k.bundle.Tenants.Names()
	}
	return k.bundle.Clusters.Names()
}

// exampleNames returns by key the first name of what the key refers to, where there is one.
func (k *Existing) exampleNames() map[string]string {
	names := map[string]string{}
	for key, kind := range map[string]string{
		"profile": v1alpha1.HardwareProfileKind, "runtime": v1alpha1.MPIRuntimeKind, "runtimes": v1alpha1.MPIRuntimeKind,
		"clusters": v1alpha1.ClusterKind, "tenants": v1alpha1.TenantKind, "successor": v1alpha1.MPIRuntimeKind,
	} {
		if known := k.Names(kind); len(known) > 0 {
			names[key] = known[0]
		}
	}
	return names
}

// hasAccelerators reports whether the machines of a profile have accelerators.
func (k *Existing) hasAccelerators(profile string) bool {
	definition := k.bundle.Profiles.Get(profile)
	return definition != nil && definition.Spec.Spec.Accelerator != nil
}

// largestJob returns the most that a job of default size takes from a quota, over the runtimes that a tenant could use on some clusters:
// those named, or all that admit it.
func (k *Existing) largestJob(tenant string, clusters, runtimes []string) corev1.ResourceList {
	most := corev1.ResourceList{}
	for _, c := range k.plans {
		if !slices.Contains(clusters, c.Name.V) {
			continue
		}
		for _, r := range c.Runtimes {
			if len(runtimes) == 0 && r.Admits(tenant) || slices.Contains(runtimes, r.Name.V) {
				raiseToMost(most, r.JobResources(r.DefaultNodes.V))
			}
		}
	}
	return most
}

func raiseToMost(most, job corev1.ResourceList) {
	for name, amount := range job {
		if at := most[name]; amount.Cmp(at) > 0 {
			most[name] = amount
		}
	}
}

// roundUp returns the least multiple of a unit that is not less than an amount.
func roundUp(amount resource.Quantity, unit int64) int64 {
	return (amount.Value() + unit - 1) / unit * unit
}
