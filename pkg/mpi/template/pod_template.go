package template

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/pkg/mpi"
)

const (
	sharedMemoryVolume = "shared-memory"
	sharedMemoryDir    = "/dev/shm"
	agentBinDir        = mpi.AgentDir + "/bin"
)

// Annotations of pods with ranks.
const (
	// NetworksAnnotation is Multus' (https://github.com/k8snetworkplumbingwg/multi-net-spec).
	NetworksAnnotation = "k8s.v1.cni.cncf.io/networks"
	// TopologyAnnotation is Kueue's (https://kueue.sigs.k8s.io/docs/concepts/topology_aware_scheduling/). Required, not preferred: a
	// runtime that asks for a level asks because it is slow without.
	TopologyAnnotation = "kueue.x-k8s.io/podset-required-topology"
)

// launcherPod has a command and no args: upstream keeps the template's args behind a user's command. A TrainJob that
// sets only args runs through the agent under stock Trainer too.
func (r Runtime) launcherPod(dialect mpi.Dialect) corev1.PodTemplateSpec {
	resources := r.LauncherResources
	if r.World.LauncherRunsRanks {
		resources = r.NodeResources
	}
	pod := r.podTemplate(dialect, resources)
	pod.Spec.Containers[0].Command = []string{mpi.AgentBin, "run", "--"}
	if r.UnderTrainer {
		r.addGate(&pod.Spec)
	}
	switch {
	case r.World.LauncherRunsRanks:
		r.addRankSettings(&pod)
	case r.LauncherWithNodes:
		pod.Spec.NodeSelector, pod.Spec.Tolerations = r.NodeSelector, r.Tolerations
	}
	return pod
}

func (r Runtime) nodePod(dialect mpi.Dialect) corev1.PodTemplateSpec {
	pod := r.podTemplate(dialect, r.NodeResources)
	pod.Spec.Containers[0].Command = []string{mpi.AgentBin, "serve"}
	r.addRankSettings(&pod)
	return pod
}

// addRankSettings adds what only pods with ranks need: the machines of the profile, its networks, pinned and shared memory.
func (r Runtime) addRankSettings(pod *corev1.PodTemplateSpec) {
	pod.Spec.NodeSelector = r.NodeSelector
	pod.Spec.Tolerations = r.Tolerations
	pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{r.spreadOverMachines()}
	r.addSharedMemory(&pod.Spec)
	if r.LockMemory {
		pod.Spec.Containers[0].SecurityContext.Capabilities.Add = []corev1.Capability{"IPC_LOCK"}
	}
	annotations := map[string]string{}
	if len(r.Attachments) > 0 {
		annotations[NetworksAnnotation] = strings.Join(r.Attachments, ",")
	}
	if r.TopologyLabel != "" {
		annotations[TopologyAnnotation] = r.TopologyLabel
	}
	if len(annotations) > 0 {
		pod.Annotations = annotations
	}
}

// spreadOverMachines keeps the nodes of one job on different machines as far as possible: `two nodes` should mean two
// machines, but a job that fits on one must not wait forever.
func (r Runtime) spreadOverMachines() corev1.TopologySpreadConstraint {
	nodes := &metav1.LabelSelector{MatchLabels: map[string]string{mpi.ReplicatedJobLabel: mpi.NodeJob}}
	if r.World.LauncherRunsRanks {
		nodes = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: mpi.ReplicatedJobLabel, Operator: metav1.LabelSelectorOpIn, Values: []string{mpi.LauncherJob, mpi.NodeJob},
		}}}
	}
	return corev1.TopologySpreadConstraint{
		MaxSkew:           1,
		TopologyKey:       corev1.LabelHostname,
		WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector:     nodes,
		MatchLabelKeys:    []string{mpi.JobSetUIDLabel},
	}
}

// podLabels keep Istio off: a sidecar blocks the launch and never ends, and ambient mode takes every connection of the ranks through a
// proxy of the machine.
func (r Runtime) podLabels() map[string]string {
	labels := map[string]string{"sidecar.istio.io/inject": "false", "istio.io/dataplane-mode": "none"}
	maps.Copy(labels, r.PodLabels)
	return labels
}

// podTemplate satisfies PodSecurity `restricted`. It mounts no service account token: the agent speaks to nobody but the pods
// of its job. The grace between SIGTERM and SIGKILL is Kubernetes' own, 30 s: programs save checkpoints in it, and an agent without a
// program ends at once.
func (r Runtime) podTemplate(dialect mpi.Dialect, resources corev1.ResourceList) corev1.PodTemplateSpec {
	pod := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: r.podLabels()},
		Spec: corev1.PodSpec{
			RestartPolicy:                corev1.RestartPolicyNever,
			AutomountServiceAccountToken: ptr.To(false),
			EnableServiceLinks:           ptr.To(false),
			SecurityContext:              r.podSecurity(),
			PriorityClassName:            r.PriorityClass,
			ServiceAccountName:           r.ServiceAccount,
			Containers: []corev1.Container{{
				Name:            mpi.Container,
				Image:           r.Image,
				Env:             r.containerVariables(dialect),
				Resources:       r.mainContainerResources(resources),
				SecurityContext: userContainerSecurity(),
				VolumeMounts: []corev1.VolumeMount{
					{Name: mpi.AgentVolume, MountPath: mpi.AgentDir, ReadOnly: true},
					{Name: mpi.StateVolume, MountPath: mpi.StateDir},
				},
			}},
			Volumes: []corev1.Volume{{
				Name:         mpi.StateVolume,
				VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
			}},
		},
	}
	r.addAgent(&pod.Spec)
	r.addVolumes(&pod.Spec)
	addUserHome(&pod.Spec)
	if r.SecretEnv != "" {
		pod.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{
			SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: r.SecretEnv}},
		}}
	}
	return pod
}

