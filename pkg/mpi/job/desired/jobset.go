package desired

import (
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// fileMode lets the owner and the group of a volume read. Pods run with the group that owns their volumes: fsGroup, or
// GID 0 on OpenShift.
const fileMode int32 = 0o440

// JobSet returns the JobSet of the job: the runtime's template with what differs per job. It has the TrainJob's name and
// the replicated jobs of the template, because Kueue computes both again and expects to find them. The replicated job
// `node` stays even when the launcher is the only node, with no pods: a Job without completions succeeds at once, so the
// sums that Kueue compares (ready and succeeded against replicas) still add up.
func JobSet(j job.Job) *jobset.JobSet {
	spec := j.Template.Spec.DeepCopy()
	spec.Suspend = ptr.To(j.Suspended)
	wireLauncherJob(j, job.ReplicatedJob(*spec, mpi.LauncherJob))
	wireNodeJob(j, job.ReplicatedJob(*spec, mpi.NodeJob))
	for i := range spec.ReplicatedJobs {
		setTrainJobLabels(j, &spec.ReplicatedJobs[i])
		joinPodGroup(j, &spec.ReplicatedJobs[i])
	}
	if spec.Network != nil {
		// The hostfile says `<host>.<name of the job>`, which is JobSet's default.
		spec.Network.Subdomain = ""
	}
	meta := objectMeta(j, j.Name)
	meta.Labels = job.MergeMaps(j.Template.Labels, meta.Labels)
	meta.Annotations = maps.Clone(j.Template.Annotations)
	if j.Attempt > 0 {
		meta.Annotations = job.MergeMaps(meta.Annotations, map[string]string{job.AttemptAnnotation: strconv.Itoa(j.Attempt)})
	}
	if !j.Suspended && !j.Requested.IsZero() {
		requested := j.Requested.UTC().Format(time.RFC3339)
		meta.Annotations = job.MergeMaps(meta.Annotations, map[string]string{job.RequestedAnnotation: requested})
	}
	return &jobset.JobSet{
		TypeMeta:   job.KindOfJobSet(),
		ObjectMeta: meta,
		Spec:       *spec,
	}
}

func wireLauncherJob(j job.Job, rj *jobset.ReplicatedJob) {
	setPodCount(rj, 1)
	pod := &rj.Template.Spec.Template.Spec
	container := job.MainContainer(pod)
	wirePod(j, pod, container)
	if !j.Runtime.IsCompiled() {
		for _, variable := range openSSHEnvironment(j) {
			setVariable(container, variable)
		}
	}
	if j.World.LauncherRunsRanks {
		container.Resources = mergeResources(j, container.Resources)
	}
	setCommand(j, container)
	setVolume(pod, corev1.Volume{Name: mpi.HostfileVolume, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: mpi.HostfileConfigMapName(j.Name)},
			Items:                []corev1.KeyToPath{{Key: mpi.HostfileKey, Path: mpi.HostfileKey}},
		},
	}})
	setMount(container, corev1.VolumeMount{Name: mpi.HostfileVolume, MountPath: mpi.HostfileDir, ReadOnly: true})
}

func wireNodeJob(j job.Job, rj *jobset.ReplicatedJob) {
	setPodCount(rj, j.World.NodePods())
	pod := &rj.Template.Spec.Template.Spec
	container := job.MainContainer(pod)
	wirePod(j, pod, container)
	container.Resources = mergeResources(j, container.Resources)
}

// wirePod gives every pod the same image, environment and key. Stock Trainer gives image and environment to the launcher
// only, and the ranks on the nodes then run something else (kubeflow/trainer#2825, #3427).
func wirePod(j job.Job, pod *corev1.PodSpec, container *corev1.Container) {
	if j.Trainer.Image != nil {
		container.Image = *j.Trainer.Image
	}
	for _, variable := range slices.Concat(j.Trace, j.Trainer.Env) {
		setVariable(container, variable)
	}
	volume := sshAuthVolume(j)
	if !j.Runtime.IsCompiled() {
		setOpenSSHModes(volume.Secret)
		keepLastLines(pod)
	}
	mountData(j, pod, container)
	mountArtifacts(j, pod, container)
	setVolume(pod, volume)
	setMount(container, corev1.VolumeMount{Name: mpi.SSHAuthVolume, MountPath: j.SSHAuthMountPath, ReadOnly: true})
}

func sshAuthVolume(j job.Job) corev1.Volume {
	return corev1.Volume{Name: mpi.SSHAuthVolume, VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{
			SecretName:  mpi.SSHAuthSecretName(j.Name),
			DefaultMode: ptr.To(fileMode),
			Items: []corev1.KeyToPath{
				{Key: mpi.PrivateKeyKey, Path: mpi.PrivateKeyFile, Mode: ptr.To(fileMode)},
				{Key: mpi.PublicKeyKey, Path: mpi.PublicKeyFile, Mode: ptr.To(fileMode)},
				{Key: mpi.PublicKeyKey, Path: mpi.AuthorizedKeysFile, Mode: ptr.To(fileMode)},
			},
		},
	}}
}

