// Package act changes jobs for front ends: it suspends, resumes and deletes them, with the rights of its client.
package act

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
)

// SuspendRefusal is the reason why a job cannot be suspended or resumed.
type SuspendRefusal struct {
	Name string
	// Suspend is true if it was to be suspended.
	Suspend bool
	// Queue of Kueue decides when the job runs; empty for a job that is over.
	Queue string
}

// Error describes the refusal in one line.
func (r *SuspendRefusal) Error() string {
	if r.Queue != "" {
		return fmt.Sprintf("`%s` waits and runs by queue `%s`: Kueue decides when it is suspended and resumed, and would undo it",
			r.Name, r.Queue)
	}
	word := map[bool]string{true: "suspended", false: "resumed"}[r.Suspend]
	return fmt.Sprintf("`%s` is over: a job that has ended cannot be %s", r.Name, word)
}

// RefuseSuspend returns why a job cannot be suspended or resumed, or nil.
func RefuseSuspend(trainJob *trainer.TrainJob, suspend bool) error {
	queue := trainJob.Labels[kueue.QueueLabel]
	if job.IsFinished(trainJob) {
		return &SuspendRefusal{Name: trainJob.Name, Suspend: suspend}
	}
	if queue != "" {
		return &SuspendRefusal{Name: trainJob.Name, Suspend: suspend, Queue: queue}
	}
	return nil
}

// Suspend suspends or resumes a job, and reports whether that changed it. With a UID it changes that job only, and no
// other that was made under its name since. Its error is a SuspendRefusal, or from the API server.
func Suspend(
	ctx context.Context, c client.Client, key client.ObjectKey, uid types.UID, suspend bool,
) (changed bool, err error) {
	trainJob := &trainer.TrainJob{}
	if err := c.Get(ctx, key, trainJob); err != nil {
		return false, err
	}
	if uid != "" && trainJob.UID != uid {
		return false, apierrors.NewConflict(trainer.Resource("trainjobs"), key.Name, errors.New("it is another job by now"))
	}
	if err := RefuseSuspend(trainJob, suspend); err != nil {
		return false, err
	}
	if ptr.Deref(trainJob.Spec.Suspend, false) == suspend {
		return false, nil
	}
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"suspend":%t}}`, trainJob.UID, suspend)
	return true, c.Patch(ctx, trainJob, client.RawPatch(types.MergePatchType, patch))
}

// Delete deletes a job. With a UID it deletes that job only, and no other that was made under its name since.
// Foreground keeps it until its pods are gone.
func Delete(ctx context.Context, c client.Writer, key client.ObjectKey, uid types.UID, foreground bool) error {
	policy := metav1.DeletePropagationBackground
	if foreground {
		policy = metav1.DeletePropagationForeground
	}
	options := []client.DeleteOption{client.PropagationPolicy(policy)}
	if uid != "" {
		options = append(options, client.Preconditions{UID: &uid})
	}
	trainJob := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	return c.Delete(ctx, trainJob, options...)
}
