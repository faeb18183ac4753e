package plan

import (
	"iter"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/jobtemplate"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/resolve"
)

// planner plans the clusters of a repository.
type planner struct {
	*resolve.Bundle
	// own has the *TenantSpec of each document.
	own *sync.Map
}

// planTenants returns the sound tenants of a cluster, sorted by name.
func (p planner) planTenants(c *Cluster) []*Tenant {
	var result []*Tenant
	for _, d := range p.Tenants.All() {
		if !slices.Contains(d.Spec.Spec.Clusters, c.Name.V) {
			continue
		}
		if !d.Valid {
			c.Partial = true
			continue
		}
		t := planTenant(d, p.ownSpec(d), c)
		t.Ineffective = ineffectiveQueue(p.Bundle, d)
		t.Ineffective.Devices = ineffectiveDevices(p.Bundle, d)
		result = append(result, t)
	}
	return result
}

func tenantSpec(d *resolve.Definition[v1alpha1.Tenant]) *TenantSpec {
	spec := &d.Spec.Spec
	o := &TenantSpec{
		Name:         writtenValue(d.Document, &d.Spec.Metadata.Name),
		DisplayName:  writtenValue(d.Document, &spec.DisplayName),
		Admins:       sortedSubjects(d.Document, spec.People.Admins),
		Editors:      sortedSubjects(d.Document, spec.People.Editors),
		Viewers:      sortedSubjects(d.Document, spec.People.Viewers),
		Shell:        sortedSubjects(d.Document, spec.People.Shell),
		Secrets:      sortedSubjects(d.Document, spec.People.Secrets),
		Namespaces:   sortedNames(d.Document, spec.Namespaces),
		External:     sortedNames(d.Document, spec.ExternalRuntimes),
		Limits:       limits(d.Document, &spec.Limits.Container),
		Ingress:      ingress(d.Document, &spec.Network),
		PodSecurity:  orDefault(d.Document, &spec.PodSecurity, "the strictest Pod Security Standard, which all runtimes keep"),
		Encrypted:    orDefault(d.Document, &spec.Network.RequireEncryption, "traffic may be in the clear"),
		PullSecrets:  sortedNames(d.Document, spec.PullSecrets),
		Receivers:    receivers(d.Document, spec.Alerts),
		KeepFinished: derivedValue(d.Document, &spec.Retention.FinishedJobs, parseDuration(spec.Retention.FinishedJobs), "finished jobs stay until somebody deletes them"),
	}
	for i := range spec.Secrets {
		s := &spec.Secrets[i]
		o.StoredSecrets = append(o.StoredSecrets, StoredSecret{
			Name: writtenValue(d.Document, &s.Name), Store: writtenValue(d.Document, &s.Store),
			Key: writtenValue(d.Document, &s.Key), Type: orDefault(d.Document, &s.Type, "Secrets of any content have this type"),
		})
	}
	o.Claims = claims(d.Document, spec.Storage, o.Namespaces)
	if store := spec.ObjectStore; store != nil {
		o.ObjectStore = &ObjectStore{Secret: writtenValue(d.Document, &store.Secret), Endpoint: writtenValue(d.Document, &store.Endpoint)}
	}
	if own := spec.GitOps; own != nil && own.Jobs {
		o.Jobs = &JobSource{
			Wanted:     writtenValue(d.Document, &own.Jobs),
			Repository: writtenValue(d.Document, &own.Repository), Secret: writtenValue(d.Document, &own.Secret),
			Revision: orDefault(d.Document, &own.Revision, "the branch that holds what was merged"),
			Path:     orDefault(d.Document, &own.Path, "the whole repository"),
		}
	}
	return o
}

func planTenant(d *resolve.Definition[v1alpha1.Tenant], own *TenantSpec, c *Cluster) *Tenant {
	spec := &d.Spec.Spec
	t := &Tenant{
		TenantSpec: own,
		Named:      namedRuntimes(sortedNames(d.Document, spec.Runtimes), c),
		Quota:      quota(d.Document, &spec.Quota, c.Accelerators),
		Egress:     egress(d.Document, spec.Network.Egress, c.Services),
		Queue:      queue(d, c),
		OnlyHere:   len(spec.Clusters) == 1,
		Bases:      namedRuntimes(variantBases(d.Document, spec.Variants), c),
		Waivers:    waivers(d.Document, spec.Waivers),
	}
	t.Usable = usableRuntimes(t, c, len(spec.Runtimes) == 0)
	t.Quota.Storage = storageQuota(d.Document, spec)
	t.Variants = planVariants(d.Document, spec.Variants, c, t.ObjectStore)
	t.Templates = usableTemplates(t, c.Templates)
	return t
}

func usableTemplates(t *Tenant, all []*jobtemplate.Template) []*jobtemplate.Template {
	var usable []*jobtemplate.Template
	for _, template := range all {
		isOwn := func(v *Variant) bool { return v.Runtime.Name.V == template.Runtime() }
		isNamed := func(r *Runtime) bool { return r.Name.V == template.Runtime() }
		isExternal := func(name Value[string]) bool { return name.V == template.Runtime() }
		if template.OfTenant() && slices.ContainsFunc(t.Variants, isOwn) ||
			!template.OfTenant() && slices.ContainsFunc(t.Usable, isNamed) || slices.ContainsFunc(t.External, isExternal) {
			usable = append(usable, template)
		}
	}
	return usable
}

