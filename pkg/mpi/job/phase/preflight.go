package phase

import (
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/observe"
)

// Preflight says of a job that does not exist yet what the controller would: why it can never have its pods in a namespace of these bounds, or
// what it would wait for there. Both are nil where nothing is in the way. A suspended job is judged as if it were resumed.
func Preflight(trainJob *trainer.TrainJob, runtime job.Runtime, bounds observe.NamespaceBounds) (never, waits *diagnose.Cause, err error) {
	awake := trainJob.DeepCopy()
	awake.Spec.Suspend = ptr.To(false)
	made, err := job.Resolve(awake, runtime)
	if err != nil {
		return nil, nil, err
	}
	if made.TraceRefused != nil {
		return nil, nil, made.TraceRefused
	}
	start := Start{&seen{Observed: observe.Observed{TrainJob: awake, Bounds: bounds}}}
	sets := start.podsWithDefaults(made)
	if never = start.permanentHoldCause(sets); never != nil {
		return never, nil, nil
	}
	return nil, start.holdBeforePodsCause(sets), nil
}
