package fetch

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/mpi"
)

// Tenant is whose a namespace is, as far as it can be read. The name is empty for a namespace of nobody, and where nothing can be read.
type Tenant struct {
	Name string
	// Admins are the groups of its admins.
	Admins []string
}

// tenantAdminRole is the role of the admins of all tenants (pkg/compile/lower).
const tenantAdminRole = "lockstep-tenant-admin"

// TenantOf returns whose a namespace is. Few may read role bindings, and viewers may read quotas, which carry the name too.
func TenantOf(ctx context.Context, c client.Reader, namespace string) Tenant {
	var tenant Tenant
	ours := []client.ListOption{client.InNamespace(namespace), client.HasLabels{mpi.TenantLabel}}
	var bindings rbacv1.RoleBindingList
	if c.List(ctx, &bindings, ours...) == nil {
		for _, binding := range bindings.Items {
			tenant.Name = binding.Labels[mpi.TenantLabel]
			if binding.RoleRef.Name != tenantAdminRole {
				continue
			}
			for _, subject := range binding.Subjects {
				if subject.Kind == rbacv1.GroupKind {
					tenant.Admins = append(tenant.Admins, subject.Name)
				}
			}
		}
		slices.Sort(tenant.Admins)
	}
	if tenant.Name != "" {
		return tenant
	}
	var quotas corev1.ResourceQuotaList
	if c.List(ctx, &quotas, ours...) == nil && len(quotas.Items) > 0 {
		tenant.Name = quotas.Items[0].Labels[mpi.TenantLabel]
	}
	return tenant
}
