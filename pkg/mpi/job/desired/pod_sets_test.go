package desired

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

func cpus(quantity string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(quantity)}
}

// A pod is what its containers need together, or what its init containers need at their largest moment.
func TestPodTotal(t *testing.T) {
	container := func(cpu string, always bool) corev1.Container {
		c := corev1.Container{Resources: corev1.ResourceRequirements{Requests: cpus(cpu)}}
		if always {
			c.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		}
		return c
	}
	pod := corev1.PodSpec{
		InitContainers: []corev1.Container{container("1", true), container("5", false), container("1", true)},
		Containers:     []corev1.Container{container("2", false), container("1", false)},
		Overhead:       cpus("250m"),
	}
	total := PodTotal(pod, RequestsOf)
	if got := total.Cpu(); got.Cmp(resource.MustParse("6250m")) != 0 {
		t.Errorf("the init container beside one that stays is the peak: want 6250m, got %s", got)
	}
	pod.InitContainers[1] = container("500m", false)
	total = PodTotal(pod, RequestsOf)
	if got := total.Cpu(); got.Cmp(resource.MustParse("5250m")) != 0 {
		t.Errorf("containers and what stays beside them: want 5250m, got %s", got)
	}
}
