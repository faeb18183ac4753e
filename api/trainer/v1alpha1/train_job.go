package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TrainJob is a job: a runtime, and what is different for this job.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type TrainJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   TrainJobSpec   `json:"spec,omitzero"`
	Status TrainJobStatus `json:"status,omitzero"`
}

// TrainJobList is a list of TrainJobs.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type TrainJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []TrainJob `json:"items"`
}

// The types of conditions of a TrainJob.
const (
	TrainJobSuspended = "Suspended"
	TrainJobComplete  = "Complete"
	TrainJobFailed    = "Failed"
)

// The reasons of conditions: the first two of Suspended, the others of Failed.
const (
	TrainJobSuspendedReason           = "Suspended"
	TrainJobResumedReason             = "Resumed"
	TrainJobRuntimeNotSupportedReason = "TrainingRuntimeNotSupported"
	TrainJobDeadlineExceededReason    = "DeadlineExceeded"
)

// TrainJobSpec holds the wishes of the user.
type TrainJobSpec struct {
	RuntimeRef  RuntimeRef   `json:"runtimeRef,omitzero"`
	Initializer *Initializer `json:"initializer,omitempty"`
	Trainer     *Trainer     `json:"trainer,omitempty"`
	// RuntimePatches change the runtime for this job; each manager, such as Kueue, has one.
	RuntimePatches []RuntimePatch `json:"runtimePatches,omitempty"`
	Suspend        *bool          `json:"suspend,omitempty"`
	// ActiveDeadlineSeconds end a job that runs longer; the clock starts again when a job is resumed.
	ActiveDeadlineSeconds int64 `json:"activeDeadlineSeconds,omitempty"`
	// ManagedBy names the controller that runs the job.
	ManagedBy *string `json:"managedBy,omitempty"`
}

// RuntimeRef names the runtime: a ClusterTrainingRuntime, unless Kind asks for one of the namespace.
type RuntimeRef struct {
	Name     string  `json:"name,omitempty"`
	APIGroup *string `json:"apiGroup,omitempty"`
	Kind     *string `json:"kind,omitempty"`
}

// Initializer names data that is fetched before the job starts.
type Initializer struct {
	Dataset *DatasetInitializer `json:"dataset,omitempty"`
	Model   *ModelInitializer   `json:"model,omitempty"`
}

// DatasetInitializer is a dataset to fetch.
type DatasetInitializer struct {
	StorageUri *string         `json:"storageUri,omitempty"` //nolint:staticcheck // upstream's name
	Env        []corev1.EnvVar `json:"env,omitempty"`
	// SecretRef has the credentials for the source.
	SecretRef *corev1.LocalObjectReference `json:"secretRef,omitempty"`
}

// ModelInitializer is a model to fetch.
type ModelInitializer struct {
	StorageUri *string         `json:"storageUri,omitempty"` //nolint:staticcheck // upstream's name
	Env        []corev1.EnvVar `json:"env,omitempty"`
	// SecretRef has the credentials for the source.
	SecretRef *corev1.LocalObjectReference `json:"secretRef,omitempty"`
}

// Trainer is the program of the job and its nodes.
type Trainer struct {
	Image            *string                      `json:"image,omitempty"`
	Command          []string                     `json:"command,omitempty"`
	Args             []string                     `json:"args,omitempty"`
	Env              []corev1.EnvVar              `json:"env,omitempty"`
	NumNodes         *int32                       `json:"numNodes,omitempty"`
	ResourcesPerNode *corev1.ResourceRequirements `json:"resourcesPerNode,omitempty"`
	// NumProcPerNode are the slots of each node.
	NumProcPerNode *int32 `json:"numProcPerNode,omitempty"`
}

// RuntimePatch holds the changes of one manager.
type RuntimePatch struct {
	Manager string `json:"manager,omitempty"`
	// Time of the latest write, by Trainer's webhook.
	Time                *metav1.Time              `json:"time,omitempty"`
	TrainingRuntimeSpec *TrainingRuntimeSpecPatch `json:"trainingRuntimeSpec,omitempty"`
}

// TrainingRuntimeSpecPatch is the part of a TrainingRuntimeSpec that a patch may change.
type TrainingRuntimeSpecPatch struct {
	Template *JobSetTemplatePatch `json:"template,omitempty"`
}

