// Package sysctl remembers sysctls of the whole machine before the cluster
// changes them, and puts them back.
//
// kubelet sets six of them when it starts (setupKernelTunables in
// k8s.io/kubernetes/pkg/kubelet/cm/container_manager_linux.go), and two
// kubelets with their containers need more inotify instances than most
// machines allow. Everything below net/ that is changed belongs to a node's
// network namespace and dies with it.
//
// Invariants: the saved values are on disk before anything changes; a save
// that exists is never overwritten, because after a crash the values that can
// be read are no longer the machine's own; a save of an earlier boot is void,
// because a boot resets every sysctl.
package sysctl

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"lockstep.dev/lockstep/test/cluster/internal/state"
)

// Machine lists every machine-wide sysctl that a running cluster may change.
var Machine = []string{
	"vm/overcommit_memory",
	"vm/panic_on_oom",
	"kernel/panic",
	"kernel/panic_on_oops",
	"kernel/keys/root_maxkeys",
	"kernel/keys/root_maxbytes",
	"fs/inotify/max_user_instances",
	"fs/inotify/max_user_watches",
	"net/netfilter/nf_conntrack_max",
}

// Keeper saves and restores sysctls.
type Keeper struct {
	// Root is /proc/sys, or a folder that looks like it.
	Root string
	// File holds the save.
	File string
	// Boot identifies the running boot.
	Boot string
}

type save struct {
	Boot   string            `json:"boot"`
	Values map[string]string `json:"values"`
}

// Save records the values of the named sysctls, unless a save of this boot
// exists. Sysctls that this kernel lacks are left out.
func (k Keeper) Save(names []string) error {
	if old, err := k.read(); err != nil {
		return err
	} else if old != nil {
		return nil
	}
	values := map[string]string{}
	for _, name := range names {
		value, err := os.ReadFile(filepath.Join(k.Root, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read sysctl %s: %w", name, err)
		}
		values[name] = strings.TrimSpace(string(value))
	}
	return state.WriteJSON(k.File, save{Boot: k.Boot, Values: values})
}

// Restore writes the saved values back where they differ, and then forgets
// them. Without a save it does nothing.
func (k Keeper) Restore() error {
	old, err := k.read()
	if err != nil || old == nil {
		return err
	}
	var failed []error
	for name, value := range old.Values {
		failed = append(failed, k.Set(name, value))
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	return os.Remove(k.File)
}

// Set writes a value, unless it is there already.
func (k Keeper) Set(name, value string) error {
	path := filepath.Join(k.Root, name)
	if now, err := os.ReadFile(path); err == nil && strings.TrimSpace(string(now)) == value {
		return nil
	}
	if err := os.WriteFile(path, []byte(value), 0o644); err != nil {
		return fmt.Errorf("set sysctl %s to %s: %w", name, value, err)
	}
	return nil
}

// Raise sets a numeric sysctl to at least a value.
func (k Keeper) Raise(name string, least int) error {
	var now int
	content, err := os.ReadFile(filepath.Join(k.Root, name))
	if err != nil {
		return fmt.Errorf("read sysctl %s: %w", name, err)
	}
	if _, err := fmt.Sscan(string(content), &now); err == nil && now >= least {
		return nil
	}
	return k.Set(name, fmt.Sprint(least))
}

// read returns the save of this boot, or nil.
func (k Keeper) read() (*save, error) {
	content, err := os.ReadFile(k.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read saved sysctls: %w", err)
	}
	var s save
	if err := json.Unmarshal(content, &s); err != nil {
		return nil, fmt.Errorf("read saved sysctls in %s: %w", k.File, err)
	}
	if s.Boot != k.Boot {
		return nil, os.Remove(k.File)
	}
	return &s, nil
}