// setCommand runs the user's command under the agent, which owns the verdict. Args alone go to the runtime's command, as
// Kubernetes does it; a command drops the runtime's args.
func setCommand(j job.Job, container *corev1.Container) {
	switch {
	case j.Trainer.Command != nil && !j.Runtime.IsCompiled():
		container.Command = j.Trainer.Command
		// Upstream keeps the template's args behind a user's command; a user's command brings its own.
		container.Args = j.Trainer.Args
		return
	case j.Trainer.Command != nil:
		container.Command = append(agentPrefix(container.Command), j.Trainer.Command...)
		container.Args = j.Trainer.Args
		return
	}
	if j.Trainer.Args != nil {
		container.Args = j.Trainer.Args
	}
}

// agentPrefix keeps the flags with which a runtime calls the agent: everything up to `--`.
func agentPrefix(command []string) []string {
	if len(command) > 0 && command[0] == mpi.AgentBin {
		if end := slices.Index(command, "--"); end >= 0 {
			return slices.Clone(command[:end+1])
		}
	}
	return []string{mpi.AgentBin, "run", "--"}
}

// mergeResources merges resourcesPerNode into those of the runtime, name by name. A limit alone is also the request. A request
// alone is also the limit, or it might exceed the runtime's; except for CPU within the runtime's limit or where there is none, because a
// tight CPU limit throttles ranks that wait for each other.
func mergeResources(j job.Job, base corev1.ResourceRequirements) corev1.ResourceRequirements {
	asked := j.Trainer.ResourcesPerNode
	if asked == nil {
		return base
	}
	result := *base.DeepCopy()
	result.Requests = OverlayResources(result.Requests, asked.Limits, asked.Requests)
	capped := maps.Clone(asked.Requests)
	if limit, limited := base.Limits[corev1.ResourceCPU]; !limited || limit.Cmp(capped[corev1.ResourceCPU]) >= 0 {
		delete(capped, corev1.ResourceCPU)
	}
	result.Limits = OverlayResources(result.Limits, capped, asked.Limits)
	if asked.Claims != nil {
		result.Claims = asked.Claims
	}
	return result
}

func setTrainJobLabels(j job.Job, rj *jobset.ReplicatedJob) {
	ours := map[string]string{mpi.TrainJobLabel: j.Name}
	rj.Template.Labels = job.MergeMaps(rj.Template.Labels, ours)
	if j.Attempt > 0 {
		ours = job.MergeMaps(ours, map[string]string{mpi.AttemptLabel: strconv.Itoa(j.Attempt)})
	}
	rj.Template.Spec.Template.Labels = job.MergeMaps(rj.Template.Spec.Template.Labels, ours)
}

func setPodCount(rj *jobset.ReplicatedJob, pods int32) {
	rj.Replicas = 1
	rj.Template.Spec.Parallelism = ptr.To(pods)
	rj.Template.Spec.Completions = ptr.To(pods)
}

func setVariable(container *corev1.Container, variable corev1.EnvVar) {
	container.Env = replaceOrAppend(container.Env, variable, func(e corev1.EnvVar) bool { return e.Name == variable.Name })
}

func setVolume(pod *corev1.PodSpec, volume corev1.Volume) {
	pod.Volumes = replaceOrAppend(pod.Volumes, volume, func(v corev1.Volume) bool { return v.Name == volume.Name })
}

func setMount(container *corev1.Container, mount corev1.VolumeMount) {
	container.VolumeMounts = replaceOrAppend(container.VolumeMounts, mount, func(m corev1.VolumeMount) bool { return m.MountPath == mount.MountPath })
}

// replaceOrAppend replaces the item that is the same, or adds one.
func replaceOrAppend[T any](list []T, item T, same func(T) bool) []T {
	if i := slices.IndexFunc(list, same); i >= 0 {
		list[i] = item
		return list
	}
	return append(list, item)
}

// RescheduledJobSet returns the existing JobSet with the suspension and the placement that the job asks for now. While a JobSet
// is suspended, JobSet's webhook lets these fields of the pod templates change, and Kueue places jobs through them. Labels and
// annotations of the JobSet may change too; none is taken away, because others may have put it there. A running JobSet is
// suspended, but not changed in any other way.
func RescheduledJobSet(j job.Job, current *jobset.JobSet) *jobset.JobSet {
	desired := JobSet(j)
	result := current.DeepCopy()
	result.Spec.Suspend = desired.Spec.Suspend
	if !ptr.Deref(current.Spec.Suspend, false) {
		return result
	}
	result.Labels = job.MergeMaps(current.Labels, desired.Labels)
	result.Annotations = job.MergeMaps(current.Annotations, desired.Annotations)
	for i := range result.Spec.ReplicatedJobs {
		if rj := job.ReplicatedJob(desired.Spec, result.Spec.ReplicatedJobs[i].Name); rj != nil {
			copyPlacement(&result.Spec.ReplicatedJobs[i].Template.Spec.Template, rj.Template.Spec.Template)
		}
	}
	return result
}

func copyPlacement(pod *corev1.PodTemplateSpec, desired corev1.PodTemplateSpec) {
	pod.Labels = desired.Labels
	pod.Annotations = desired.Annotations
	pod.Spec.NodeSelector = desired.Spec.NodeSelector
	pod.Spec.Tolerations = desired.Spec.Tolerations
	pod.Spec.SchedulingGates = desired.Spec.SchedulingGates
}
