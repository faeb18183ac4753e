package fetch

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/compare"
	"lockstep.dev/lockstep/pkg/mpi"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
)

// ReadRun reads what a job ran as. Parts that are gone, or may not be read, are left out.
func ReadRun(ctx context.Context, c client.Reader, job *trainer.TrainJob) compare.Run {
	run := compare.Run{TrainJob: job, Now: time.Now()}
	var set jobset.JobSet
	if c.Get(ctx, client.ObjectKeyFromObject(job), &set) == nil && mpijob.ClaimOf(job, &set) == mpijob.Own {
		run.JobSet = &set
	}
	var hostfile corev1.ConfigMap
	key := client.ObjectKey{Namespace: job.Namespace, Name: mpi.HostfileConfigMapName(job.Name)}
	if c.Get(ctx, key, &hostfile) != nil || mpijob.ClaimOf(job, &hostfile) != mpijob.Own {
		return run
	}
	var runtime mpijob.Runtime
	if text := hostfile.Data[mpijob.SnapshotKey]; json.Unmarshal([]byte(text), &runtime) == nil {
		run.Snapshot, run.Digest = &runtime, mpijob.Digest(text)
	}
	return run
}
