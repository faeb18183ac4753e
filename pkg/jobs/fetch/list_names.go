package fetch

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
)

// namesAtOnce bounds what is read to offer names.
const namesAtOnce = 500

// listKinds are the lists of the resources whose names can be read.
var listKinds = map[string]schema.GroupVersionKind{
	"trainjobs":               trainer.GroupVersion.WithKind("TrainJobList"),
	"trainingruntimes":        trainer.GroupVersion.WithKind("TrainingRuntimeList"),
	"clustertrainingruntimes": trainer.GroupVersion.WithKind("ClusterTrainingRuntimeList"),
	"persistentvolumeclaims":  corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaimList"),
	"secrets":                 corev1.SchemeGroupVersion.WithKind("SecretList"),
}

// ListNames returns the names of the objects of a resource of listKinds, with a group or without. Only metadata are read.
func ListNames(ctx context.Context, c client.Reader, resource string, options ...client.ListOption) ([]string, error) {
	short, _, _ := strings.Cut(resource, ".")
	kind, known := listKinds[short]
	if !known {
		return nil, fmt.Errorf("names of %s are not read", resource)
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind)
	if err := c.List(ctx, list, append(options, client.Limit(namesAtOnce))...); err != nil {
		return nil, err
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Name
	}
	return names, nil
}
