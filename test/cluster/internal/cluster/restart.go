package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"lockstep.dev/lockstep/test/cluster/internal/api"
	"lockstep.dev/lockstep/test/cluster/internal/node"
	"lockstep.dev/lockstep/test/cluster/internal/process"
	"lockstep.dev/lockstep/test/cluster/internal/state"
	"lockstep.dev/lockstep/test/cluster/internal/supervise"
)

// Restart ends a component of a node with SIGTERM and returns when its
// supervisor has started it again.
func (c *Cluster) Restart(ctx context.Context, component string, index int) error {
	n, before, err := c.find(component, index)
	if err != nil {
		return err
	}
	if _, err := os.Stat(c.stopFile(component, index)); err == nil {
		return fmt.Errorf("restart %s: it is stopped on node%d: `cluster start %s --node %d` starts it", component, index, component, index)
	}
	if err := end(n, before); err != nil {
		return fmt.Errorf("restart %s: %w", component, err)
	}
	return c.waitStarted(ctx, index, component, before.Starts+1)
}

// Stop ends a component of a node with SIGTERM, and returns when it has ended.
// It stays so until Start, or until the node starts anew.
func (c *Cluster) Stop(ctx context.Context, component string, index int) error {
	n, _, err := c.find(component, index)
	if err != nil {
		return err
	}
	if err := state.WriteFile(c.stopFile(component, index), nil, 0o644); err != nil {
		return fmt.Errorf("stop %s: %w", component, err)
	}
	// Again and again: its supervisor may just have been about to start it.
	return api.Until(ctx, limit, fmt.Sprintf("stop %s on node%d", component, index), func(context.Context) error {
		now, err := c.component(index, component)
		if err != nil || now.PID == 0 {
			return err
		}
		return errors.Join(fmt.Errorf("it runs as process %d of the node", now.PID), end(n, now))
	})
}

// Start lets a component run again that was stopped, and returns when it does.
// One that runs is left alone.
func (c *Cluster) Start(ctx context.Context, component string, index int) error {
	_, before, err := c.find(component, index)
	if err != nil {
		return err
	}
	if err := os.Remove(c.stopFile(component, index)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("start %s: %w", component, err)
	}
	return c.waitStarted(ctx, index, component, before.Starts)
}

// startStopped starts what somebody stopped who did not live to start it.
func (c *Cluster) startStopped(ctx context.Context, nodes int) error {
	var errs []error
	for i := range nodes {
		for _, component := range node.ComponentNames() {
			if _, err := os.Stat(c.stopFile(component, i)); err == nil {
				errs = append(errs, c.Start(ctx, component, i))
			}
		}
	}
	return errors.Join(errs...)
}

func (c *Cluster) stopFile(component string, index int) string {
	return node.StopFile(c.dirs.Node(index), component)
}

// find returns a node, and what is known about one of its components.
func (c *Cluster) find(component string, index int) (state.Node, supervise.Status, error) {
	r, err := c.running()
	if err != nil {
		return state.Node{}, supervise.Status{}, err
	}
	if index < 0 || index >= len(r.Nodes) {
		return state.Node{}, supervise.Status{}, fmt.Errorf("there is no node%d: the cluster has %d nodes", index, len(r.Nodes))
	}
	found, err := c.component(index, component)
	return r.Nodes[index], found, err
}

// end asks a component to end.
func end(n state.Node, component supervise.Status) error {
	if component.PID == 0 {
		return nil
	}
	id, err := process.Inside(n.Init, component.PID)
	if err != nil {
		return err
	}
	return id.Signal(unix.SIGTERM)
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
