package lower

import (
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

var (
	adminBindingRule  = origin.Rule("admin binding", "members of `people.admins` get the admin role in the tenant's namespaces")
	editorBindingRule = origin.Rule("editor binding", "members of `people.editors` get the editor role in the tenant's namespaces")
	shellBindingRule  = origin.Rule("shell binding", "members of `people.shell` get the shell role in the tenant's namespaces")
	secretsBindRule   = origin.Rule("secrets binding", "members of `people.secrets` bring Secrets to the tenant's jobs")
	viewerBindingRule = origin.Rule("viewer binding", "members of `people.viewers` get the viewer role in the tenant's namespaces")
	readerBindingRule = origin.Rule("runtime readers", "all people of a tenant may read the catalog; runtimes have no namespace, so only a ClusterRoleBinding can say it")
)

const (
	rbacGroup   = "rbac.authorization.k8s.io"
	rbacVersion = rbacGroup + "/v1"
)

// roleBindings binds the tenant's people and accounts to their roles in one namespace.
func (b *builder) roleBindings(t *plan.Tenant, namespace *plan.Value[string]) {
	b.roleBinding(t, namespace, adminBindingRule, adminRole, t.Admins)
	b.roleBinding(t, namespace, editorBindingRule, editorRole, t.Editors)
	b.roleBinding(t, namespace, viewerBindingRule, viewerRole, t.Viewers)
	b.roleBinding(t, namespace, shellBindingRule, shellRole, t.Shell)
	b.roleBinding(t, namespace, secretsBindRule, secretsRole, t.Secrets)
}

func (b *builder) roleBinding(t *plan.Tenant, namespace *plan.Value[string], rule *origin.Origin, role string, people []plan.Value[plan.Subject]) {
	if len(people) == 0 {
		return
	}
	subjects := make([]object.Node, len(people))
	for i := range people {
		subjects[i] = roleSubject(&people[i])
	}
	b.add(rule, rbacVersion, "RoleBinding",
		tenantMeta(t, namespace, constantText(role)), clusterRoleRef(role), object.List("subjects", subjects...))
}

// tenantRuntimeReaders lets the tenant's people read the catalog. Runtimes have no namespace, so only a ClusterRoleBinding can
// say it; there is one per tenant, so that it goes when the tenant goes.
func (b *builder) tenantRuntimeReaders(t *plan.Tenant) {
	people := t.SubjectsOfRoles()
	subjects := make([]object.Node, len(people))
	for i, name := range people {
		subjects[i] = roleSubject(name)
	}
	b.add(readerBindingRule, rbacVersion, "ClusterRoleBinding",
		tenantMeta(t, nil, object.Text("", "lockstep-runtime-reader-"+t.Name.V, derivedOrigin(&t.Name.Origin, ofTenant))),
		clusterRoleRef(runtimeReaderRole), object.List("subjects", subjects...))
}

func roleSubject(who *plan.Value[plan.Subject]) object.Node {
	name := planText("name", &plan.Value[string]{V: who.V.Name, Origin: who.Origin})
	if who.V.Kind == plan.ServiceAccountKind {
		return object.Map("", object.Text("kind", who.V.Kind, nil), name, planText("namespace", &plan.Value[string]{V: who.V.Namespace, Origin: who.Origin}))
	}
	return object.Map("", object.Text("apiGroup", rbacGroup, nil), object.Text("kind", who.V.Kind, nil), name)
}

func clusterRoleRef(name string) object.Node {
	return object.Map("roleRef", object.Text("apiGroup", rbacGroup, nil), object.Text("kind", "ClusterRole", nil), object.Text("name", name, nil))
}
