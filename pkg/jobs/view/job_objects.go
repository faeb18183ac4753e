package view

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
)

// JobObjects are what is known of a job. All but Now and TrainJob may be missing: the less there is, the less is said.
type JobObjects struct {
	Now      time.Time
	TrainJob *trainer.TrainJob
	// Runtime is the one that the TrainJob names; nil where there is none or it was not read.
	Runtime *job.Runtime
	// JobSet is the one with the name of the TrainJob.
	JobSet *jobset.JobSet
	// Pods are those of the JobSet. They count only where PodsRead says that they were read, because there may be none.
	Pods     []corev1.Pod
	PodsRead bool
	// Jobs are those of the JobSet, for a list in which pods would be too many.
	Jobs []batchv1.Job
	// Workloads are Kueue's for the local queue of the job, where they can be read.
	Workloads []kueue.Workload
	// Withheld is what could not be read.
	Withheld []Withheld
}

// Withheld is what a reader may not see, or what the cluster does not have.
type Withheld struct {
	// What is a resource: `pods`, `workloads`.
	What string `json:"what"`
	// Why is a sentence.
	Why string `json:"why"`
}
