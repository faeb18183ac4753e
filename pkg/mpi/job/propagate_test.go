package job_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
)

// Kubeflow Trainer gives image, environment and resources to the launcher only, and lets the user's command replace the agent.
func TestPropagate(t *testing.T) {
	trainJob := trainJobOf(asks(trainer.Trainer{
		Image: ptr.To("registry.test/mine:2"), Command: []string{"mpirun", "train"}, Env: []corev1.EnvVar{{Name: "EPOCHS", Value: "3"}},
		ResourcesPerNode: &corev1.ResourceRequirements{Requests: resources("memory", "2Gi")},
	}))
	made := func(role string, c corev1.Container) *corev1.Pod {
		pod := podOf(role, 0)
		c.Name = mpi.Container
		pod.Spec.Containers = []corev1.Container{c}
		return &pod
	}
	node := desired.PropagateToPod(made(mpi.NodeJob, corev1.Container{Image: "registry.test/mpi:1", Command: []string{mpi.AgentBin, "serve"}}), trainJob, *runtimeOf(false))
	got := node.Spec.Containers[0]
	if got.Image != "registry.test/mine:2" || !cmp.Equal(got.Env, []corev1.EnvVar{{Name: "EPOCHS", Value: "3"}}) || got.Resources.Requests.Memory().String() != "2Gi" {
		t.Errorf("a node gets image, environment and resources: %+v", got)
	}
	if !cmp.Equal(got.Command, []string{mpi.AgentBin, "serve"}) {
		t.Errorf("but not the command: %v", got.Command)
	}
	before := corev1.Container{Image: "registry.test/mine:2", Command: []string{"mpirun", "train"}, Resources: corev1.ResourceRequirements{Requests: resources("memory", "2Gi")}}
	launcher := desired.PropagateToPod(made(mpi.LauncherJob, before), trainJob, *runtimeOf(false)).Spec.Containers[0]
	if want := []string{mpi.AgentBin, "run", "--", "mpirun", "train"}; !cmp.Equal(want, launcher.Command) {
		t.Errorf("the launcher runs the command under the agent: %v", launcher.Command)
	}
	if _, asked := launcher.Resources.Requests[corev1.ResourceMemory]; asked {
		t.Errorf("a launcher without ranks needs no node's resources: %v", launcher.Resources)
	}
	for name, unchanged := range map[string]*corev1.Pod{
		"another role":    desired.PropagateToPod(made("initializer", before), trainJob, *runtimeOf(false)),
		"another runtime": desired.PropagateToPod(made(mpi.NodeJob, before), trainJob, job.Runtime{Spec: runtimeOf(false).Spec}),
		"no job":          desired.PropagateToPod(made(mpi.NodeJob, before), trainJobOf(asks(trainer.Trainer{NumNodes: ptr.To[int32](0)})), *runtimeOf(false)),
	} {
		if unchanged != nil {
			t.Errorf("a pod of %s stays as it is", name)
		}
	}
}
