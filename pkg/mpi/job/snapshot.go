package job

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// snapshotKey is where the hostfile's ConfigMap keeps the runtime as it was when the job was made. It is in no pod.
	snapshotKey = "runtime.json"
	// digestAnnotation on the Secret with the key of a job is the SHA-256 of that text. People of a tenant may write
	// ConfigMaps, and could bring a runtime of their own that way; they may not write Secrets.
	digestAnnotation = "lockstep.dev/runtime-sha256"
)

var errNotTheRuntime = errors.New("entry `" + snapshotKey + "` of the hostfile's ConfigMap is not what the controller wrote there: somebody has changed it, " +
	"or an earlier version of the controller made the job, which goes on with its runtime as it is today")

// snapshot returns the runtime as text. What a platform admin changes afterwards is for new jobs: a job that is resumed or
// restarted must be the job that it was. Kubeflow Trainer has a ConfigMap of its own for it; here it costs no write.
func (r Runtime) snapshot() string {
	text, err := json.Marshal(r)
	if err != nil {
		// The runtime was JSON when it came.
		return ""
	}
	return string(text)
}

func digest(snapshot string) string {
	sum := sha256.Sum256([]byte(snapshot))
	return hex.EncodeToString(sum[:])
}

// AsMade adds the hostfile's ConfigMap, which is empty where there is none, to the children, and sets Runtime to the one that it keeps
// if the job was made before. The error says that it keeps another one; the job then goes on with the runtime of today. The other
// children and the JobSet must have been read.
func (o *Observed) AsMade(hostfile corev1.ConfigMap) error {
	if hostfile.Name != "" {
		kept := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: hostfile.ObjectMeta}
		o.Children = append(o.Children, kept)
		o.hostfile = digest(hostfile.Data[snapshotKey])
	}
	if hostfile.Name == "" || !o.hasKey() || !o.made() {
		return nil
	}
	text := hostfile.Data[snapshotKey]
	var runtime Runtime
	if !metav1.IsControlledBy(&hostfile, o.TrainJob) || digest(text) != o.keptDigest() || json.Unmarshal([]byte(text), &runtime) != nil {
		return errNotTheRuntime
	}
	o.Runtime = &runtime
	return nil
}

// made says whether a JobSet of this job is there, or was: one that was deleted has left its traces in the status.
func (o Observed) made() bool {
	status := o.TrainJob.Status
	return o.Owns() || apimeta.IsStatusConditionTrue(status.Conditions, Created) || o.restarts() > 0 || len(status.JobsStatus) > 0
}

// keptDigest returns the digest of the runtime that the job was made from, empty while it has no key.
func (o Observed) keptDigest() string {
	for _, child := range o.Children {
		if child.Kind == secretType().Kind && claimOf(o.TrainJob, &child) == own {
			return child.Annotations[digestAnnotation]
		}
	}
	return ""
}

// outdated returns what was made for a job that was never started, from another runtime than that of today or by somebody else:
// all of it, where the hostfile's ConfigMap or the key says so.
func (o Observed) outdated() []Deletion {
	today := digest(o.Runtime.snapshot())
	other := func(child metav1.PartialObjectMetadata) bool {
		ours := claimOf(o.TrainJob, &child) == own
		return ours && (child.Kind == "ConfigMap" && o.hostfile != today || child.Kind == secretType().Kind && o.keptDigest() != today)
	}
	if o.made() || !slices.ContainsFunc(o.Children, other) {
		return nil
	}
	return o.claimed(own)
}
