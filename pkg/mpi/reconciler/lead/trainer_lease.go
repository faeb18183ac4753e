package lead

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// trainerLease is the name of Kubeflow Trainer's lease (kubeflow/trainer manifests/base/manager); its namespace is the
	// installation's choice, see mpi.TrainerNamespaces.
	trainerLease = "trainer.kubeflow.org"
	// leaseCheckInterval is how often an executor looks whether a second TrainJob controller has come.
	leaseCheckInterval = 30 * time.Second
)

// ConflictingControllerError is a second controller of TrainJobs beside an executor: both would create the same JobSets, Secrets and
// ConfigMaps, and each would write over the status of the other.
type ConflictingControllerError struct {
	// Holder and Namespace are of the lease that Kubeflow Trainer keeps.
	Holder, Namespace string
	// Left is how long the lease still holds unless it is renewed.
	Left time.Duration
}

// Error says what to do.
func (e *ConflictingControllerError) Error() string {
	return fmt.Sprintf("Kubeflow Trainer runs in this cluster (`%s` holds the lease `%s` in namespace `%s`), and two controllers of TrainJobs fight over the same objects: "+
		"remove it, or run this one with --mode companion (`executor: KubeflowTrainer` in the Cluster spec)", e.Holder, trainerLease, e.Namespace)
}

// nextCheck is when to look again: as soon as the lease may have run out, which it does after a Trainer that was killed.
func (e *ConflictingControllerError) nextCheck() time.Duration {
	const margin = time.Second
	return min(leaseCheckInterval, max(0, e.Left)+margin)
}

// TrainerWatch stops an executor when Kubeflow Trainer comes.
type TrainerWatch struct {
	live client.Reader
	now  func() time.Time
	// believed are the namespaces whose lease is Trainer's. Whoever may edit any other could stop the executor for everybody.
	believed []string
	// warned are the other namespaces in which somebody keeps a lease of that name.
	warned map[string]bool
	// renewed is what a look finds in the lease of each namespace: one that changed is kept by somebody, whatever the clocks say.
	renewed map[string]time.Time
}

// NewTrainerWatch returns a TrainerWatch that believes leases in some namespaces.
func NewTrainerWatch(live client.Reader, now func() time.Time, believed []string) *TrainerWatch {
	return &TrainerWatch{live: live, now: now, believed: believed, warned: map[string]bool{}, renewed: map[string]time.Time{}}
}

// Start looks at once and then again and again. Without leader election: a standby has no business here either.
func (s *TrainerWatch) Start(ctx context.Context) error {
	for ticker := time.NewTicker(leaseCheckInterval); ; {
		var foreign *ConflictingControllerError
		if err := s.checkLeases(ctx); errors.As(err, &foreign) {
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
func (s *TrainerWatch) NeedLeaderElection() bool { return false }

// checkLeases returns a ConflictingControllerError while somebody keeps Trainer's lease, and another error when the API server does not answer. What
// may not be read is no reason to stop: JobSets that somebody else makes are seen later.
func (s *TrainerWatch) checkLeases(ctx context.Context) error {
	var leases coordinationv1.LeaseList
	switch err := s.live.List(ctx, &leases, client.MatchingFields{"metadata.name": trainerLease}); {
	case apierrors.IsForbidden(err):
		ctrl.LoggerFrom(ctx).V(1).Info("cannot look for Kubeflow Trainer", "reason", err.Error())
		return nil
	case err != nil:
		return fmt.Errorf("look for Kubeflow Trainer: %w", err)
	}
	for _, lease := range leases.Items {
		foreign := s.errorIfHeld(lease)
		switch {
		case foreign == nil:
		case slices.Contains(s.believed, lease.Namespace):
			return foreign
		case !s.warned[lease.Namespace]:
			s.warned[lease.Namespace] = true
			ctrl.LoggerFrom(ctx).Info("a lease with the name of Kubeflow Trainer's is not believed, because Trainer is not expected in its namespace: if it runs there, add the namespace to --trainer-namespaces",
				"lease", trainerLease, "namespace", lease.Namespace, "trainerNamespaces", s.believed)
		}
	}
	return nil
}

// errorIfHeld returns who keeps a lease: by its own time it holds still, or it was renewed since the last look.
func (s *TrainerWatch) errorIfHeld(lease coordinationv1.Lease) error {
	holder, left := holderOfLease(lease, s.now())
	if holder == "" {
		return nil
	}
	earlier, known := s.renewed[lease.Namespace]
	s.renewed[lease.Namespace] = lease.Spec.RenewTime.Time
	if left > 0 || known && !earlier.Equal(lease.Spec.RenewTime.Time) {
		return &ConflictingControllerError{holder, lease.Namespace, left}
	}
	return nil
}

// holderOfLease returns who holds a lease, and for how long after now by the time that the holder wrote; the empty string for a
// lease that was given back. What has run out is nobody's, as for client-go's leader election.
func holderOfLease(lease coordinationv1.Lease, now time.Time) (holder string, left time.Duration) {
	spec := lease.Spec
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return "", 0
	}
	end := spec.RenewTime.Add(time.Duration(*spec.LeaseDurationSeconds) * time.Second)
	return *spec.HolderIdentity, end.Sub(now)
}
