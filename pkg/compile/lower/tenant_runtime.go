package lower

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/template"
)

var tenantRuntimeRule = origin.Rule("tenant's runtime", "a runtime of one tenant alone is in its namespaces, where nobody else can name it")

// tenantRuntimes adds the tenant's variants to each of its namespaces. They differ in nothing but the namespace, so each is built
// once.
func (b *builder) tenantRuntimes(c *plan.Cluster, t *plan.Tenant, list *diag.List) {
	for _, v := range t.Variants {
		root, err := trainingRuntime(c, v.Runtime, func(p template.Runtime) (any, error) { return p.BuildNamespaced("") })
		if err != nil {
			list.Errorf(diag.RenderFails, v.Runtime.Name.At, "%v", err)
			continue
		}
		for i := range t.Namespaces {
			b.objects = append(b.objects, object.New(runtimeInNamespace(root, t, &t.Namespaces[i]), b.place, tenantRuntimeRule))
		}
	}
}

// runtimeInNamespace returns a copy of a runtime for one namespace. The content below its metadata is shared.
func runtimeInNamespace(root object.Node, t *plan.Tenant, namespace *plan.Value[string]) object.Node {
	own := root
	own.Children = slices.Clone(root.Children)
	metadata := own.Get("metadata")
	metadata.Children = slices.Clone(metadata.Children)
	metadata.Put(planText("namespace", namespace))
	labels := metadata.Get("labels")
	labels.Children = slices.Clone(labels.Children)
	labels.Put(planText(mpi.TenantLabel, &t.Name))
	return own
}
