package job

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// Runtime is what ClusterTrainingRuntime and TrainingRuntime have in common.
type Runtime struct {
	Labels      map[string]string           `json:"labels,omitempty"`
	Annotations map[string]string           `json:"annotations,omitempty"`
	Spec        trainer.TrainingRuntimeSpec `json:"spec"`
}

// IsMPI reports whether this is an MPI runtime, compiled by Lockstep or of upstream's own kind. TrainJobs of other runtimes are
// not ours.
func (r Runtime) IsMPI() bool { return r.Spec.MLPolicy != nil && r.Spec.MLPolicy.MPI != nil }

// IsCompiled reports whether Lockstep compiled the runtime, so that its pods have the agent.
func (r Runtime) IsCompiled() bool { return r.IsMPI() && r.Labels[mpi.ImplementationLabel] != "" }

// Deprecation returns the announced end of the runtime.
func (r Runtime) Deprecation() mpi.Deprecation { return mpi.DeprecationOf(r.Labels, r.Annotations) }

// LeastNodes is the smallest number of nodes that a job of the runtime may have, at least 1.
func (r Runtime) LeastNodes() int32 {
	if n, err := strconv.ParseInt(r.Annotations[mpi.MinNodesAnnotation], 10, 32); err == nil && n > 0 {
		return int32(n)
	}
	return 1
}

// checkNodes holds the number of nodes against what the runtime allows.
func (r Runtime) checkNodes(nodes int32) error {
	if least := r.LeastNodes(); nodes < least {
		return newRefusal(diagnose.InvalidWorld, "numNodes is %d, this runtime needs at least %d", nodes, least)
	}
	if most, err := strconv.Atoi(r.Annotations[mpi.MaxNodesAnnotation]); err == nil && int(nodes) > most {
		return newRefusal(diagnose.InvalidWorld, "numNodes is %d, this runtime allows at most %d", nodes, most)
	}
	return nil
}

// maxJobNames is how many names are looked at of a replicated job, so that a runtime of a tenant with a billion replicas costs no
// more. JobSet says of the others that they are taken.
const maxJobNames = 16

// JobNames returns what JobSet calls the Jobs of a TrainJob of this runtime (sigs.k8s.io/jobset pkg/util/placement, GenJobName): the
// first ones of each replicated job.
func (r Runtime) JobNames(trainJob string) []string {
	var names []string
	for _, part := range r.Spec.Template.Spec.ReplicatedJobs {
		replicas := part.Replicas
		if part.Name == mpi.LauncherJob || part.Name == mpi.NodeJob {
			replicas = 1
		}
		for i := range min(replicas, maxJobNames) {
			names = append(names, fmt.Sprintf("%s-%s-%d", trainJob, part.Name, i))
		}
	}
	return names
}

// GangTimeout returns how long the pods of a job may take until all of them run; 0 means forever.
func (r Runtime) GangTimeout() time.Duration {
	if wait, err := time.ParseDuration(r.Annotations[mpi.GangTimeoutAnnotation]); err == nil && wait > 0 {
		return wait
	}
	if policy := r.Spec.PodGroupPolicy; policy != nil && policy.Coscheduling != nil {
		return time.Duration(ptr.Deref(policy.Coscheduling.ScheduleTimeoutSeconds, 0)) * time.Second
	}
	return 0
}

const (
	// maxRestarts bounds mpi.RestartsAnnotation: a job that loses its machines more often has another problem.
	maxRestarts = 10
	// AttemptAnnotation on a JobSet says after how many restarts it was made. A JobSet of fewer restarts than the status
	// tells of is what the restart is about: it goes.
	AttemptAnnotation = "lockstep.dev/attempt"
	// RequestedAnnotation on a JobSet is when its job was created or resumed (RFC 3339), where activeDeadlineSeconds
	// begins.
	RequestedAnnotation = "lockstep.dev/requested-at"
)

// RestartBudget returns the budget of the runtime, 0 when it has none or one that is not a number.
func (r Runtime) RestartBudget() int {
	budget, err := strconv.Atoi(r.Annotations[mpi.RestartsAnnotation])
	if err != nil {
		return 0
	}
	return max(0, min(budget, maxRestarts))
}

// AttemptOf returns after how many restarts a JobSet was made.
func AttemptOf(jobSet metav1.Object) int {
	number, err := strconv.Atoi(jobSet.GetAnnotations()[AttemptAnnotation])
	if err != nil {
		return 0
	}
	return number
}

const (
	// SnapshotKey is where the hostfile's ConfigMap keeps the runtime as it was when the job was made. It is in no pod.
	SnapshotKey = "runtime.json"
	// DigestAnnotation on the Secret with the key of a job is the SHA-256 of that text. People of a tenant may write
	// ConfigMaps, and could bring a runtime of their own that way; they may not write Secrets.
	DigestAnnotation = "lockstep.dev/runtime-sha256"
)

// Snapshot returns the runtime as text. What a platform admin changes afterwards is for new jobs: a job that is resumed or
// restarted must be the job that it was. Kubeflow Trainer has a ConfigMap of its own for it; here it costs no write.
func (r Runtime) Snapshot() string {
	text, err := json.Marshal(r)
	if err != nil {
		// The runtime was JSON when it came.
		return ""
	}
	return string(text)
}

// Digest is the SHA-256 of a snapshot.
func Digest(snapshot string) string {
	sum := sha256.Sum256([]byte(snapshot))
	return hex.EncodeToString(sum[:])
}

// The kinds of PodGroups, by the scheduler that reads them.
var (
	CoschedulingType = metav1.TypeMeta{APIVersion: "scheduling.x-k8s.io/v1alpha1", Kind: "PodGroup"}
	VolcanoType      = metav1.TypeMeta{APIVersion: "scheduling.volcano.sh/v1beta1", Kind: "PodGroup"}
)

// PodGroupType returns the kind of the PodGroup that a gang scheduler of this runtime reads, and whether there is one.
func (r Runtime) PodGroupType() (kind metav1.TypeMeta, wanted bool) {
	return PodGroupType(r.Spec.PodGroupPolicy)
}

// PodGroupType returns the kind of the PodGroup that a policy asks for, and whether it asks for one.
func PodGroupType(policy *trainer.PodGroupPolicy) (metav1.TypeMeta, bool) {
	switch {
	case policy == nil:
		return metav1.TypeMeta{}, false
	case policy.Coscheduling != nil:
		return CoschedulingType, true
	case policy.Volcano != nil:
		return VolcanoType, true
	}
	return metav1.TypeMeta{}, false
}
