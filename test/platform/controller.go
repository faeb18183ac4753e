package platform

import (
	"context"
	"fmt"
)

// StopController ends our controller and leaves what it has made.
func (p *Platform) StopController(ctx context.Context) error { return p.scaleController(ctx, 0) }

// StartController returns when our controller is at work again.
func (p *Platform) StartController(ctx context.Context) error { return p.scaleController(ctx, 1) }

func (p *Platform) scaleController(ctx context.Context, replicas int) error {
	if _, err := p.kubectl(ctx, "-n", Namespace, "scale", controller, fmt.Sprintf("--replicas=%d", replicas)); err != nil {
		return err
	}
	if replicas > 0 {
		_, err := p.kubectl(ctx, "-n", Namespace, "rollout", "status", controller, "--timeout=180s")
		return err
	}
	_, err := p.kubectl(ctx, "-n", Namespace, "wait", "--for=delete", "pod", "-l", "app.kubernetes.io/name=mpi-controller", "--timeout=120s")
	return err
}
