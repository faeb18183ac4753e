// Package cluster starts, inspects and removes the whole cluster; it is where
// the other packages come together.
//
// Flow of Up: make sure that programs are built → take the machine's lock → if
// a healthy cluster runs, done → remove whatever an earlier one left → start.
// Every later failure, an interrupt included, ends in the same removal.
//
// Flow of removal (remove): processes, then control groups, links, files, a
// kernel module, then sysctls, then the record and the lock's owner. Each step finds its things by
// fixed names and not by a record, so that it does not matter how far an
// earlier command came before it was killed; each is done again by the next
// `down` or `up` when it is cut off.
package cluster

import (
	"context"
	"fmt"
	"os"
	"time"

	"lockstep.dev/lockstep/test/cluster/internal/bridging"
	"lockstep.dev/lockstep/test/cluster/internal/cgroup"
	"lockstep.dev/lockstep/test/cluster/internal/dirs"
	"lockstep.dev/lockstep/test/cluster/internal/network"
	"lockstep.dev/lockstep/test/cluster/internal/preflight"
	"lockstep.dev/lockstep/test/cluster/internal/programs"
	"lockstep.dev/lockstep/test/cluster/internal/progress"
	"lockstep.dev/lockstep/test/cluster/internal/state"
	"lockstep.dev/lockstep/test/cluster/internal/sysctl"
)

// Cluster is the machine's one cluster, running or not.
type Cluster struct {
	dirs dirs.Dirs
	boot string
	tree cgroup.Tree
	say  *progress.Reporter
}

// Open looks at the machine and changes nothing.
func Open(d dirs.Dirs, say *progress.Reporter) (*Cluster, error) {
	boot, err := state.BootID()
	if err != nil {
		return nil, err
	}
	tree, err := cgroup.Find()
	if err != nil {
		return nil, err
	}
	return &Cluster{dirs: d, boot: boot, tree: tree, say: say}, nil
}

// Builder opens the programs.
func Builder(ctx context.Context, d dirs.Dirs, say *progress.Reporter) (*programs.Builder, error) {
	source, err := dirs.Source()
	if err != nil {
		return nil, err
	}
	builder, err := programs.Open(ctx, source, d.Programs())
	if err != nil {
		return nil, err
	}
	builder.Say = say
	builder.Provide = func(ctx context.Context) error { return preflight.Provide(ctx, preflight.ToBuild(), say) }
	return builder, nil
}

func (c *Cluster) bridging() bridging.Keeper {
	return bridging.OfKernel(c.dirs.Bridging(), c.boot)
}

func (c *Cluster) sysctls() sysctl.Keeper {
	return sysctl.Keeper{Root: "/proc/sys", File: c.dirs.Sysctls(), Boot: c.boot}
}

// record returns the record of a cluster of this boot, or nil.
func (c *Cluster) record() (*state.Record, error) {
	r, err := state.Read(c.dirs.State)
	if err != nil || r == nil || r.Boot != c.boot {
		return nil, err
	}
	return r, nil
}

// NotRunningError says that there is no cluster to work with.
type NotRunningError struct{}

func (NotRunningError) Error() string { return "no cluster is running: start one with `up`" }

// running returns the record of a cluster that finished starting and whose
// nodes all live.
func (c *Cluster) running() (*state.Record, error) {
	r, err := c.record()
	if err != nil {
		return nil, err
	}
	if r == nil || r.Stage != state.Running {
		return nil, NotRunningError{}
	}
	for i, n := range r.Nodes {
		if !n.Init.Alive() {
			return nil, fmt.Errorf("%s does not run any more: look at its logs in %s, then start anew with `up`", n.Name, c.dirs.Logs(i))
		}
	}
	return r, nil
}

// leftovers reports whether anything of a cluster is on the machine.
func (c *Cluster) leftovers() (bool, error) {
	links, err := network.Exists()
	if err != nil {
		return false, err
	}
	_, recordErr := os.Stat(c.dirs.Sysctls())
	r, err := state.Read(c.dirs.State)
	return links || c.tree.Exists() || recordErr == nil || r != nil || err != nil, nil
}

// Down removes the cluster. It reports whether there was anything.
func (c *Cluster) Down(ctx context.Context) (found bool, err error) {
	lock, err := state.Acquire(state.LockFile, c.dirs.State)
	if err != nil {
		return false, err
	}
	if found, err = c.leftovers(); err == nil && found {
		err = c.remove(ctx)
	}
	if err != nil {
		_ = lock.Release()
		return found, err
	}
	return found, lock.Disown()
}

// Purge removes the kept image stores. No cluster may run.
func (c *Cluster) Purge() error {
	if err := os.RemoveAll(c.dirs.Stores()); err != nil {
		return fmt.Errorf("remove the kept image stores: %w", err)
	}
	return nil
}

// grace is how long nodes may take to end before they are killed.
const grace = 3 * time.Second
