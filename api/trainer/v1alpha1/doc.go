// Package v1alpha1 has the types of Kubeflow Trainer's API, trainer.kubeflow.org/v1alpha1, as Trainer v2.3.0 has them:
// each field and constant under the same name, so that nothing of an object is dropped between reading and writing.
// Types are all that the product needs, and upstream's own package decides which release of Kubernetes' libraries its
// importers link. test/integration/kueue/conformance compares both.
//
// The rules of a field stand in the CustomResourceDefinitions, which come from Trainer's module.
//
// +k8s:deepcopy-gen=package
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The kinds.
const (
	TrainJobKind               = "TrainJob"
	TrainingRuntimeKind        = "TrainingRuntime"
	ClusterTrainingRuntimeKind = "ClusterTrainingRuntime"
)

// GroupVersion is the group and version of the API.
var GroupVersion = schema.GroupVersion{Group: "trainer.kubeflow.org", Version: "v1alpha1"}

// SchemeGroupVersion is GroupVersion under the name that clients look for.
var SchemeGroupVersion = GroupVersion

// SchemeBuilder collects what AddToScheme does.
var SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

// AddToScheme makes the kinds known to a scheme.
var AddToScheme = SchemeBuilder.AddToScheme

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &TrainJob{}, &TrainJobList{}, &TrainingRuntime{}, &TrainingRuntimeList{},
		&ClusterTrainingRuntime{}, &ClusterTrainingRuntimeList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// Resource puts a resource into the group.
func Resource(resource string) schema.GroupResource {
	return GroupVersion.WithResource(resource).GroupResource()
}
