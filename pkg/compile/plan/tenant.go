package plan

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/resolve"
)

// tenants returns the sound tenants of a cluster, sorted by name.
func tenants(b *resolve.Bundle, c *Cluster, catalog []*Runtime) []*Tenant {
	var result []*Tenant
	for _, d := range b.Tenants.All() {
		if !slices.Contains(d.Spec.Spec.Clusters, c.Name.V) {
			continue
		}
		if !d.Sound {
			c.Partial = true
			continue
		}
		result = append(result, tenant(d, c, catalog))
	}
	return result
}

func tenant(d *resolve.Definition[v1alpha1.Tenant], c *Cluster, catalog []*Runtime) *Tenant {
	spec := &d.Spec.Spec
	t := &Tenant{
		Name:        from(d.Document, &d.Spec.Metadata.Name),
		DisplayName: spec.DisplayName,
		Admins:      sorted(spec.People.Admins),
		Editors:     sorted(spec.People.Editors),
		Viewers:     sorted(spec.People.Viewers),
		Namespaces:  names(d.Document, spec.Namespaces),
		Named:       uses(d.Document, spec.Runtimes, c, catalog),
		Quota:       quota(d.Document, &spec.Quota, c.Accelerators),
		Limits:      limits(d.Document, &spec.Limits.Container),
		Egress:      egress(d.Document, spec.Network.Egress),
		IngressFrom: names(d.Document, spec.Network.IngressFromNamespaces),
		PodSecurity: spec.PodSecurity,
	}
	t.Usable = usable(t, c, len(spec.Runtimes) == 0)
	return t
}

func sorted(list []string) []string { return unique(slices.Clone(list)) }

func names(d *decode.Document, list []string) []Value[string] {
	var result []Value[string]
	for i := range list {
		result = append(result, from(d, &list[i]))
	}
	slices.SortFunc(result, func(a, b Value[string]) int { return cmp.Compare(a.V, b.V) })
	return result
}

func uses(d *decode.Document, written []string, c *Cluster, catalog []*Runtime) []Use {
	var result []Use
	for _, name := range names(d, written) {
		i := slices.IndexFunc(catalog, func(r *Runtime) bool { return r.Name.V == name.V })
		if i >= 0 {
			result = append(result, Use{Name: name, Runtime: catalog[i], Here: slices.Contains(c.Runtimes, catalog[i])})
		}
	}
	return result
}

func usable(t *Tenant, c *Cluster, all bool) []*Runtime {
	var result []*Runtime
	for _, r := range c.Runtimes {
		named := all || slices.ContainsFunc(t.Named, func(u Use) bool { return u.Runtime == r })
		if named && r.Admits(t.Name.V) {
			result = append(result, r)
		}
	}
	return result
}

func quota(d *decode.Document, spec *v1alpha1.Quota, accelerators []string) Quota {
	q := Quota{
		CPU:          from(d, &spec.CPU),
		Memory:       from(d, &spec.Memory),
		Pods:         from(d, &spec.Pods),
		Jobs:         from(d, &spec.Jobs),
		Accelerators: map[string]Value[resource.Quantity]{},
	}
	for _, name := range accelerators {
		q.Accelerators[name] = Value[resource.Quantity]{At: d.Key(spec)}
	}
	for name, amount := range spec.Accelerators {
		q.Accelerators[name] = derived(d, &spec.Accelerators, amount)
	}
	return q
}

func limits(d *decode.Document, spec *v1alpha1.ContainerLimits) Limits {
	return Limits{
		MaxCPU:        from(d, &spec.Max.CPU),
		MaxMemory:     from(d, &spec.Max.Memory),
		DefaultCPU:    from(d, &spec.Default.CPU),
		DefaultMemory: from(d, &spec.Default.Memory),
	}
}

func egress(d *decode.Document, written []v1alpha1.Egress) []Egress {
	var result []Egress
	for i := range written {
		e := &written[i]
		allowed := Egress{CIDR: from(d, &e.CIDR)}
		for _, p := range e.Ports {
			allowed.Ports = append(allowed.Ports, Port{Protocol: corev1.Protocol(p.Protocol), Port: p.Port})
		}
		result = append(result, allowed)
	}
	return result
}
