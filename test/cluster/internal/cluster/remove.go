package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"lockstep.dev/lockstep/test/cluster/internal/network"
	"lockstep.dev/lockstep/test/cluster/internal/process"
	"lockstep.dev/lockstep/test/cluster/internal/state"
	"lockstep.dev/lockstep/test/cluster/internal/timescale"
)

// remove takes everything of the cluster off the machine; see the package
// comment for why it needs no record. It goes on when the context ends: half a
// cluster is worse than a slow interrupt.
func (c *Cluster) remove(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	step := c.say.Begin("remove the cluster")
	if err := c.endProcesses(ctx); err != nil {
		return step.End(err)
	}
	err := errors.Join(
		c.tree.Remove(),
		c.restoreControllers(),
		network.Remove(),
		c.removeFiles(),
		c.bridging().Return(),
		c.sysctls().Restore(),
	)
	if err != nil {
		return step.End(err)
	}
	return step.End(state.Remove(c.dirs.State))
}

// endProcesses ends the nodes that are on record, which ends all that runs in
// them, and then whatever else is in the cluster's control groups.
func (c *Cluster) endProcesses(ctx context.Context) error {
	if r, _ := c.record(); r != nil {
		if err := endNodes(ctx, r.Nodes); err != nil {
			return err
		}
	}
	deadline := time.Now().Add(timescale.Of(10 * time.Second))
	for {
		left := c.tree.Processes()
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v in the cluster's control groups do not end", left)
		}
		for _, pid := range left {
			if id, err := process.Of(pid); err == nil {
				_ = id.Signal(unix.SIGKILL)
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func endNodes(ctx context.Context, nodes []state.Node) error {
	failed := make([]error, len(nodes))
	var work sync.WaitGroup
	for i, n := range nodes {
		work.Go(func() { failed[i] = n.Init.End(ctx, timescale.Of(grace)) })
	}
	work.Wait()
	return errors.Join(failed...)
}

// removeFiles removes the nodes' folders and the certificates. Logs stay. The
// nodes' mounts are gone with their namespaces and never showed outside; still,
// nothing is removed through a mount.
func (c *Cluster) removeFiles() error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	if strings.Contains(string(mounts), " "+c.dirs.State+"/") {
		return fmt.Errorf("something is mounted below %s: unmount it first", c.dirs.State)
	}
	folders, err := filepath.Glob(filepath.Join(c.dirs.State, "node[0-9]*"))
	if err != nil {
		return err
	}
	for _, folder := range append(folders, c.dirs.PKI(), c.dirs.Volumes()) {
		if err := os.RemoveAll(folder); err != nil {
			return fmt.Errorf("remove %s: %w", folder, err)
		}
	}
	return nil
}

// controllersFile remembers which cgroup v2 controllers the machine's root did
// not hand down before.
func (c *Cluster) controllersFile() string {
	return filepath.Join(c.dirs.State, "cgroup-controllers.json")
}

// borrowedControllers is the content of that file; like saved sysctls it is
// void after a boot.
type borrowedControllers struct {
	Boot        string   `json:"boot"`
	Controllers []string `json:"controllers"`
}

// borrowControllers makes the root hand down what kubelet needs, and remembers
// what it changes before it does.
func (c *Cluster) borrowControllers() error {
	missing, err := c.tree.Missing()
	if err != nil || len(missing) == 0 {
		return err
	}
	if err := state.WriteJSON(c.controllersFile(), borrowedControllers{Boot: c.boot, Controllers: missing}); err != nil {
		return err
	}
	return c.tree.Enable(missing)
}

func (c *Cluster) restoreControllers() error {
	content, err := os.ReadFile(c.controllersFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var borrowed borrowedControllers
	if err := json.Unmarshal(content, &borrowed); err != nil {
		return fmt.Errorf("read %s: %w", c.controllersFile(), err)
	}
	if borrowed.Boot == c.boot {
		if err := c.tree.Disable(borrowed.Controllers); err != nil {
			return err
		}
	}
	return os.Remove(c.controllersFile())
}
