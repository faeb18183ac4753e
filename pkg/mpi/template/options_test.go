package template

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/mpi"
)

// What only some runtimes have reaches the pods that it is for, and no others.
func TestOptionsOfARuntime(t *testing.T) {
	r := sample()
	r.LockMemory = true
	r.Attachments = []string{"rdma/net-a", "rdma/net-b"}
	r.TopologyLabel = "example.com/rack"
	scratch := resource.MustParse("10Gi")
	r.Volumes = []Volume{
		{Name: "data", MountPath: "/data", Claim: "datasets", ReadOnly: true},
		{Name: "scratch", MountPath: "/scratch", Scratch: &scratch},
	}
	r.Gang.Coscheduling = 2 * time.Minute
	r.PriorityClass, r.ServiceAccount, r.SecretEnv = "research", "mpi-rdma", "bucket"
	r.Deadline = time.Hour

	spec, launcher, node := build(t, r)
	jobs := spec.Template.Spec.ReplicatedJobs
	if add := node.Containers[0].SecurityContext.Capabilities.Add; !cmp.Equal(add, []corev1.Capability{"IPC_LOCK"}) {
		t.Errorf("a node adds %v, want IPC_LOCK", add)
	}
	if add := launcher.Containers[0].SecurityContext.Capabilities.Add; len(add) > 0 {
		t.Errorf("a launcher without ranks adds %v, want nothing: it pins no memory", add)
	}
	want := map[string]string{
		"k8s.v1.cni.cncf.io/networks":             "rdma/net-a,rdma/net-b",
		"kueue.x-k8s.io/podset-required-topology": "example.com/rack",
	}
	if diff := cmp.Diff(want, jobs[1].Template.Spec.Template.Annotations); diff != "" {
		t.Errorf("annotations of a node (-want +got):\n%s", diff)
	}
	if annotations := jobs[0].Template.Spec.Template.Annotations; len(annotations) > 0 {
		t.Errorf("annotations of the launcher = %v, want none", annotations)
	}
	for name, pod := range map[string]corev1.PodSpec{"launcher": launcher, "node": node} {
		mounts := map[string]bool{}
		for _, m := range pod.Containers[0].VolumeMounts {
			mounts[m.MountPath] = m.ReadOnly
		}
		if readOnly, found := mounts["/data"]; !found || !readOnly {
			t.Errorf("%s: /data is not mounted read-only", name)
		}
		if _, found := mounts["/scratch"]; !found {
			t.Errorf("%s: /scratch is not mounted", name)
		}
		if pod.PriorityClassName != "research" || pod.ServiceAccountName != "mpi-rdma" {
			t.Errorf("%s: priority %q and service account %q", name, pod.PriorityClassName, pod.ServiceAccountName)
		}
		if from := pod.Containers[0].EnvFrom; len(from) != 1 || from[0].SecretRef.Name != "bucket" {
			t.Errorf("%s: environment from %v, want the Secret", name, from)
		}
	}
	if seconds := spec.PodGroupPolicy.Coscheduling.ScheduleTimeoutSeconds; *seconds != 120 {
		t.Errorf("the gang waits %d s, want 120", *seconds)
	}
	if deadline := jobs[0].Template.Spec.ActiveDeadlineSeconds; deadline == nil || *deadline != 3600 {
		t.Errorf("the launcher's deadline is %v, want 3600", deadline)
	}
	if deadline := jobs[1].Template.Spec.ActiveDeadlineSeconds; deadline != nil {
		t.Errorf("the nodes' deadline is %d, want none", *deadline)
	}
}

func TestLauncherWithRanksPinsMemory(t *testing.T) {
	r := sample()
	r.LockMemory = true
	r.World.LauncherRunsRanks = true
	_, launcher, _ := build(t, r)
	if add := launcher.Containers[0].SecurityContext.Capabilities.Add; len(add) != 1 {
		t.Errorf("it adds %v, want IPC_LOCK", add)
	}
}

func TestNamespacedRuntimeIsTheSame(t *testing.T) {
	r := sample()
	whole, err := r.Build()
	if err != nil {
		t.Fatal(err)
	}
	runtime, err := r.BuildNamespaced("team")
	if err != nil {
		t.Fatal(err)
	}
	if runtime.Kind != "TrainingRuntime" || runtime.Namespace != "team" || runtime.Labels[mpi.FrameworkLabel] != "mpi" {
		t.Errorf("got %s %s with labels %v", runtime.Kind, runtime.Namespace, runtime.Labels)
	}
	if diff := cmp.Diff(whole.Spec, runtime.Spec); diff != "" {
		t.Errorf("the specs differ:\n%s", diff)
	}
}

// A launcher without ranks goes anywhere, or to the machines of the nodes where a queue counts them.
func TestLauncherWithNodes(t *testing.T) {
	r := sample()
	r.Tolerations = []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists}}
	if _, launcher, _ := build(t, r); launcher.NodeSelector != nil || launcher.Tolerations != nil {
		t.Errorf("the launcher goes to %v, %v, want anywhere", launcher.NodeSelector, launcher.Tolerations)
	}
	r.LauncherWithNodes = true
	_, launcher, node := build(t, r)
	if diff := cmp.Diff(node.NodeSelector, launcher.NodeSelector) + cmp.Diff(node.Tolerations, launcher.Tolerations); diff != "" {
		t.Errorf("the launcher goes elsewhere (-node +launcher):\n%s", diff)
	}
}
