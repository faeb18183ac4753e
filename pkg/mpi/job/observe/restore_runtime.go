package observe

import (
	"encoding/json"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/mpi/job"
)

var errNotTheRuntime = errors.New("entry `" + job.SnapshotKey + "` of the hostfile's ConfigMap is not what the controller wrote there: somebody has changed it, " +
	"or an earlier version of the controller made the job, which goes on with its runtime as it is today")

// RestoreRuntime adds the hostfile's ConfigMap, which is empty where there is none, to the children, and sets Runtime to the one that it keeps
// if the job was made before. The error says that it keeps another one; the job then goes on with the runtime of today. The other
// children and the JobSet must have been read.
func (o *Observed) RestoreRuntime(hostfile corev1.ConfigMap) error {
	if hostfile.Name != "" {
		kept := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: hostfile.ObjectMeta}
		o.Children = append(o.Children, kept)
		o.Hostfile = job.Digest(hostfile.Data[job.SnapshotKey])
	}
	if hostfile.Name == "" || !o.HasKeySecret() || !o.WasJobSetMade() {
		return nil
	}
	text := hostfile.Data[job.SnapshotKey]
	var runtime job.Runtime
	if !metav1.IsControlledBy(&hostfile, o.TrainJob) || job.Digest(text) != o.RecordedDigest() || json.Unmarshal([]byte(text), &runtime) != nil {
		return errNotTheRuntime
	}
	o.Runtime = &runtime
	return nil
}

// WasJobSetMade reports whether a JobSet of this job is there, or was: one that was deleted has left its traces in the status.
func (o Observed) WasJobSetMade() bool {
	status := o.TrainJob.Status
	return o.OwnsJobSet() || apimeta.IsStatusConditionTrue(status.Conditions, job.Created) || o.PublishedRestarts() > 0 || len(status.JobsStatus) > 0
}

// RecordedDigest returns the digest of the runtime that the job was made from, empty while it has no key.
func (o Observed) RecordedDigest() string {
	for _, child := range o.Children {
		if child.Kind == job.KindOfSecret().Kind && job.ClaimOf(o.TrainJob, &child) == job.Own {
			return child.Annotations[job.DigestAnnotation]
		}
	}
	return ""
}
