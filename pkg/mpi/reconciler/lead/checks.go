package lead

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
)

const (
	// firstLook and lastLook bound how long a start-up waits before it looks again for what it lacks: an API server that
	// answers, kinds that are installed.
	firstLook = 250 * time.Millisecond
	lastLook  = 2 * time.Second
	// lookLimit bounds one look.
	lookLimit = 10 * time.Second
)

// Checks are what a controller passes before it works.
type Checks struct {
	Live client.Client
	// Trainers is nil for a companion.
	Trainers *TrainerWatch
	Probes   *Probes
	// Warn is called while another controller of TrainJobs runs.
	Warn func(context.Context, error)
}

// Await waits until nothing is in the way, and returns false when the context ended before.
func (c *Checks) Await(ctx context.Context) bool {
	for again := firstLook; ; again = min(2*again, lastLook) {
		err := c.findObstacle(ctx)
		if err == nil || ctx.Err() != nil {
			return err == nil
		}
		c.Probes.SetNotReady(err)
		ctrl.Log.Info("the controller waits", "reason", err.Error())
		wait := again
		var foreign *ConflictingControllerError
		if errors.As(err, &foreign) {
			c.Warn(ctx, foreign)
			wait = foreign.nextCheck()
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return false
		}
	}
}

// findObstacle returns what is in the way.
func (c *Checks) findObstacle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	for _, kind := range neededKinds() {
		_, err := c.Live.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		switch {
		case meta.IsNoMatchError(err):
			return fmt.Errorf("the cluster has no kind %s (%s): install its definition", kind.Kind, kind.GroupVersion())
		case err != nil:
			return fmt.Errorf("ask the API server for its kinds: %w", err)
		}
	}
	if c.Trainers == nil {
		return nil
	}
	return c.Trainers.checkLeases(ctx)
}

// neededKinds are the kinds without which there is nothing to do.
func neededKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		trainer.SchemeGroupVersion.WithKind(trainer.TrainJobKind),
		trainer.SchemeGroupVersion.WithKind(trainer.TrainingRuntimeKind),
		trainer.SchemeGroupVersion.WithKind(trainer.ClusterTrainingRuntimeKind),
		jobset.SchemeGroupVersion.WithKind("JobSet"),
	}
}
