package lower_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/pod-security-admission/api"
	podsecurity "k8s.io/pod-security-admission/policy"

	"lockstep.dev/lockstep/pkg/compile/lower"
	"lockstep.dev/lockstep/test/attacker"
)

func createPod(tb testing.TB, pod *corev1.Pod) *attacker.Request {
	tb.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
	if err != nil {
		tb.Fatal(err)
	}
	return &attacker.Request{
		Operation: admission.Create, User: "system:serviceaccount:kube-system:job-controller", Now: &unstructured.Unstructured{Object: content},
		Resource: corev1.SchemeGroupVersion.WithResource("pods"), Kind: corev1.SchemeGroupVersion.WithKind("Pod"),
		Namespace: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "vision"}},
	}
}

func TestPodPolicy(t *testing.T) {
	s := attacker.NewServer(t, lower.PlatformObjects(attacker.PlanOf(t, attacker.PodSpecs(36))))
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   string
	}{
		"Restricted": {func(*corev1.Pod) {}, ""},
		"PinsMemory": {func(p *corev1.Pod) {
			p.Spec.ServiceAccountName = "mpi-rdma"
			p.Spec.Containers[0].SecurityContext.Capabilities.Add = []corev1.Capability{"IPC_LOCK", "NET_BIND_SERVICE"}
		}, ""},
		"PinsMemoryWithoutRight": {func(p *corev1.Pod) {
			p.Spec.Containers[0].SecurityContext.Capabilities.Add = []corev1.Capability{"IPC_LOCK"}
		}, "container node adds capabilities: remove capabilities.add; NET_BIND_SERVICE is allowed, and IPC_LOCK for pods of runtimes that pin memory (service account mpi-rdma)"},
		"OtherCapability": {func(p *corev1.Pod) {
			p.Spec.ServiceAccountName = "mpi-rdma"
			p.Spec.Containers[0].SecurityContext.Capabilities.Add = []corev1.Capability{"SYS_ADMIN"}
		}, "container node adds capabilities: remove capabilities.add; NET_BIND_SERVICE is allowed, and IPC_LOCK for pods of runtimes that pin memory (service account mpi-rdma)"},
		"Ephemeral": {func(p *corev1.Pod) {
			p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug"}}}
		}, "container debug keeps capabilities: set securityContext.capabilities.drop to [ALL]"},
		"HostPath": {func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "root", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
		}, "volume root is of a kind that reaches past the namespace; allowed are configMap, csi, downwardAPI, emptyDir, ephemeral, image, persistentVolumeClaim, projected and secret: use one of these"},
		"Nothing": {func(p *corev1.Pod) { p.Spec = corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}}} }, "container a keeps capabilities: set securityContext.capabilities.drop to [ALL]"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := attacker.GoodPod()
			tc.change(pod)
			if got := s.Ask(t, "lockstep-pods", createPod(t, pod)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestPodPolicyIsRestricted: for each version, the policy and Kubernetes' own evaluator agree about generated pods.
func TestPodPolicyIsRestricted(t *testing.T) {
	for _, minor := range []int{30, 31, 32, 34, 35, 36} {
		t.Run(fmt.Sprintf("1.%d", minor), func(t *testing.T) {
			s := attacker.NewServer(t, lower.PlatformObjects(attacker.PlanOf(t, attacker.PodSpecs(minor))))
			admitted := 0
			for seed := range uint64(400) {
				if sameVerdict(t, s, minor, attacker.Pod(seed)) {
					admitted++
				}
			}
			t.Logf("%d of 400 pods are admitted", admitted)
			if admitted < 40 || admitted > 360 {
				t.Errorf("%d of 400 pods are admitted: the generator says little", admitted)
			}
		})
	}
}

func FuzzPodPolicy(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(seed)
	}
	s := attacker.NewServer(f, lower.PlatformObjects(attacker.PlanOf(f, attacker.PodSpecs(36))))
	f.Fuzz(func(t *testing.T, seed uint64) { sameVerdict(t, s, 36, attacker.Pod(seed)) })
}

// sameVerdict compares both, and returns whether the pod is admitted.
func sameVerdict(t *testing.T, s *attacker.Server, minor int, pod *corev1.Pod) bool {
	t.Helper()
	evaluator, err := podsecurity.NewEvaluator(podsecurity.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.MajorMinorVersion(1, minor)}
	standard := attacker.WithoutException(pod)
	result := podsecurity.AggregateCheckResults(evaluator.EvaluatePod(level, &standard.ObjectMeta, &standard.Spec))
	refusal := s.Ask(t, "lockstep-pods", createPod(t, pod))
	if result.Allowed != (refusal == "") {
		t.Fatalf("the standard says %q, the policy %q, about\n%s", result.ForbiddenDetail(), refusal, createPod(t, pod).Now)
	}
	return refusal == ""
}

// TestPodPolicyOnlyWhereNeeded: a cluster without runtimes that pin memory has no use for the policy.
func TestPodPolicyOnlyWhereNeeded(t *testing.T) {
	s := attacker.NewServer(t, lower.PlatformObjects(attacker.PlanOf(t, strings.Replace(attacker.PodSpecs(36), "type: InfiniBand, resource: rdma/ib, count: 1, hcas: [mlx5_0]", "type: Ethernet", 1))))
	if s.Has("lockstep-pods") {
		t.Error("there is a policy for pods")
	}
}
