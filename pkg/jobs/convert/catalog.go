package convert

import (
	"io/fs"
	"slices"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Catalog is what a repository offers. What is proposed for one job is added, so that the next one may use it. The zero Catalog is
// empty.
type Catalog struct {
	runtimes []*v1alpha1.MPIRuntime
	profiles []*v1alpha1.HardwareProfile
	tenants  []*v1alpha1.Tenant
	// Unread are specs that could not be read: programs, and specs with mistakes.
	Unread []Problem
	// proposed are the names of runtimes and profiles that conversion added.
	proposed map[string]bool
}

// LoadCatalog reads the specs of a repository. Overlays are not looked at: they change what is compiled for one cluster.
func LoadCatalog(root fs.FS) *Catalog {
	root = source.Visible(root)
	list, c := &diag.List{}, &Catalog{}
	for _, d := range (decode.Loader{Root: root}).Load(source.Find(root), list) {
		if !d.Valid {
			continue
		}
		switch spec := d.Spec.(type) {
		case *v1alpha1.MPIRuntime:
			c.runtimes = append(c.runtimes, spec)
		case *v1alpha1.HardwareProfile:
			c.profiles = append(c.profiles, spec)
		case *v1alpha1.Tenant:
			c.tenants = append(c.tenants, spec)
		}
	}
	for _, d := range list.Sorted() {
		if d.Severity == diag.Error {
			c.Unread = append(c.Unread, Problem{At: d.Span, Message: d.Message})
		}
	}
	return c
}

// IsEmpty reports whether there is no runtime in the catalog.
func (c *Catalog) IsEmpty() bool { return len(c.runtimes) == 0 }

func (c *Catalog) findProfile(name string) *v1alpha1.HardwareProfile {
	if i := slices.IndexFunc(c.profiles, func(p *v1alpha1.HardwareProfile) bool { return p.Metadata.Name == name }); i >= 0 {
		return c.profiles[i]
	}
	return nil
}

// tenantOf returns the tenant with a namespace, or nil.
func (c *Catalog) tenantOf(namespace string) *v1alpha1.Tenant {
	if i := slices.IndexFunc(c.tenants, func(t *v1alpha1.Tenant) bool { return slices.Contains(t.Spec.Namespaces, namespace) }); i >= 0 {
		return c.tenants[i]
	}
	return nil
}

// machineLabels are the labels by which machines of any profile are found.
func (c *Catalog) machineLabels() map[string]bool {
	all := map[string]bool{}
	for _, p := range c.profiles {
		for name := range machineLabelsOf(p) {
			all[name] = true
		}
	}
	return all
}
