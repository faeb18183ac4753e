package attacker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// PodSpecs has a runtime that pins memory, on a cluster of a minor version.
func PodSpecs(minor int) string {
	return fmt.Sprintf(`apiVersion: lockstep.dev/v1alpha1
kind: Cluster
metadata: {name: big}
spec: {platform: Kubernetes, version: "1.%d", agent: {image: "example.org/agent:1"}}
---
apiVersion: lockstep.dev/v1alpha1
kind: HardwareProfile
metadata: {name: ib}
spec: {fabric: {type: InfiniBand, resource: rdma/ib, count: 1, hcas: [mlx5_0]}, node: {cpu: 96, memory: 1Ti}}
---
apiVersion: lockstep.dev/v1alpha1
kind: MPIRuntime
metadata: {name: ib}
spec:
  mpi: {implementation: OpenMPI, version: "5.0.7"}
  image: "example.org/mpi:1"
  profile: ib
  nodes: {default: 2}
  slotsPerNode: 1
---
apiVersion: lockstep.dev/v1alpha1
kind: Tenant
metadata: {name: vision}
spec:
  people: {editors: [vision-editors]}
  namespaces: [vision]
  clusters: [big]
  quota: {cpu: 800, memory: 8Ti, pods: 40, jobs: 20}
`, minor)
}

// GoodPod is a pod that the standard `restricted` admits.
func GoodPod() *corev1.Pod {
	container := func(name string) corev1.Container {
		return corev1.Container{Name: name, Image: "example.org/a:1", SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}}
	}
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "pod", Namespace: "vision"},
		Spec: corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr.To(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{container("node")},
		},
	}
}

// EphemeralContainer is one to be added to a running pod.
func EphemeralContainer(seed uint64) *corev1.EphemeralContainer {
	random := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // the same containers in each run
	c := GoodPod().Spec.Containers[0]
	c.Name = "debug"
	for range random.IntN(4) {
		containerChanges[random.IntN(len(containerChanges))](random, &c)
	}
	// The API has these fields for containers that start with their pod only.
	return &corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: c.Name, Image: c.Image, SecurityContext: c.SecurityContext}}
}

// besidePods is affinity to pods, of other namespaces perhaps.
func besidePods(r *rand.Rand) *corev1.Affinity {
	term := corev1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{}}
	*one(r, &term.NamespaceSelector, new(*metav1.LabelSelector)) = &metav1.LabelSelector{MatchLabels: one(r, nil, map[string]string{"a": "b"})}
	term.Namespaces = one(r, nil, nil, []string{"language"})
	required, preferred := []corev1.PodAffinityTerm{term}, []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term}}
	return one(r,
		&corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}},
		&corev1.Affinity{PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferred}},
		&corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}},
		&corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferred}},
	)
}

// PlacedByOthers reports whether pods of other namespaces decide about the machine of a pod.
func PlacedByOthers(pod *corev1.Pod) bool {
	var r report
	affinity(&r, "", pod.Spec.Affinity)
	return slices.ContainsFunc(r, func(danger string) bool { return strings.HasPrefix(danger, "affinity: ") })
}

func claimTemplate() *corev1.PersistentVolumeClaimTemplate {
	return &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
}

// WithoutException is the pod as the standard should see it.
func WithoutException(pod *corev1.Pod) *corev1.Pod {
	result := pod.DeepCopy()
	if pod.Spec.ServiceAccountName != "mpi-rdma" {
		return result
	}
	drop := func(c *corev1.SecurityContext) {
		if c != nil && c.Capabilities != nil {
			c.Capabilities.Add = slices.DeleteFunc(c.Capabilities.Add, func(c corev1.Capability) bool { return c == "IPC_LOCK" })
		}
	}
	for i := range result.Spec.InitContainers {
		drop(result.Spec.InitContainers[i].SecurityContext)
	}
	for i := range result.Spec.Containers {
		drop(result.Spec.Containers[i].SecurityContext)
	}
	for i := range result.Spec.EphemeralContainers {
		drop(result.Spec.EphemeralContainers[i].SecurityContext)
	}
	return result
}

