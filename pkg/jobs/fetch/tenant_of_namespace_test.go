package fetch

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"lockstep.dev/lockstep/pkg/mpi"
)

// People ask a group for a right, and no account of a program.
func TestAdminsAreGroups(t *testing.T) {
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	admins := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "vision", Name: "a", Labels: map[string]string{mpi.TenantLabel: "vision"}},
		RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", Name: tenantAdminRole},
		Subjects: []rbacv1.Subject{
			{Kind: rbacv1.GroupKind, Name: "vision-admins"}, {Kind: rbacv1.ServiceAccountKind, Namespace: "ci", Name: "robot"},
		},
	}
	tenant := TenantOf(t.Context(), fake.NewClientBuilder().WithScheme(scheme).WithObjects(admins).Build(), "vision")
	if tenant.Name != "vision" || !slices.Equal(tenant.Admins, []string{"vision-admins"}) {
		t.Errorf("got %+v", tenant)
	}
}
