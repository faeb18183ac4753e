package fetch

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/jobs/apierror"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
)

// PodUsage is what a pod of a job uses.
type PodUsage struct {
	Pod     string `json:"pod"`
	Machine string `json:"machine,omitempty"`
	// Measured says that there are numbers: of a new pod there are none for a while.
	Measured bool `json:"measured"`
	// MilliCPU is in thousandths of a processor, MemoryBytes is the working set.
	MilliCPU    int64 `json:"milliCPU"`
	MemoryBytes int64 `json:"memoryBytes"`
	// CPULimit and MemoryLimit are those of all containers, empty where one has none.
	CPULimit    string `json:"cpuLimit,omitempty"`
	MemoryLimit string `json:"memoryLimit,omitempty"`
}

// UsageOf returns what the pods of a job use, in the order of their names. It is an error of kind apierror.NoKind where the cluster does not serve
// metrics.k8s.io; where somebody may not read that, the pods are returned without numbers, and that is noted.
func UsageOf(ctx context.Context, c client.Reader, trainJob client.ObjectKey) ([]PodUsage, []view.Withheld, error) {
	ofJob := []client.ListOption{client.InNamespace(trainJob.Namespace), client.MatchingLabels{mpi.JobSetNameLabel: trainJob.Name}}
	measured := &unstructured.UnstructuredList{}
	measured.SetGroupVersionKind(PodMetricsKind.GroupVersion().WithKind("PodMetricsList"))
	var hidden []view.Withheld
	if err := c.List(ctx, measured, ofJob...); err != nil {
		e := apierror.Explain(err)
		if e.Kind != apierror.Forbidden {
			return nil, nil, err
		}
		hidden = append(hidden, view.Withheld{What: "what pods use (metrics.k8s.io)", Why: e.Message})
	}
	var pods corev1.PodList
	if err := c.List(ctx, &pods, ofJob...); err != nil {
		return nil, nil, err
	}
	numbers := map[string][2]int64{}
	for _, item := range measured.Items {
		numbers[item.GetName()] = sumUsage(item)
	}
	usage := []PodUsage{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		n, found := numbers[pod.Name]
		usage = append(usage, PodUsage{
			Pod: pod.Name, Machine: pod.Spec.NodeName, Measured: found, MilliCPU: n[0], MemoryBytes: n[1],
			CPULimit: limitOf(pod, corev1.ResourceCPU), MemoryLimit: limitOf(pod, corev1.ResourceMemory),
		})
	}
	slices.SortFunc(usage, func(a, b PodUsage) int { return strings.Compare(a.Pod, b.Pod) })
	return usage, hidden, nil
}

// sumUsage adds up the containers of a pod: thousandths of a processor, and bytes. What cannot be read counts as nothing.
func sumUsage(item unstructured.Unstructured) (total [2]int64) {
	var view struct {
		Containers []struct {
			Usage map[string]string `json:"usage"`
		} `json:"containers"`
	}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &view) != nil {
		return total
	}
	for _, container := range view.Containers {
		if cpu, err := resource.ParseQuantity(container.Usage["cpu"]); err == nil {
			total[0] += cpu.MilliValue()
		}
		if memory, err := resource.ParseQuantity(container.Usage["memory"]); err == nil {
			total[1] += memory.Value()
		}
	}
	return total
}

func limitOf(pod *corev1.Pod, name corev1.ResourceName) string {
	var total resource.Quantity
	for _, container := range pod.Spec.Containers {
		limit, limited := container.Resources.Limits[name]
		if !limited {
			return ""
		}
		total.Add(limit)
	}
	return total.String()
}
