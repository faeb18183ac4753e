package testjob_test

import (
	"testing"

	"lockstep.dev/lockstep/test/testjob"
)

// Kueue takes jobs that name their queue, and starts them itself.
func TestAJobInAQueueBeginsSuspended(t *testing.T) {
	queued, other := testjob.Job{Queue: "lockstep"}.TrainJob(), testjob.Job{}.TrainJob()
	if queued.Labels["kueue.x-k8s.io/queue-name"] != "lockstep" || queued.Spec.Suspend == nil || !*queued.Spec.Suspend {
		t.Errorf("%v, suspend %v", queued.Labels, queued.Spec.Suspend)
	}
	if len(other.Labels) > 0 || other.Spec.Suspend != nil {
		t.Errorf("without a queue: %v, suspend %v", other.Labels, other.Spec.Suspend)
	}
}
