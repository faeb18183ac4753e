package fetch

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/apierror"
)

// ErrGone is the end of a job that was deleted while it was followed.
var ErrGone = errors.New("the TrainJob was deleted")

// How long a follower waits before it asks again after a watch was lost, at first and at most; and how long changes may come together before
// they are looked at: a job changes in bursts.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 5 * time.Second
	settle     = 150 * time.Millisecond
)

// FollowTrainJobs calls look at once and then whenever TrainJobs of a list may have changed, until look returns done or an error, or the context ends. It
// watches, and asks nothing while nothing changes; a watch that is lost is begun again, and so is one while no server answers. An error of look
// that says that nobody answers is tried again, too, once look has succeeded.
func FollowTrainJobs(ctx context.Context, c client.WithWatch, look func(context.Context) (done bool, err error), options ...client.ListOption) error {
	pause, looked := firstPause, false
	for {
		// The watch comes first, so that nothing that happens after the look is missed.
		changes, err := c.Watch(ctx, &trainer.TrainJobList{}, options...)
		if err == nil {
			var done bool
			done, err = watchOnce(ctx, changes, look, &looked)
			changes.Stop()
			if done {
				return nil
			}
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			pause = firstPause
		case !looked || !IsTransient(err):
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
	}
}

// IsTransient reports whether an error of a client may be gone in a moment.
func IsTransient(err error) bool {
	return apierror.Explain(err).Kind == apierror.NoServer || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) ||
		apierrors.IsInternalError(err) || apierrors.IsTooManyRequests(err)
}

// watchOnce looks whenever something changes, until the watch ends.
func watchOnce(ctx context.Context, changes watch.Interface, look func(context.Context) (bool, error), looked *bool) (bool, error) {
	for {
		done, err := look(ctx)
		if done || err != nil {
			return done, err
		}
		*looked = true
		if open := nextChange(ctx, changes.ResultChan()); !open {
			return false, nil
		}
	}
}

// nextChange waits for a change, and for those that come with it.
func nextChange(ctx context.Context, changes <-chan watch.Event) (open bool) {
	var settled <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return false
		case <-settled:
			return true
		case event, more := <-changes:
			if !more || event.Type == watch.Error {
				return false
			}
			if settled == nil {
				settled = time.After(settle)
			}
		}
	}
}
