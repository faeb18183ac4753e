package platform

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/test/audit"
)

// ErrNoAuditLog says that this cluster writes down none of the requests of our controller.
var ErrNoAuditLog = errors.New("the cluster has no audit log of the controller: it is another's, or was started without")

// Requests returns what our controller has asked of the API server since the local cluster started, in order. What others
// asked in its name is not among it.
func (p *Platform) Requests(ctx context.Context) ([]audit.Entry, error) {
	if p.external {
		return nil, ErrNoAuditLog
	}
	log, err := p.tools.output(ctx, p.tools.Cluster, "logs", "audit")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoAuditLog, err)
	}
	return audit.Read(strings.NewReader(log), func(e audit.Entry) bool {
		return e.User.Username == controllerUser && e.ImpersonatedUser.Username == "" && e.ObjectRef.Resource != ""
	})
}

// StopController ends our controller and leaves what it has made.
func (p *Platform) StopController(ctx context.Context) error { return p.ScaleController(ctx, 0) }

// StartController returns when our controller is at work again.
func (p *Platform) StartController(ctx context.Context) error { return p.ScaleController(ctx, 1) }

// ScaleController gives our controller a number of replicas, and returns when it has them, or the last one has ended.
func (p *Platform) ScaleController(ctx context.Context, replicas int) error {
	if _, err := p.kubectl(ctx, "-n", Namespace, "scale", controller, fmt.Sprintf("--replicas=%d", replicas)); err != nil {
		return err
	}
	if replicas > 0 {
		if _, err := p.kubectl(ctx, "-n", Namespace, "rollout", "status", controller, "--timeout=180s"); err != nil {
			return err
		}
	}
	return p.countControllers(ctx, replicas)
}

// countControllers returns when there are as many pods of our controller as are wanted, those that end included: a rollout is over
// before the last pod too many is gone.
func (p *Platform) countControllers(ctx context.Context, replicas int) error {
	admin, err := p.Admin()
	if err != nil {
		return err
	}
	pods := &corev1.PodList{}
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, ScaleTimeout(2*time.Minute), true, func(ctx context.Context) (bool, error) {
		err := admin.Client.List(ctx, pods, client.InNamespace(Namespace), client.MatchingLabels{"app.kubernetes.io/name": mpi.ControllerName})
		return len(pods.Items) == replicas, err
	})
	if err != nil {
		return fmt.Errorf("wait for %d pods of the controller, there are %d: %w", replicas, len(pods.Items), err)
	}
	return nil
}
