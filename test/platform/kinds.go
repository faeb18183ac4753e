package platform

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
)

// kindsTimeout is more than the 5 minutes after which kube-controller-manager counts all quotas again.
const kindsTimeout = 6 * time.Minute

// waitForKinds waits until Kubernetes itself has noticed the new kinds. Its parts look for them every 30 s. Until then a
// quota on the number of TrainJobs refuses them all, and admission refuses objects that a TrainJob owns.
func (p *Platform) waitForKinds(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, ScaleTimeout(kindsTimeout))
	defer cancel()
	admin, err := p.Admin()
	if err != nil {
		return err
	}
	service, err := p.Controller()
	if err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		last = knowsKinds(ctx, admin.Client, service.Client)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", err, last)
	}
	return nil
}

// knowsKinds returns an error while a compiled quota has not counted all that it limits, or the controller may not make
// objects that a TrainJob owns.
func knowsKinds(ctx context.Context, admin, controller client.Client) error {
	quotas := &corev1.ResourceQuotaList{}
	if err := admin.List(ctx, quotas, client.MatchingLabels{"app.kubernetes.io/managed-by": "lockstep"}); err != nil {
		return err
	}
	if i := slices.IndexFunc(quotas.Items, uncounted); i >= 0 {
		return fmt.Errorf("the quota %s/%s has not counted yet", quotas.Items[i].Namespace, quotas.Items[i].Name)
	}
	for _, quota := range quotas.Items {
		if err := mayOwn(ctx, controller, quota.Namespace); err != nil {
			return err
		}
	}
	return nil
}

func uncounted(quota corev1.ResourceQuota) bool {
	for name := range quota.Spec.Hard {
		if _, counted := quota.Status.Used[name]; !counted {
			return true
		}
	}
	return false
}

// mayOwn asks, without creating anything, whether the controller may make an object that a TrainJob owns.
func mayOwn(ctx context.Context, controller client.Client, namespace string) error {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "lockstep-probe", Namespace: namespace,
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: trainer.GroupVersion.String(), Kind: trainer.TrainJobKind, Name: "probe", UID: "probe",
			BlockOwnerDeletion: ptr.To(true),
		}},
	}}
	return controller.Create(ctx, object, client.DryRunAll)
}
