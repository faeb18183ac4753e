package mpi

// TrainerStatusPort is the port of the status server of Kubeflow Trainer, where pods post their progress if its alpha
// feature TrainJobStatus is on.
const TrainerStatusPort = 10443

// TrainerNamespaces are the namespaces in which Kubeflow Trainer runs and keeps its lease: by upstream's manifests,
// Kubeflow's, Open Data Hub's and OpenShift AI's.
func TrainerNamespaces() []string {
	return []string{"kubeflow-system", "kubeflow", "opendatahub", "redhat-ods-applications"}
}
