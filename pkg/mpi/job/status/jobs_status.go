package status

import (
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
)

// countsAfterDeletion returns the counts of child Jobs after the JobSet was deleted: nothing is active any more, and dashboards take a
// job with something active for a running one.
func countsAfterDeletion(statuses []trainer.JobStatus) []trainer.JobStatus {
	result := make([]trainer.JobStatus, 0, len(statuses))
	for _, s := range statuses {
		s.Failed = ptr.To(ptr.Deref(s.Failed, 0) + ptr.Deref(s.Active, 0))
		s.Active, s.Ready = ptr.To[int32](0), ptr.To[int32](0)
		result = append(result, s)
	}
	return result
}

// countsAfterLauncher returns the counts of child Jobs with that of the launcher as it will be in a moment: it has ended.
func countsAfterLauncher(statuses []trainer.JobStatus, succeeded bool) []trainer.JobStatus {
	for i, s := range statuses {
		if s.Name != mpi.LauncherJob {
			continue
		}
		s.Active, s.Ready, s.Succeeded, s.Failed = ptr.To[int32](0), ptr.To[int32](0), ptr.To[int32](0), ptr.To[int32](0)
		if succeeded {
			s.Succeeded = ptr.To[int32](1)
		} else {
			s.Failed = ptr.To[int32](1)
		}
		statuses[i] = s
	}
	return statuses
}

// jobsStatus counts child Jobs as upstream does, in the order of the JobSet's spec: JobSet itself writes them in the
// order of a Go map.
func jobsStatus(jobSet *jobset.JobSet) []trainer.JobStatus {
	var statuses []trainer.JobStatus
	for _, rj := range jobSet.Spec.ReplicatedJobs {
		for _, s := range jobSet.Status.ReplicatedJobsStatus {
			if s.Name == rj.Name {
				statuses = append(statuses, trainer.JobStatus{
					Name: s.Name, Ready: ptr.To(s.Ready), Succeeded: ptr.To(s.Succeeded), Failed: ptr.To(s.Failed),
					Active: ptr.To(s.Active), Suspended: ptr.To(s.Suspended),
				})
			}
		}
	}
	return statuses
}
