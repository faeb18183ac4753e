package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// ClusterTrainingRuntime is a runtime for TrainJobs in all namespaces.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ClusterTrainingRuntime struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TrainingRuntimeSpec `json:"spec,omitzero"`
}

// ClusterTrainingRuntimeList is a list of ClusterTrainingRuntimes.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ClusterTrainingRuntimeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ClusterTrainingRuntime `json:"items"`
}

// TrainingRuntime is a runtime for TrainJobs in its namespace.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type TrainingRuntime struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TrainingRuntimeSpec `json:"spec,omitempty,omitzero"`
}

// TrainingRuntimeList is a list of TrainingRuntimes.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type TrainingRuntimeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []TrainingRuntime `json:"items"`
}

// TrainingRuntimeSpec describes the JobSet of a TrainJob.
type TrainingRuntimeSpec struct {
	MLPolicy       *MLPolicy          `json:"mlPolicy,omitempty"`
	PodGroupPolicy *PodGroupPolicy    `json:"podGroupPolicy,omitempty"`
	Template       JobSetTemplateSpec `json:"template,omitzero"`
}

// JobSetTemplateSpec is the template of the JobSet; of its metadata labels and annotations count.
type JobSetTemplateSpec struct {
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec jobset.JobSetSpec `json:"spec,omitempty"`
}

// PodGroupPolicy asks for a gang scheduler.
type PodGroupPolicy struct {
	PodGroupPolicySource `json:",inline"`
}

// PodGroupPolicySource names the gang scheduler; one may be set.
type PodGroupPolicySource struct {
	Coscheduling *CoschedulingPodGroupPolicySource `json:"coscheduling,omitempty"`
	Volcano      *VolcanoPodGroupPolicySource      `json:"volcano,omitempty"`
}

// CoschedulingPodGroupPolicySource is for the plugin of scheduler-plugins.
type CoschedulingPodGroupPolicySource struct {
	ScheduleTimeoutSeconds *int32 `json:"scheduleTimeoutSeconds,omitempty"`
}

// VolcanoPodGroupPolicySource is for Volcano.
type VolcanoPodGroupPolicySource struct {
	NetworkTopology *NetworkTopologySpec `json:"networkTopology,omitempty"`
}

// NetworkTopologySpec bounds how far apart the pods of a gang may be. It is Volcano's type (volcano.sh/apis v1.14.0).
type NetworkTopologySpec struct {
	Mode               NetworkTopologyMode `json:"mode,omitempty"`
	HighestTierAllowed *int                `json:"highestTierAllowed,omitempty"`
	HighestTierName    string              `json:"highestTierName,omitempty"`
}

// NetworkTopologyMode is hard or soft.
type NetworkTopologyMode string

// MLPolicy is how the processes of a job find each other, and on how many nodes by default.
type MLPolicy struct {
	NumNodes *int32 `json:"numNodes,omitempty"`

	MLPolicySource `json:",inline"`
}

// MLPolicySource names the framework; one may be set.
type MLPolicySource struct {
	Torch   *TorchMLPolicySource   `json:"torch,omitempty"`
	MPI     *MPIMLPolicySource     `json:"mpi,omitempty"`
	Flux    *FluxMLPolicySource    `json:"flux,omitempty"`
	JAX     *JAXMLPolicySource     `json:"jax,omitempty"`
	XGBoost *XGBoostMLPolicySource `json:"xgboost,omitempty"`
}

// TorchMLPolicySource is for PyTorch.
type TorchMLPolicySource struct {
	EnvInjection *EnvInjection `json:"envInjection,omitempty"`
}

// EnvInjection names further containers that get the framework's variables.
type EnvInjection struct {
	Targets []EnvInjectionTarget `json:"targets,omitempty"`
}

// EnvInjectionTarget are containers of one replicated job.
type EnvInjectionTarget struct {
	JobName        string   `json:"jobName,omitempty"`
	ContainerNames []string `json:"containerNames,omitempty"`
}

// JAXMLPolicySource is for JAX.
type JAXMLPolicySource struct{}

// XGBoostMLPolicySource is for XGBoost.
type XGBoostMLPolicySource struct{}

// MPIMLPolicySource is for MPI.
type MPIMLPolicySource struct {
	// NumProcPerNode are the slots of each node in the hostfile.
	NumProcPerNode    *int32             `json:"numProcPerNode,omitempty"`
	MPIImplementation *MPIImplementation `json:"mpiImplementation,omitempty"`
	SSHAuthMountPath  *string            `json:"sshAuthMountPath,omitempty"`
	RunLauncherAsNode *bool              `json:"runLauncherAsNode,omitempty"`
}

// FluxMLPolicySource is for Flux, the resource manager.
type FluxMLPolicySource struct {
	NumProcPerNode *int32 `json:"numProcPerNode,omitempty"`
}

// MPIImplementation names an implementation of MPI.
type MPIImplementation string

// The implementations that the API names.
const (
	MPIImplementationOpenMPI MPIImplementation = "OpenMPI"
	MPIImplementationIntel   MPIImplementation = "Intel"
	MPIImplementationMPICH   MPIImplementation = "MPICH"
)
