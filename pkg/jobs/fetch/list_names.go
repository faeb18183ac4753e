package fetch

import (
	"context"
	"fmt"
	"strings"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// namesAtOnce bounds what is read to offer names.
const namesAtOnce = 500

// ListNames returns the names of the objects of a resource: `trainjobs`, `trainingruntimes`, `clustertrainingruntimes`, with a group or without.
// Only metadata are read.
func ListNames(ctx context.Context, c client.Reader, resource string, options ...client.ListOption) ([]string, error) {
	var kind string
	switch short, _, _ := strings.Cut(resource, "."); short {
	case "trainjobs":
		kind = "TrainJobList"
	case "trainingruntimes":
		kind = "TrainingRuntimeList"
	case "clustertrainingruntimes":
		kind = "ClusterTrainingRuntimeList"
	default:
		return nil, fmt.Errorf("names of %s are not read", resource)
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(trainer.GroupVersion.WithKind(kind))
	if err := c.List(ctx, list, append(options, client.Limit(namesAtOnce))...); err != nil {
		return nil, err
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Name
	}
	return names, nil
}
