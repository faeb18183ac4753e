package webhook

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/singleflight"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/internal/ttl"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/loop"
)

const (
	// policyTimeout is how long a pod waits for the policy of its job. The API server gives the webhook 5 s in all, and lets the
	// pod pass unchanged then: what a job gets of us must not be lost because policies are slow.
	policyTimeout = 2 * time.Second
	// policyCacheTTL is how long the answer holds that a policy is there, or that none may be made: as long as the pods of a job come.
	policyCacheTTL = 5 * time.Second
)

// policyEnsurer makes the network policies of jobs before their pods, so that the pods of a wide job, which come all at once, ask one
// question together.
type policyEnsurer struct {
	r       *loop.Reconciler
	flight  singleflight.Group
	answers ttl.Cache[error]
}

// ensurePolicy makes a policy that is not there yet, nil for none, and returns in policyTimeout. One of somebody else's under the name stays;
// a pass says so.
func (g *policyEnsurer) ensurePolicy(ctx context.Context, policy job.Object) error {
	if policy == nil {
		return nil
	}
	about := client.ObjectKeyFromObject(policy).String()
	if owner := metav1.GetControllerOf(policy); owner != nil {
		about += "/" + string(owner.UID) // another job of the name has a policy of its own
	}
	if err, known := g.answers.Get(about, g.r.Now()); known {
		return err
	}
	_, err, _ := g.flight.Do(about, func() (any, error) {
		// The first pod that asks may go away; the others still wait.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), policyTimeout)
		defer cancel()
		err := g.createPolicy(ctx, policy)
		if err == nil || apierrors.IsForbidden(err) {
			g.answers.Add(about, err, g.r.Now(), policyCacheTTL)
		}
		return nil, err
	})
	return err
}

func (g *policyEnsurer) createPolicy(ctx context.Context, policy job.Object) error {
	there := &metav1.PartialObjectMetadata{}
	there.SetGroupVersionKind(policy.GetObjectKind().GroupVersionKind())
	err := g.r.Live.Get(ctx, client.ObjectKeyFromObject(policy), there)
	if apierrors.IsNotFound(err) {
		err = g.r.CreateObject(ctx, policy)
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make the network policy before the pods: %w", err)
	}
	return nil
}
