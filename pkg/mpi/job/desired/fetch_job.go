package desired

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// FetchJobName is the name of the Job that fetches data of a TrainJob, or copies its artifacts.
func FetchJobName(trainJob, step string) string { return trainJob + "-" + step }

// fetchTries is how often a pod is made again that failed to fetch.
const fetchTries = 4

// FetchJobs returns the Jobs that bring the data of a job, before its gang asks for machines. In a queue Kueue
// holds each of them, counts it, and lets it run while the gang still waits. The TrainJob owns them, but
// does not control them: of what a job controls that it queues itself, Kueue counts nothing.
func FetchJobs(j job.Job) []*batchv1.Job {
	var jobs []*batchv1.Job
	for _, d := range j.Data {
		if !d.IsFetched() {
			continue
		}
		fetch := dataJob(j, d.Step, fetchPod(j, d))
		fetch.Spec.Suspend = ptr.To(j.Suspended && j.Queue == nil)
		jobs = append(jobs, fetch)
	}
	return jobs
}

// dataJob is a Job that works on the data of a TrainJob for a step.
func dataJob(j job.Job, step string, pod corev1.PodTemplateSpec) *batchv1.Job {
	meta := objectMeta(j, FetchJobName(j.Name, step))
	meta.OwnerReferences[0].Controller = nil
	meta.Labels[mpi.AncestorLabel] = step
	meta.Labels = job.MergeMaps(meta.Labels, j.Queue)
	pod.Labels = job.MergeMaps(pod.Labels, map[string]string{mpi.TrainJobLabel: j.Name, mpi.AncestorLabel: step})
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	return &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job"},
		ObjectMeta: meta,
		Spec: batchv1.JobSpec{
			BackoffLimit: ptr.To[int32](fetchTries),
			PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
				{Action: batchv1.PodFailurePolicyActionFailJob, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
					Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{mpi.FetchFailedForGood},
				}},
				{Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
					{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue},
				}},
			}},
			Template: pod,
		},
	}
}

// fetchPod is the runtime's own pod for the step, or one of ours with the account and the security of the
// launcher.
func fetchPod(j job.Job, d job.Data) corev1.PodTemplateSpec {
	var pod corev1.PodTemplateSpec
	if d.Pod != nil {
		pod = *d.Pod.DeepCopy()
	} else {
		pod = ownFetchPod(j, d)
	}
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		if container.Name != d.Step {
			continue
		}
		if d.URI != "" {
			setVariable(container, corev1.EnvVar{Name: mpi.StorageURI, Value: d.URI})
		}
		for _, variable := range d.Env {
			setVariable(container, variable)
		}
		takeSecret(container, d.Secret)
	}
	return pod
}

func takeSecret(container *corev1.Container, secret string) {
	if secret == "" {
		return
	}
	container.EnvFrom = append(container.EnvFrom, corev1.EnvFromSource{
		SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: secret}},
	})
}

func ownFetchPod(j job.Job, d job.Data) corev1.PodTemplateSpec {
	return dataPod(j, d.Step, []string{mpi.DataRoot, mpi.DataPath(string(j.UID), d.Step)}, mpi.DataClaim,
		corev1.VolumeMount{MountPath: mpi.DataRoot})
}

// dataPod runs mpi-data for a step, with the account and the security of the launcher, and one claim.
func dataPod(j job.Job, step string, args []string, claim string, mount corev1.VolumeMount) corev1.PodTemplateSpec {
	mount.Name = mpi.DataVolume
	launcher := job.ReplicatedJob(j.Template.Spec, mpi.LauncherJob).Template.Spec.Template
	security := job.MainContainer(&launcher.Spec).SecurityContext.DeepCopy()
	if security == nil {
		security = &corev1.SecurityContext{}
	}
	security.ReadOnlyRootFilesystem = ptr.To(true)
	if security.Capabilities != nil {
		security.Capabilities.Add = nil
	}
	memory := resource.MustParse("512Mi")
	pod := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		SecurityContext: launcher.Spec.SecurityContext, ServiceAccountName: launcher.Spec.ServiceAccountName,
		ImagePullSecrets: launcher.Spec.ImagePullSecrets, PriorityClassName: launcher.Spec.PriorityClassName,
		AutomountServiceAccountToken: ptr.To(false), EnableServiceLinks: ptr.To(false),
		Containers: []corev1.Container{{
			Name: step, Image: agentImage(launcher.Spec), Command: append([]string{mpi.DataBin, step}, args...),
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: memory},
				Limits:   corev1.ResourceList{corev1.ResourceMemory: memory},
			},
			SecurityContext: security,
			VolumeMounts:    []corev1.VolumeMount{mount},
		}},
		Volumes: []corev1.Volume{claimVolume(mpi.DataVolume, claim)},
	}}
	pod.Labels = job.MergeMaps(nil, launcher.Labels)
	return pod
}

func claimVolume(name, claim string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}}
}

// agentImage is where a compiled runtime has its agent from.
func agentImage(pod corev1.PodSpec) string {
	for _, volume := range pod.Volumes {
		if volume.Name == mpi.AgentVolume && volume.Image != nil {
			return volume.Image.Reference
		}
	}
	for _, container := range pod.InitContainers {
		if container.Name == mpi.InstallContainer || container.Name == mpi.GateContainer {
			return container.Image
		}
	}
	return ""
}

// mountData lets ranks read the data.
func mountData(j job.Job, pod *corev1.PodSpec, container *corev1.Container) {
	for _, d := range j.Data {
		if d.Pod != nil {
			continue // the volumes are the runtime's
		}
		volume, claim, folder := mpi.DataVolume, mpi.DataClaim, mpi.DataPath(string(j.UID), d.Step)
		if !d.IsFetched() {
			volume, claim, folder = d.Step, d.Claim, d.Folder
		}
		setVolume(pod, claimVolume(volume, claim))
		setMount(container, corev1.VolumeMount{Name: volume, MountPath: d.Dir(), SubPath: folder, ReadOnly: true})
	}
}
