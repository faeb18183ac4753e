package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"lockstep.dev/lockstep/test/cluster/internal/process"
	"lockstep.dev/lockstep/test/cluster/internal/supervise"
)

// Restart ends a component of a node with SIGTERM and returns when its
// supervisor has started it again.
func (c *Cluster) Restart(ctx context.Context, component string, index int) error {
	r, err := c.running()
	if err != nil {
		return err
	}
	if index < 0 || index >= len(r.Nodes) {
		return fmt.Errorf("there is no node%d: the cluster has %d nodes", index, len(r.Nodes))
	}
	before, err := c.component(index, component)
	if err != nil {
		return err
	}
	if before.PID != 0 {
		id, err := process.Inside(r.Nodes[index].Init, before.PID)
		if err != nil {
			return fmt.Errorf("restart %s: %w", component, err)
		}
		if err := id.Signal(unix.SIGTERM); err != nil {
			return fmt.Errorf("restart %s: %w", component, err)
		}
	}
	return c.waitStarted(ctx, index, component, before.Starts+1)
}

func (c *Cluster) waitStarted(ctx context.Context, index int, component string, starts int) error {
	for {
		now, err := c.component(index, component)
		if err == nil && now.PID != 0 && now.Starts >= starts {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s runs again: %w", component, context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (c *Cluster) component(index int, name string) (supervise.Status, error) {
	components, err := c.components(index)
	if err != nil {
		return supervise.Status{}, err
	}
	i := slices.IndexFunc(components, func(s supervise.Status) bool { return s.Name == name })
	if i < 0 {
		return supervise.Status{}, fmt.Errorf("node%d has no component %s", index, name)
	}
	return components[i], nil
}