// Pod is a good pod with a few changes, good and bad ones.
func Pod(seed uint64) *corev1.Pod {
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // the same pods in each run
	pod := GoodPod()
	if random.IntN(2) == 0 {
		pod.Spec.InitContainers = []corev1.Container{*GoodPod().Spec.Containers[0].DeepCopy()}
		pod.Spec.InitContainers[0].Name = "init"
	}
	if random.IntN(4) == 0 {
		c := GoodPod().Spec.Containers[0]
		pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: c.Image, SecurityContext: c.SecurityContext}}}
	}
	for range random.IntN(3) {
		podChanges[random.IntN(len(podChanges))](random, pod)
	}
	for range random.IntN(3) {
		containerChanges[random.IntN(len(containerChanges))](random, aContainer(random, pod))
	}
	return pod
}

func aContainer(random *rand.Rand, pod *corev1.Pod) *corev1.Container {
	all := []*corev1.Container{&pod.Spec.Containers[0]}
	for i := range pod.Spec.InitContainers {
		all = append(all, &pod.Spec.InitContainers[i])
	}
	for i := range pod.Spec.EphemeralContainers {
		all = append(all, (*corev1.Container)(&pod.Spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
	return all[random.IntN(len(all))]
}

var podChanges = []func(*rand.Rand, *corev1.Pod){
	func(r *rand.Rand, p *corev1.Pod) { p.Spec.HostNetwork = one(r, true, false) },
	func(r *rand.Rand, p *corev1.Pod) { p.Spec.HostPID = one(r, true, false) },
	func(r *rand.Rand, p *corev1.Pod) { p.Spec.HostIPC = one(r, true, false) },
	func(r *rand.Rand, p *corev1.Pod) { p.Spec.HostUsers = one(r, nil, ptr.To(true), ptr.To(false)) },
	func(r *rand.Rand, p *corev1.Pod) {
		p.Spec.OS = &corev1.PodOS{Name: one(r, corev1.Linux, corev1.Windows)}
	},
	func(r *rand.Rand, p *corev1.Pod) {
		p.Spec.ServiceAccountName = one(r, "", "default", "mpi-rdma", "mpi-rdma")
	},
	func(_ *rand.Rand, p *corev1.Pod) { p.Spec.SecurityContext = nil },
	func(r *rand.Rand, p *corev1.Pod) {
		podSecurity(p).RunAsNonRoot = one(r, nil, ptr.To(true), ptr.To(false))
	},
	func(r *rand.Rand, p *corev1.Pod) {
		podSecurity(p).RunAsUser = one(r, nil, ptr.To[int64](0), ptr.To[int64](1000))
	},
	func(r *rand.Rand, p *corev1.Pod) { podSecurity(p).SeccompProfile = seccomp(r) },
	func(r *rand.Rand, p *corev1.Pod) { podSecurity(p).AppArmorProfile = appArmor(r) },
	func(r *rand.Rand, p *corev1.Pod) { podSecurity(p).SELinuxOptions = seLinux(r) },
	func(r *rand.Rand, p *corev1.Pod) {
		podSecurity(p).Sysctls = []corev1.Sysctl{{Name: one(r, "kernel.shm_rmid_forced", "net.ipv4.tcp_rmem", "net.ipv4.tcp_fin_timeout", "kernel.msgmax", "net.ipv4.ip_local_reserved_ports")}}
	},
	func(r *rand.Rand, p *corev1.Pod) { podSecurity(p).WindowsOptions = hostProcess(r) },
	func(r *rand.Rand, p *corev1.Pod) {
		p.Annotations = map[string]string{one(r, "container.apparmor.security.beta.kubernetes.io/node", "other"): one(r, "", "runtime/default", "localhost/x", "unconfined")}
	},
	func(r *rand.Rand, p *corev1.Pod) { p.Spec.Volumes = append(p.Spec.Volumes, volume(r)) },
	func(r *rand.Rand, p *corev1.Pod) { p.Spec.Affinity = besidePods(r) },
}

var containerChanges = []func(*rand.Rand, *corev1.Container){
	func(_ *rand.Rand, c *corev1.Container) { c.SecurityContext = nil },
	func(r *rand.Rand, c *corev1.Container) {
		security(c).AllowPrivilegeEscalation = one(r, nil, ptr.To(true), ptr.To(false))
	},
	func(r *rand.Rand, c *corev1.Container) {
		security(c).Privileged = one(r, nil, ptr.To(true), ptr.To(false))
	},
	func(r *rand.Rand, c *corev1.Container) {
		security(c).Capabilities = one(r, nil, &corev1.Capabilities{}, &corev1.Capabilities{Drop: []corev1.Capability{"NET_RAW"}}, &corev1.Capabilities{Drop: []corev1.Capability{"NET_RAW", "ALL"}})
	},
	func(r *rand.Rand, c *corev1.Container) {
		security(c).Capabilities = &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{one[corev1.Capability](r, "IPC_LOCK", "NET_BIND_SERVICE", "CHOWN", "SYS_ADMIN"), "NET_BIND_SERVICE"}}
	},
	func(r *rand.Rand, c *corev1.Container) {
		security(c).ProcMount = one(r, nil, ptr.To(corev1.DefaultProcMount), ptr.To(corev1.UnmaskedProcMount))
	},
	func(r *rand.Rand, c *corev1.Container) {
		security(c).RunAsNonRoot = one(r, nil, ptr.To(true), ptr.To(false))
	},
	func(r *rand.Rand, c *corev1.Container) {
		security(c).RunAsUser = one(r, nil, ptr.To[int64](0), ptr.To[int64](7))
	},
	func(r *rand.Rand, c *corev1.Container) { security(c).SeccompProfile = seccomp(r) },
	func(r *rand.Rand, c *corev1.Container) { security(c).AppArmorProfile = appArmor(r) },
	func(r *rand.Rand, c *corev1.Container) { security(c).SELinuxOptions = seLinux(r) },
	func(r *rand.Rand, c *corev1.Container) { security(c).WindowsOptions = hostProcess(r) },
	func(r *rand.Rand, c *corev1.Container) {
		c.Ports = []corev1.ContainerPort{{ContainerPort: 80}, {ContainerPort: 81, HostPort: one[int32](r, 0, 81)}}
	},
	func(r *rand.Rand, c *corev1.Container) {
		probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(80), Host: one(r, "", "10.0.0.1")}}}
		*one(r, &c.LivenessProbe, &c.ReadinessProbe, &c.StartupProbe) = probe
	},
	func(r *rand.Rand, c *corev1.Container) {
		handler := &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(80), Host: one(r, "", "10.0.0.1")}}
		c.Lifecycle = one(r, &corev1.Lifecycle{PostStart: handler}, &corev1.Lifecycle{PreStop: handler}, &corev1.Lifecycle{})
	},
}

