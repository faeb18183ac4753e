package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"lockstep.dev/lockstep/test/cluster/internal/api"
	"lockstep.dev/lockstep/test/cluster/internal/images"
	"lockstep.dev/lockstep/test/cluster/internal/network"
	"lockstep.dev/lockstep/test/cluster/internal/node"
	"lockstep.dev/lockstep/test/cluster/internal/state"
)

// KillNode ends a node as a power cut does: its first process is killed, and
// the kernel ends everything else in it. The cluster is not told.
func (c *Cluster) KillNode(ctx context.Context, index int) error {
	r, err := c.machine(index)
	if err != nil {
		return err
	}
	init := r.Nodes[index].Init
	if err := init.Signal(unix.SIGKILL); err != nil {
		return fmt.Errorf("kill %s: %w", r.Nodes[index].Name, err)
	}
	return api.Until(ctx, grace, r.Nodes[index].Name+" does not end", func(context.Context) error {
		if init.Alive() {
			return errors.New("its first process lives")
		}
		return nil
	})
}

// StartNode starts a node that was killed, as after a reboot: with its images
// and nothing else. It returns when the node is ready.
func (c *Cluster) StartNode(ctx context.Context, index int) error {
	r, err := c.machine(index)
	if err != nil {
		return err
	}
	if r.Nodes[index].Init.Alive() {
		return nil
	}
	step := c.say.Begin("start %s", r.Nodes[index].Name)
	return step.End(c.startNode(ctx, index, r))
}

func (c *Cluster) startNode(ctx context.Context, index int, r *state.Record) error {
	builder, err := Builder(ctx, c.dirs, c.say)
	if err != nil {
		return err
	}
	containerd, err := builder.Lookup("containerd")
	if err != nil {
		return err
	}
	if err := images.Prepare(c.dirs.Store(index), containerd.Version, c.boot); err != nil {
		return err
	}
	// The kernel takes the old link away some time after the last process.
	if err := api.Until(ctx, limit, "the old link stays", func(context.Context) error { return network.Unplugged(index) }); err != nil {
		return err
	}
	running, err := node.Start(c.spec(index, Options{Nodes: len(r.Nodes)}, r.Bin))
	if err != nil {
		return err
	}
	r.Nodes[index].Init = running.Init
	if err := errors.Join(r.Write(c.dirs.State), running.Detach()); err != nil {
		return err
	}
	client, err := c.patient(ctx)
	if err != nil {
		return err
	}
	return c.rejoined(ctx, client, running.Name(), time.Now())
}

// rejoined returns when kubelet has reported since a moment: before that the
// API server may still show what the killed one said.
func (c *Cluster) rejoined(ctx context.Context, client *api.Client, name string, since time.Time) error {
	return api.Until(ctx, limit, name+" does not get ready", func(ctx context.Context) error {
		nodes, err := client.Nodes(ctx)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			if n.Name == name && n.Ready && n.Open && n.Reported.After(since.Add(-time.Second)) {
				return nil
			}
		}
		return errors.New("it is not ready, or has a taint")
	})
}

// machine returns the record for work on one node. Node 0 is the control plane
// and cannot go.
func (c *Cluster) machine(index int) (*state.Record, error) {
	r, err := c.record()
	if err != nil {
		return nil, err
	}
	if r == nil || r.Stage != state.Running {
		return nil, NotRunningError{}
	}
	if index < 1 || index >= len(r.Nodes) {
		return nil, fmt.Errorf("node %d cannot be killed or started: numbers from 1 to %d are possible, node 0 is the control plane", index, len(r.Nodes)-1)
	}
	return r, nil
}

func (c *Cluster) spec(i int, o Options, bin string) node.Node {
	return node.Node{
		Index: i, Count: o.Nodes, Audited: o.Audited, Bin: bin, Dir: c.dirs.Node(i), PKI: c.dirs.PKI(), Logs: c.dirs.Logs(i), Store: c.dirs.Store(i),
		Keep: []string{c.dirs.State, c.dirs.Cache},
	}
}
