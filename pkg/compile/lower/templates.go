package lower

import (
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
)

var templatesRule = origin.Rule("templates", "people of a tenant find jobs to begin with beside their own, and read "+
	"them with rights that they have anyway; only the platform changes them")

// templates adds the templates of a tenant to a namespace, each as a separate object, so that a review shows one
// line for a template and all its tenants.
func (b *builder) templates(t *plan.Tenant, namespace *plan.Value[string]) {
	for _, template := range t.Templates {
		from := &origin.Origin{At: template.Span()}
		own := builder{place: b.place}
		own.place.Origin = from.At
		metadata := tenantMeta(t, namespace, object.Text("", "lockstep-template-"+template.Name, from))
		metadata.Get("labels").Put(object.Text(mpi.TemplatesLabel, "", nil))
		own.add(templatesRule, "v1", "ConfigMap", metadata,
			object.Map("data", object.Text(template.Name+".yaml", template.File.Text(), from)))
		b.objects = append(b.objects, own.objects...)
	}
}