func podSecurity(p *corev1.Pod) *corev1.PodSecurityContext {
	if p.Spec.SecurityContext == nil {
		p.Spec.SecurityContext = &corev1.PodSecurityContext{}
	}
	return p.Spec.SecurityContext
}

func security(c *corev1.Container) *corev1.SecurityContext {
	if c.SecurityContext == nil {
		c.SecurityContext = &corev1.SecurityContext{}
	}
	return c.SecurityContext
}

func seccomp(r *rand.Rand) *corev1.SeccompProfile {
	return one(r, nil, &corev1.SeccompProfile{Type: "Unconfined"}, &corev1.SeccompProfile{Type: "Localhost", LocalhostProfile: ptr.To("a")}, &corev1.SeccompProfile{Type: "RuntimeDefault"})
}

func appArmor(r *rand.Rand) *corev1.AppArmorProfile {
	return one(r, nil, &corev1.AppArmorProfile{Type: "Unconfined"}, &corev1.AppArmorProfile{Type: "Localhost", LocalhostProfile: ptr.To("a")}, &corev1.AppArmorProfile{Type: "RuntimeDefault"})
}

func seLinux(r *rand.Rand) *corev1.SELinuxOptions {
	return one(r, nil, &corev1.SELinuxOptions{Level: "s0:c1"}, &corev1.SELinuxOptions{Type: "container_engine_t"}, &corev1.SELinuxOptions{Type: "container_t"},
		&corev1.SELinuxOptions{Type: "spc_t"}, &corev1.SELinuxOptions{User: "u"}, &corev1.SELinuxOptions{Role: "r"})
}

func hostProcess(r *rand.Rand) *corev1.WindowsSecurityContextOptions {
	return one(r, nil, &corev1.WindowsSecurityContextOptions{}, &corev1.WindowsSecurityContextOptions{HostProcess: one(r, ptr.To(true), ptr.To(false))})
}

func volume(r *rand.Rand) corev1.Volume {
	return corev1.Volume{Name: "v", VolumeSource: one(r,
		corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}, corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "nfs.example.org", Path: "/"}},
		corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{TargetPortal: "10.0.0.1", IQN: "iqn.2026-01.org.example:a"}}, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
		corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "a"}}}, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "a"}},
		corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "csi.example.org"}}, corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{}},
		corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: claimTemplate()}}, corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "example.org/a:1"}},
		corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "a"}}, corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}},
	)}
}
