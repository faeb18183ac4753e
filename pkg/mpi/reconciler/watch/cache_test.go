package watch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// What package job reads of pods must be in the cache, and nothing large besides.
func TestCacheKeepsWhatIsReadOfPods(t *testing.T) {
	gpus := corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("4")}}
	all := gpus.DeepCopy()
	all.Limits[corev1.ResourceCPU] = resource.MustParse("2")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"long": "text"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}},
		Spec: corev1.PodSpec{
			NodeName: "m0", RestartPolicy: corev1.RestartPolicyOnFailure, Hostname: "h", SchedulingGates: []corev1.PodSchedulingGate{{Name: "g"}}, TerminationGracePeriodSeconds: ptr.To[int64](30),
			Containers: []corev1.Container{{Name: "node", Image: "i", Resources: *all}, {Name: "other", Image: "i"}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "node", RestartCount: 2}}},
	}
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"a": "b"}},
		Spec: corev1.PodSpec{
			NodeName: "m0", RestartPolicy: corev1.RestartPolicyOnFailure, SchedulingGates: []corev1.PodSchedulingGate{{Name: "g"}}, TerminationGracePeriodSeconds: ptr.To[int64](30),
			Containers: []corev1.Container{{Name: "node", Resources: gpus}},
		},
		Status: pod.Status,
	}
	got, err := stripPod(pod)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
