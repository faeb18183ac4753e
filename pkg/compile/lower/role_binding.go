package lower

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/compile/plan"
)

// roleBindings binds the tenant's groups to their roles in one namespace.
func (b *builder) roleBindings(t *plan.Tenant, namespace string) {
	for _, binding := range []struct {
		role   string
		groups []string
	}{
		{adminRole, t.Admins},
		{editorRole, t.Editors},
		{viewerRole, t.Viewers},
	} {
		if len(binding.groups) == 0 {
			continue
		}
		b.add(rbacv1.RoleBinding{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
			ObjectMeta: tenantMeta(t, namespace, binding.role),
			Subjects:   groups(binding.groups),
			RoleRef:    clusterRoleRef(binding.role),
		})
	}
}

// tenantRuntimeReaders lets the tenant's people read the catalog. Runtimes have no namespace, so only a ClusterRoleBinding can
// say it; there is one per tenant, so that it goes when the tenant goes.
func (b *builder) tenantRuntimeReaders(t *plan.Tenant) {
	people := slices.Concat(t.Admins, t.Editors, t.Viewers)
	slices.Sort(people)
	b.add(rbacv1.ClusterRoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
		ObjectMeta: tenantMeta(t, "", "lockstep-runtime-reader-"+t.Name.V),
		Subjects:   groups(slices.Compact(people)),
		RoleRef:    clusterRoleRef(runtimeReaderRole),
	})
}

func groups(names []string) []rbacv1.Subject {
	var subjects []rbacv1.Subject
	for _, name := range names {
		subjects = append(subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: name})
	}
	return subjects
}

func clusterRoleRef(name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
}
