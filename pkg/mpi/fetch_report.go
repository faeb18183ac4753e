package mpi

// Names of what brings data into a job before it starts.
const (
	// DatasetInitializer and ModelInitializer are the steps by which upstream's runtimes name their jobs
	// (AncestorLabel).
	DatasetInitializer = "dataset-initializer"
	ModelInitializer   = "model-initializer"
	// StorageURI is the variable with the source of such a job, and DatasetDir and ModelDir are the folders that
	// ranks read, as upstream has them.
	StorageURI = "STORAGE_URI"
	DatasetDir = "/workspace/dataset"
	ModelDir   = "/workspace/model"
	// DataClaim is the PersistentVolumeClaim of a namespace in which data is kept for all its jobs. Its volume is
	// DataVolume.
	DataClaim  = "lockstep-data"
	DataVolume = "lockstep-data"
	// DataBin fetches, in the image of the agent; DataRoot is the folder of the claim in its pod.
	DataBin  = "/bin/mpi-data"
	DataRoot = "/data"
	// ArtifactsAnnotation of a TrainJob asks for a folder that outlives the pods of the job: package job reads it. Ranks
	// find the folder at ArtifactsDir, which ArtifactsVariable names.
	ArtifactsAnnotation = "lockstep.dev/artifacts"
	ArtifactsDir        = "/workspace/artifacts"
	ArtifactsVariable   = "LOCKSTEP_ARTIFACTS_DIR"
	// ArtifactsStep copies that folder after the end. RunVariable has a jobv1.Manifest for it, in JSON.
	ArtifactsStep = "artifacts"
	RunVariable   = "LOCKSTEP_RUN"
	// FetchFailedForGood is the exit code of a fetch or a copy that no second try would help.
	FetchFailedForGood = 3
)

// FetchReport is the termination message of a pod that fetches data, or copies artifacts.
type FetchReport struct {
	// Reason is empty for success.
	Reason Reason `json:"reason,omitempty"`
	// Message describes the failure for the user.
	Message string `json:"message,omitempty"`
	// Files and Bytes are what the folder has.
	Files int   `json:"files,omitempty"`
	Bytes int64 `json:"bytes,omitempty"`
	// Digest is the SHA-256 of the names and the contents of all files.
	Digest string `json:"digest,omitempty"`
	// Cached is true where an earlier job had fetched the same version.
	Cached bool `json:"cached,omitempty"`
}

// DataPath returns where in DataClaim a job finds what a step has fetched for it: a link to a folder that jobs
// share.
func DataPath(uid, step string) string { return "jobs/" + uid + "/" + step }

// ArtifactsPath returns where in a claim artifacts of this name lie.
func ArtifactsPath(folder string) string { return "artifacts/" + folder }
