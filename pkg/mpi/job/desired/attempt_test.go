package desired

import (
	"testing"

	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// Logs of earlier attempts can be told apart by the label of their pods.
func TestPodsOfLaterAttempts(t *testing.T) {
	for attempt, want := range map[int]string{0: "", 2: "2"} {
		var rj jobset.ReplicatedJob
		setTrainJobLabels(job.Job{Name: "train", Attempt: attempt}, &rj)
		if got := rj.Template.Spec.Template.Labels[mpi.AttemptLabel]; got != want {
			t.Errorf("attempt %d: %q, want %q", attempt, got, want)
		}
	}
}
