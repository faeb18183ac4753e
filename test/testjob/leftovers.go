package testjob

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
)

// Leftovers names every object in a namespace that belongs to a TrainJob, the TrainJob itself aside. The client must be
// allowed to list them all.
func Leftovers(ctx context.Context, admin client.Reader, namespace, trainJob string) ([]string, error) {
	return leftovers(ctx, admin, namespace, func(object client.Object) bool { return belongsTo(object, trainJob) })
}

// AllLeftovers names every object in a namespace that belongs to any TrainJob.
func AllLeftovers(ctx context.Context, admin client.Reader, namespace string) ([]string, error) {
	return leftovers(ctx, admin, namespace, func(object client.Object) bool {
		return object.GetLabels()[mpi.TrainJobLabel] != "" || object.GetLabels()[mpi.JobSetNameLabel] != "" || len(object.GetOwnerReferences()) > 0
	})
}

func leftovers(ctx context.Context, admin client.Reader, namespace string, belongs func(client.Object) bool) ([]string, error) {
	lists := map[string]client.ObjectList{
		"Pod": &corev1.PodList{}, "Job": &batchv1.JobList{}, "JobSet": &jobset.JobSetList{}, "Secret": &corev1.SecretList{},
		"ConfigMap": &corev1.ConfigMapList{}, "NetworkPolicy": &networkingv1.NetworkPolicyList{}, "Service": &corev1.ServiceList{},
	}
	var names []string
	for kind, list := range lists {
		if err := admin.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
		err := meta.EachListItem(list, func(object runtime.Object) error {
			if o := object.(client.Object); belongs(o) {
				names = append(names, kind+" "+o.GetName())
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}

func belongsTo(object client.Object, trainJob string) bool {
	if object.GetLabels()[mpi.TrainJobLabel] == trainJob || object.GetLabels()[mpi.JobSetNameLabel] == trainJob {
		return true
	}
	for _, owner := range object.GetOwnerReferences() {
		if owner.Name == trainJob {
			return true
		}
	}
	return object.GetName() == mpi.SSHAuthSecretName(trainJob) || object.GetName() == mpi.HostfileConfigMapName(trainJob)
}
