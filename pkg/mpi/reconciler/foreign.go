package reconciler

import (
	"context"
	"fmt"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// trainerLease is the name of Kubeflow Trainer's lease (kubeflow/trainer manifests/base/manager); its namespace is the
	// installation's choice.
	trainerLease = "trainer.kubeflow.org"
	// foreignEvery is how often an executor looks whether a second TrainJob controller has come.
	foreignEvery = 30 * time.Second
)

// ForeignError is a second controller of TrainJobs beside an executor: both would create the same JobSets, Secrets and
// ConfigMaps, and each would write over the status of the other.
type ForeignError struct {
	// Holder and Namespace are of the lease that Kubeflow Trainer keeps.
	Holder, Namespace string
}

// Error says what to do.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("Kubeflow Trainer runs in this cluster (`%s` holds the lease `%s` in namespace `%s`), and two controllers of TrainJobs fight over the same objects: "+
		"remove it, or run this one with --mode companion (`executor: KubeflowTrainer` in the Cluster spec)", e.Holder, trainerLease, e.Namespace)
}

// sentinel ends an executor when Kubeflow Trainer comes.
type sentinel struct {
	live  client.Reader
	clock *clock
}

// Start looks at once and then again and again. Without leader election: a standby has no business here either.
func (s *sentinel) Start(ctx context.Context) error {
	for ticker := time.NewTicker(foreignEvery); ; {
		if err := s.look(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			ticker.Stop()
			return nil
		case <-ticker.C:
		}
	}
}

// NeedLeaderElection makes it run in standbys too.
func (s *sentinel) NeedLeaderElection() bool { return false }

// look returns a ForeignError while somebody keeps Trainer's lease. What cannot be read is no reason to stop: JobSets that
// somebody else makes are seen later.
func (s *sentinel) look(ctx context.Context) error {
	var leases coordinationv1.LeaseList
	if err := s.live.List(ctx, &leases, client.MatchingFields{"metadata.name": trainerLease}); err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("cannot look for Kubeflow Trainer", "reason", err.Error())
		return nil
	}
	for _, lease := range leases.Items {
		if holder := heldBy(lease, s.clock.now()); holder != "" {
			return &ForeignError{holder, lease.Namespace}
		}
	}
	return nil
}

// heldBy returns who keeps a lease, or the empty string when it was given back or has run out long ago. The clock of the
// holder may be another: three times the duration passes before it counts as gone.
func heldBy(lease coordinationv1.Lease, now time.Time) string {
	spec := lease.Spec
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return ""
	}
	const patience = 3
	if now.Sub(spec.RenewTime.Time) > patience*time.Duration(*spec.LeaseDurationSeconds)*time.Second {
		return ""
	}
	return *spec.HolderIdentity
}

// warnOfForeign tells of a JobSet that another controller of TrainJobs made, such as one that keeps no lease.
func (r *Reconciler) warnOfForeign(ctx context.Context, trainJob *trainer.TrainJob) {
	const note = "another controller of TrainJobs made the JobSet of this job, and runs it: only one may run in a cluster"
	ctrl.LoggerFrom(ctx).Info(note)
	r.recorder.Eventf(trainJob, nil, corev1.EventTypeWarning, "ForeignController", "Reconcile", note)
}
