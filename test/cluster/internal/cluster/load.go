package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"

	"lockstep.dev/lockstep/test/cluster/internal/images"
	"lockstep.dev/lockstep/test/cluster/internal/node"
	"lockstep.dev/lockstep/test/cluster/internal/state"
)

// Load brings image archives into every node.
func (c *Cluster) Load(ctx context.Context, files []string) error {
	r, err := c.running()
	if err != nil {
		return err
	}
	var archives []images.Archive
	for _, file := range files {
		absolute, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		a, err := images.Open(absolute)
		if err != nil {
			return err
		}
		archives = append(archives, a)
	}
	return c.load(ctx, r.Nodes, filepath.Join(r.Bin, "ctr"), archives)
}

func (c *Cluster) loadBuiltin(ctx context.Context, running []*node.Running, m *made) error {
	var nodes []state.Node
	for _, r := range running {
		nodes = append(nodes, state.Node{Name: r.Name(), Init: r.Init})
	}
	return c.load(ctx, nodes, m.ctr.Path, m.archives)
}

// load works on all nodes at once, on one archive per node at a time: unpacking
// is bound by the disk.
func (c *Cluster) load(ctx context.Context, nodes []state.Node, ctr string, archives []images.Archive) error {
	step := c.say.Begin("load %d images into %d nodes", len(archives), len(nodes))
	failed := make([]error, len(nodes))
	var imported atomic.Int64
	var work sync.WaitGroup
	for i, n := range nodes {
		work.Go(func() {
			count, err := loadNode(ctx, n, ctr, archives)
			imported.Add(int64(count))
			failed[i] = err
		})
	}
	work.Wait()
	err := step.End(errors.Join(failed...))
	if known := int64(len(archives)*len(nodes)) - imported.Load(); err == nil && known > 0 {
		c.say.Say("%d of %d were there already", known, len(archives)*len(nodes))
	}
	return err
}

func loadNode(ctx context.Context, n state.Node, ctr string, archives []images.Archive) (imported int, err error) {
	store, err := images.Connect(n.Name, n.Init.PID, ctr)
	if err != nil {
		return 0, err
	}
	defer func() { _ = store.Close() }()
	if err := store.Wait(ctx); err != nil {
		return 0, err
	}
	for _, a := range archives {
		did, err := store.Load(ctx, a)
		if err != nil {
			return imported, fmt.Errorf("load images: %w", err)
		}
		if did {
			imported++
		}
	}
	return imported, nil
}
