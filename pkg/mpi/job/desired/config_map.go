package desired

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// HostfileConfigMap returns the hostfile of the job, in the syntax of Open MPI as upstream writes it. The agent
// translates it for Hydra. It is written once: names do not change when pods do. Beside it stands the runtime that the job is
// made from.
func HostfileConfigMap(j job.Job) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: objectMeta(j, mpi.HostfileConfigMapName(j.Name)),
		Data: map[string]string{
			mpi.HostfileKey: mpi.FormatHostfile(mpi.ORTE, mpi.HostsOf(j.Name, j.World)),
			job.SnapshotKey: j.Runtime.Snapshot(),
		},
	}
}
