package dashboard

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/kept"
	"lockstep.dev/lockstep/pkg/jobs/logs"
	"lockstep.dev/lockstep/pkg/jobs/view"
)

// readObjects reads a job, or the history of a job that is gone. The second result is nil for a live job.
func (v *visit) readObjects(ctx context.Context) (view.JobObjects, *kept.Job, error) {
	return v.readObjectsOf(ctx, v.key())
}

func (v *visit) readObjectsOf(ctx context.Context, key client.ObjectKey) (view.JobObjects, *kept.Job, error) {
	o, err := fetch.ReadJob(ctx, v.c, key)
	found, err := v.keptOfIfGone(ctx, key, err)
	if err != nil || found == nil {
		return o, nil, err
	}
	o = found.View(time.Now())
	o.Runtime, _ = fetch.ReadRuntime(ctx, v.c, o.TrainJob) // it may be gone, too
	return o, found, nil
}

// keptIfGone takes the error of reading a job. For a job that is gone it returns what the history keeps of it, if any,
// in place of the error.
func (v *visit) keptIfGone(ctx context.Context, err error) (*kept.Job, error) {
	return v.keptOfIfGone(ctx, v.key(), err)
}

func (v *visit) keptOfIfGone(ctx context.Context, key client.ObjectKey, err error) (*kept.Job, error) {
	if !apierrors.IsNotFound(err) {
		return nil, err
	}
	if found, failed := v.findKept(ctx, key); failed == nil && found != nil {
		return found, nil
	}
	return nil, err
}

// findKept returns the youngest kept job of a name, nil without one.
func (v *visit) findKept(ctx context.Context, key client.ObjectKey) (*kept.Job, error) {
	return kept.Client{REST: v.core.RESTClient()}.Find(ctx, key.Namespace, key.Name)
}

// sendKeptLogs sends the output of the youngest kept job of the name, and reports whether it is the wanted one and has
// any.
func (v *visit) sendKeptLogs(
	q logRequest, wanted func(*kept.Job) bool, note func(string), give func([]logs.Line) error,
) (bool, error) {
	found, err := v.findKept(v.Context(), v.key())
	if err != nil || found == nil || found.Log.Bytes == 0 || !wanted(found) {
		return false, nil //nolint:nilerr // a cluster without a history is no fault
	}
	if !found.Log.IsComplete() {
		note("not all lines were kept. " + found.Log.Note)
	}
	r := kept.LogRequest{Attempt: q.attempt, Want: q.options.Want, Tail: -1}
	if q.options.Tail != nil {
		r.Tail = *q.options.Tail
	}
	if q.options.SinceSeconds > 0 {
		r.Since = time.Now().Add(-time.Duration(q.options.SinceSeconds) * time.Second)
	}
	var batch []logs.Line
	err = kept.Client{REST: v.core.RESTClient()}.ReadLines(v.Context(), found, r, func(lines []logs.Line) error {
		if batch = append(batch, lines...); len(batch) < linesAtOnce {
			return nil
		}
		full := batch
		batch = nil
		return give(full)
	})
	if err == nil {
		err = give(batch)
	}
	return true, err
}