// sortedNames are list items, sorted.
func sortedNames(d *decode.Document, list []string) []Value[string] {
	result := make([]Value[string], 0, len(list))
	for i := range list {
		result = append(result, writtenValue(d, &list[i]))
	}
	return sortedUnique(result)
}

func namedRuntimes(named []Value[string], c *Cluster) []NamedRuntime {
	var result []NamedRuntime
	for _, name := range named {
		i := slices.IndexFunc(c.Catalog, func(r *Runtime) bool { return r.Name.V == name.V })
		if i >= 0 {
			result = append(result, NamedRuntime{Name: name, Runtime: c.Catalog[i], Here: slices.Contains(c.Runtimes, c.Catalog[i])})
		}
	}
	return result
}

func usableRuntimes(t *Tenant, c *Cluster, all bool) []*Runtime {
	var result []*Runtime
	for _, r := range c.Runtimes {
		named := all || slices.ContainsFunc(t.Named, func(u NamedRuntime) bool { return u.Runtime == r })
		if named && r.Admits(t.Name.V) {
			result = append(result, r)
		}
	}
	return result
}

// AllowedRuntimes returns the runtimes whose jobs may run in the tenant's namespaces: those of the catalog, and its own variants.
func (t *Tenant) AllowedRuntimes() iter.Seq[*Runtime] {
	all := slices.Clone(t.Usable)
	for _, v := range t.Variants {
		all = append(all, v.Runtime)
	}
	return slices.Values(all)
}

// RuntimesToCheck returns the runtimes of the tenant whose jobs may be larger than those of a runtime that it can use anyway: what holds for the
// others holds for these variants too.
func (t *Tenant) RuntimesToCheck() iter.Seq[*Runtime] {
	all := slices.Clone(t.Usable)
	for _, v := range t.Variants {
		if v.Runtime.MinNodes.V > v.Base.MinNodes.V || !slices.Contains(t.Usable, v.Base) {
			all = append(all, v.Runtime)
		}
	}
	return slices.Values(all)
}

// HasClaim reports whether the tenant has a claim in a namespace.
func (t *Tenant) HasClaim(name, namespace string) bool {
	return slices.ContainsFunc(t.Claims, func(c Claim) bool {
		return c.Name.V == name && slices.ContainsFunc(c.Namespaces, func(n Value[string]) bool { return n.V == namespace })
	})
}

// Claim returns the claim of the tenant with the name, or nil.
func (t *Tenant) Claim(name string) *Claim {
	i := slices.IndexFunc(t.Claims, func(c Claim) bool { return c.Name.V == name })
	if i < 0 {
		return nil
	}
	return &t.Claims[i]
}

// PinsMemory returns a runtime of the tenant whose pods need the capability IPC_LOCK, or nil.
func (t *Tenant) PinsMemory() *Runtime {
	for r := range t.AllowedRuntimes() {
		if r.Profile.Fabric.LockMemory.V {
			return r
		}
	}
	return nil
}

func quota(d *decode.Document, spec *v1alpha1.Quota, accelerators []string) Quota {
	return Quota{
		CPU:          writtenValue(d, &spec.CPU),
		Memory:       writtenValue(d, &spec.Memory),
		Pods:         writtenValue(d, &spec.Pods),
		Jobs:         writtenValue(d, &spec.Jobs),
		Accelerators: acceleratorQuota(d, spec, accelerators),
	}
}

// acceleratorQuota are the accelerators of a quota and those of the cluster that it leaves out.
func acceleratorQuota(d *decode.Document, spec *v1alpha1.Quota, accelerators []string) []Named[resource.Quantity] {
	result := namedEntries(d, &spec.Accelerators)
	for _, name := range accelerators {
		if _, found := spec.Accelerators[name]; !found {
			none := Value[resource.Quantity]{Origin: origin.Origin{
				At: d.Key(spec), Kind: origin.Default, Why: "a tenant gets none of the accelerators that its quota leaves out; without a line the number would be unlimited",
			}}
			result = append(result, Named[resource.Quantity]{Name: name, Value: none})
		}
	}
	return sortedByName(result)
}

// storageQuota is what the quota says, or what the tenant's own claims take in the namespace with most of them.
func storageQuota(d *decode.Document, spec *v1alpha1.TenantSpec) Value[*resource.Quantity] {
	own := writtenValue(d, &spec.Quota.Storage)
	if own.V != nil || len(spec.Storage) == 0 {
		return own
	}
	var sum resource.Quantity
	for _, claim := range spec.Storage {
		sum.Add(claim.Size)
	}
	own.V, own.Kind, own.Why = &sum, origin.Derived, "the sum of the tenant's own claims"
	for i := range spec.Storage {
		own.Also = append(own.Also, d.At(&spec.Storage[i].Size))
	}
	return own
}

func limits(d *decode.Document, spec *v1alpha1.ContainerLimits) Limits {
	const why = "a quota counts requests and memory limits, so that a container which says nothing must have some"
	return Limits{
		MaxCPU:        writtenValue(d, &spec.Max.CPU),
		MaxMemory:     writtenValue(d, &spec.Max.Memory),
		DefaultCPU:    orDefault(d, &spec.Default.CPU, why),
		DefaultMemory: orDefault(d, &spec.Default.Memory, why),
	}
}
