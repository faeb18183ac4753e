package fetch

import (
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
)

// TrainJobKind is that of jobs.
var TrainJobKind = trainer.GroupVersion.WithKind(trainer.TrainJobKind)

// The kinds that are read by their fields: their Go types are not linked.
var (
	WorkloadKind   = schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "Workload"}
	LocalQueueKind = schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "LocalQueue"}
	PodMetricsKind = schema.GroupVersionKind{Group: "metrics.k8s.io", Version: "v1beta1", Kind: "PodMetrics"}

	ClusterQueueKind = LocalQueueKind.GroupVersion().WithKind("ClusterQueue")
)

// Scheme returns the types that a client of NewClient works with.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, batchv1.AddToScheme, rbacv1.AddToScheme, authenticationv1.AddToScheme, authorizationv1.AddToScheme, trainer.AddToScheme, jobset.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("build scheme: %w", err)
		}
	}
	return scheme, nil
}

// NewRESTMapper returns where the API server serves the kinds of Scheme and those above. That is known, so nobody asks for it: discovery would cost
// each command two requests and more.
func NewRESTMapper(scheme *runtime.Scheme) apimeta.RESTMapper {
	mapper := apimeta.NewDefaultRESTMapper(nil)
	for kind := range scheme.AllKnownTypes() {
		if kind.Version != runtime.APIVersionInternal {
			mapper.Add(kind, scopeOf(kind))
		}
	}
	mapper.Add(WorkloadKind, apimeta.RESTScopeNamespace)
	mapper.Add(LocalQueueKind, apimeta.RESTScopeNamespace)
	mapper.Add(ClusterQueueKind, apimeta.RESTScopeRoot)
	mapper.AddSpecific(PodMetricsKind, PodMetricsKind.GroupVersion().WithResource("pods"), PodMetricsKind.GroupVersion().WithResource("pod"), apimeta.RESTScopeNamespace)
	return mapper
}

// clusterScoped are the kinds that have no namespace, of those that are used.
var clusterScoped = map[string]bool{
	"Node": true, "Namespace": true, "ClusterTrainingRuntime": true, "ClusterRole": true, "ClusterRoleBinding": true,
	"ClusterQueue":      true,
	"SelfSubjectReview": true, "SelfSubjectAccessReview": true, "SelfSubjectRulesReview": true,
}

func scopeOf(kind schema.GroupVersionKind) apimeta.RESTScope {
	if clusterScoped[kind.Kind] {
		return apimeta.RESTScopeRoot
	}
	return apimeta.RESTScopeNamespace
}

// NewClient returns a client that asks the API server nothing by itself.
func NewClient(config *rest.Config) (client.WithWatch, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	made, err := client.NewWithWatch(config, client.Options{Scheme: scheme, Mapper: NewRESTMapper(scheme)})
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return made, nil
}
