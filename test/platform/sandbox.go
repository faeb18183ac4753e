package platform

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
)

// Sandbox makes a namespace that belongs to no tenant: no quota, no limits and no admission policy of ours, for what no
// tenant may do. The controller gets the rights there that it has in the namespaces of tenants.
func (p *Platform) Sandbox(ctx context.Context, name string) error {
	admin, err := p.Admin()
	if err != nil {
		return err
	}
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "mpi-controller-jobs", Namespace: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "mpi-controller-jobs"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "mpi-controller", Namespace: Namespace}},
		},
	}
	for _, object := range objects {
		if err := admin.Client.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("make the sandbox %s: %w", name, err)
		}
	}
	if err := p.admitController(ctx, name); err != nil {
		return err
	}
	return empty(ctx, admin.Client, name)
}

// admitController returns when the controller has its rights in a namespace: the API server's authorizer learns of a binding from a
// watch, and a controller that is refused once is one that lacks a right.
func (p *Platform) admitController(ctx context.Context, namespace string) error {
	controller, err := p.Controller()
	if err != nil {
		return err
	}
	err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, ScaleTimeout(time.Minute), true, func(ctx context.Context) (bool, error) {
		err := controller.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "any"}, &corev1.Secret{})
		if apierrors.IsForbidden(err) {
			return false, nil
		}
		return true, client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("wait for the rights of the controller in %s: %w", namespace, err)
	}
	return nil
}

// empty removes jobs that an interrupted run has left, and returns when they are gone.
func empty(ctx context.Context, admin client.Client, namespace string) error {
	if err := admin.DeleteAllOf(ctx, &trainer.TrainJob{}, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("empty the sandbox %s: %w", namespace, err)
	}
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, ScaleTimeout(2*time.Minute), true, func(ctx context.Context) (bool, error) {
		left := &corev1.PodList{}
		err := admin.List(ctx, left, client.InNamespace(namespace), client.HasLabels{mpi.JobSetNameLabel})
		return len(left.Items) == 0, err
	})
}

// CopyRuntime makes a ClusterTrainingRuntime from another one, after a change.
func (p *Platform) CopyRuntime(ctx context.Context, from, to string, change func(*trainer.ClusterTrainingRuntime)) error {
	admin, err := p.Admin()
	if err != nil {
		return err
	}
	runtime := &trainer.ClusterTrainingRuntime{}
	if err := admin.Client.Get(ctx, client.ObjectKey{Name: from}, runtime); err != nil {
		return fmt.Errorf("copy runtime %s: %w", from, err)
	}
	copied := &trainer.ClusterTrainingRuntime{Spec: runtime.Spec}
	copied.Name, copied.Labels, copied.Annotations = to, runtime.Labels, runtime.Annotations
	// What is compiled belongs to git; the copy does not.
	delete(copied.Labels, "app.kubernetes.io/managed-by")
	delete(copied.Annotations, "kubectl.kubernetes.io/last-applied-configuration")
	change(copied)
	err = admin.Client.Create(ctx, copied)
	if apierrors.IsAlreadyExists(err) {
		old := &trainer.ClusterTrainingRuntime{}
		if err := admin.Client.Get(ctx, client.ObjectKey{Name: to}, old); err != nil {
			return fmt.Errorf("replace runtime %s: %w", to, err)
		}
		copied.ResourceVersion = old.ResourceVersion
		err = admin.Client.Update(ctx, copied)
	}
	if err != nil {
		return fmt.Errorf("make runtime %s: %w", to, err)
	}
	return nil
}