func (r Runtime) addVolumes(spec *corev1.PodSpec) {
	container := &spec.Containers[0]
	for _, v := range r.Volumes {
		volume := corev1.Volume{Name: v.Name}
		if v.Claim != "" {
			volume.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: v.Claim, ReadOnly: v.ReadOnly}
		} else {
			volume.EmptyDir = &corev1.EmptyDirVolumeSource{SizeLimit: v.Scratch}
		}
		spec.Volumes = append(spec.Volumes, volume)
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: v.Name, MountPath: v.MountPath, ReadOnly: v.ReadOnly})
	}
}

// addUserHome adds an empty folder where Kubeflow's SDK writes the program of a `CustomTrainer`, on every node: an image seldom has one that
// the user of the pod may write. A volume of the runtime's own in its place is left alone.
func addUserHome(spec *corev1.PodSpec) {
	container, home := &spec.Containers[0], mpi.UserHome+"/"
	for _, mount := range container.VolumeMounts {
		if strings.HasPrefix(home, strings.TrimSuffix(mount.MountPath, "/")+"/") {
			return
		}
	}
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: mpi.UserHomeVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: mpi.UserHomeVolume, MountPath: mpi.UserHome})
}

func (r Runtime) addAgent(spec *corev1.PodSpec) {
	volume := corev1.Volume{Name: mpi.AgentVolume}
	if r.Agent.ImageVolume {
		volume.Image = &corev1.ImageVolumeSource{Reference: r.Agent.Image, PullPolicy: corev1.PullIfNotPresent}
	} else {
		volume.EmptyDir = &corev1.EmptyDirVolumeSource{}
		spec.InitContainers = []corev1.Container{{
			Name:            mpi.InstallContainer,
			Image:           r.Agent.Image,
			Command:         []string{"/bin/mpi-agent", "install", agentBinDir},
			Resources:       limitAllButCPU(installResources()),
			SecurityContext: agentContainerSecurity(),
			VolumeMounts:    []corev1.VolumeMount{{Name: mpi.AgentVolume, MountPath: mpi.AgentDir}},
		}}
	}
	spec.Volumes = append(spec.Volumes, volume)
}

// addGate adds the init container that waits for the nodes. Where an init container brings the agent, that of the launcher does
// both: kubelet takes up to a second for each. It mounts volumes that upstream's MPI plugin, or our controller,
// adds to the pod. It asks for what the main container asks for: a pod is given the larger of the two, not the sum. The hosts file
// that it leaves exists before the main container is made, which a mount of a single file needs.
func (r Runtime) addGate(spec *corev1.PodSpec) {
	main := &spec.Containers[0]
	command, mounts := []string{"/bin/mpi-agent", "gate"}, []corev1.VolumeMount(nil)
	for _, install := range spec.InitContainers {
		command, mounts = append(command, "--install", agentBinDir), install.VolumeMounts
	}
	spec.InitContainers = []corev1.Container{{
		Name:            mpi.GateContainer,
		Image:           r.Agent.Image,
		Command:         command,
		Resources:       main.Resources,
		SecurityContext: agentContainerSecurity(),
		VolumeMounts: append(mounts,
			corev1.VolumeMount{Name: mpi.StateVolume, MountPath: mpi.StateDir},
			corev1.VolumeMount{Name: mpi.SSHAuthVolume, MountPath: mpi.SSHAuthMountPath, ReadOnly: true},
			corev1.VolumeMount{Name: mpi.HostfileVolume, MountPath: mpi.HostfileDir, ReadOnly: true},
		),
	}}
	main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{
		Name: mpi.StateVolume, MountPath: mpi.HostsPath, SubPath: mpi.HostsKey,
	})
}

func (r Runtime) addSharedMemory(spec *corev1.PodSpec) {
	if r.SharedMemory == nil {
		return
	}
	spec.Volumes = append(spec.Volumes, corev1.Volume{
		Name: sharedMemoryVolume,
		VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
			Medium:    corev1.StorageMediumMemory,
			SizeLimit: r.SharedMemory,
		}},
	})
	container := &spec.Containers[0]
	container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: sharedMemoryVolume, MountPath: sharedMemoryDir})
}

func (r Runtime) containerVariables(dialect mpi.Dialect) []corev1.EnvVar {
	var env []corev1.EnvVar
	index := map[string]int{}
	for _, v := range append(mpi.Environment(dialect, r.Network), r.Env...) {
		if i, found := index[v.Name]; found {
			env[i].Value = v.Value
			continue
		}
		index[v.Name] = len(env)
		env = append(env, corev1.EnvVar{Name: v.Name, Value: v.Value})
	}
	return env
}
