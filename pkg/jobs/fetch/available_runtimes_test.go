package fetch

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestResourcesText: what is shown may be asked for. The limit of CPU of a compiled runtime is more than a machine has.
func TestResourcesText(t *testing.T) {
	amounts := func(pairs ...string) corev1.ResourceList {
		list := corev1.ResourceList{}
		for i := 0; i < len(pairs); i += 2 {
			list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
		}
		return list
	}
	got := resourcesText(corev1.ResourceRequirements{
		Requests: amounts("cpu", "250m", "memory", "512Mi"),
		Limits:   amounts("cpu", "3", "memory", "512Mi", "nvidia.com/gpu", "8"),
	})
	if want := "cpu 250m, memory 512Mi, nvidia.com/gpu 8"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := resourcesText(corev1.ResourceRequirements{}); got != "" {
		t.Errorf("got %q of nothing", got)
	}
}