// JobSetTemplatePatch changes the template of the JobSet; of its metadata labels and annotations.
type JobSetTemplatePatch struct {
	Metadata *metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec     *JobSetSpecPatch   `json:"spec,omitempty"`
}

// JobSetSpecPatch changes replicated jobs by name.
type JobSetSpecPatch struct {
	ReplicatedJobs []ReplicatedJobPatch `json:"replicatedJobs,omitempty"`
}

// ReplicatedJobPatch changes one replicated job.
type ReplicatedJobPatch struct {
	Name     string            `json:"name,omitempty"`
	Template *JobTemplatePatch `json:"template,omitempty"`
}

// JobTemplatePatch changes the template of a Job; of its metadata labels and annotations.
type JobTemplatePatch struct {
	Metadata *metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec     *JobSpecPatch      `json:"spec,omitempty"`
}

// JobSpecPatch changes the pods of a Job.
type JobSpecPatch struct {
	Template *PodTemplatePatch `json:"template,omitempty"`
}

// PodTemplatePatch changes the template of a pod; of its metadata labels and annotations.
type PodTemplatePatch struct {
	Metadata *metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec     *PodSpecPatch      `json:"spec,omitempty"`
}

// PodSpecPatch is the part of a pod that a patch may change.
type PodSpecPatch struct {
	ServiceAccountName            *string                       `json:"serviceAccountName,omitempty"`
	Volumes                       []corev1.Volume               `json:"volumes,omitempty"`
	InitContainers                []ContainerPatch              `json:"initContainers,omitempty"`
	Containers                    []ContainerPatch              `json:"containers,omitempty"`
	ImagePullSecrets              []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	SecurityContext               *corev1.PodSecurityContext    `json:"securityContext,omitempty"`
	NodeSelector                  map[string]string             `json:"nodeSelector,omitempty"`
	Affinity                      *corev1.Affinity              `json:"affinity,omitempty"`
	Tolerations                   []corev1.Toleration           `json:"tolerations,omitempty"`
	SchedulingGates               []corev1.PodSchedulingGate    `json:"schedulingGates,omitempty"`
	TerminationGracePeriodSeconds *int64                        `json:"terminationGracePeriodSeconds,omitempty"`
}

// ContainerPatch changes a container that the runtime has.
type ContainerPatch struct {
	Name            string                  `json:"name,omitempty"`
	Env             []corev1.EnvVar         `json:"env,omitempty"`
	VolumeMounts    []corev1.VolumeMount    `json:"volumeMounts,omitempty"`
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`
}

// TrainJobStatus is how far a job is.
type TrainJobStatus struct {
	Conditions    []metav1.Condition `json:"conditions,omitempty"`
	JobsStatus    []JobStatus        `json:"jobsStatus,omitempty"`
	TrainerStatus *TrainerStatus     `json:"trainerStatus,omitempty"`
}

// JobStatus counts the Jobs of one replicated job by their state. Active are those with a pod that runs or waits.
type JobStatus struct {
	Name      string `json:"name,omitempty"`
	Ready     *int32 `json:"ready,omitempty"`
	Succeeded *int32 `json:"succeeded,omitempty"`
	Failed    *int32 `json:"failed,omitempty"`
	Active    *int32 `json:"active,omitempty"`
	Suspended *int32 `json:"suspended,omitempty"`
}

// TrainerStatus is the progress that the program reports.
type TrainerStatus struct {
	ProgressPercentage        *int32      `json:"progressPercentage,omitempty"`
	EstimatedRemainingSeconds *int32      `json:"estimatedRemainingSeconds,omitempty"`
	Metrics                   []Metric    `json:"metrics,omitempty"`
	LastUpdatedTime           metav1.Time `json:"lastUpdatedTime,omitempty"`
}

// Metric is a number that the program reports, as text.
type Metric struct {
	Name  string `json:"name,omitempty"`
	Value string `json:"value,omitempty"`
}

// UpdateTrainJobStatusRequest is the body of a report to Trainer's status server.
type UpdateTrainJobStatusRequest struct {
	TrainerStatus *TrainerStatus `json:"trainerStatus,omitempty"`
}
