// Package bridging makes the kernel able to let packets on bridges pass
// iptables (the module br_netfilter), which nodes switch on for themselves,
// and takes that back.
//
// Most machines have the module on disk and not in their kernel. Loading it
// switches bridging through iptables on for every bridge of the machine, which
// is none of our business: it is switched off again at once, outside of nodes.
//
// Invariants: that the module was loaded is on disk before it is; what was
// there before stays.
package bridging

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"lockstep.dev/lockstep/test/cluster/internal/state"
)

const module = "br_netfilter"

// switches are the module's sysctls for each network namespace. The kernel
// switches them on.
var switches = []string{"bridge-nf-call-iptables", "bridge-nf-call-ip6tables", "bridge-nf-call-arptables"}

// Keeper loads the module and unloads it.
type Keeper struct {
	// Root is /proc/sys, or a folder that looks like it.
	Root string
	// File remembers that the module was loaded.
	File string
	// Boot identifies the running boot, which is how long a module stays.
	Boot string
	// Load and Unload ask the kernel.
	Load, Unload func() error
}

// OfKernel is the keeper of this machine.
func OfKernel(file, boot string) Keeper {
	return Keeper{Root: "/proc/sys", File: file, Boot: boot, Load: load, Unload: unload}
}

// There reports whether the kernel has what nodes need.
func (k Keeper) There() bool {
	_, err := os.Stat(k.path(switches[0]))
	return err == nil
}

func (k Keeper) path(name string) string { return filepath.Join(k.Root, "net", "bridge", name) }

type loaded struct {
	Boot string `json:"boot"`
}

// Borrow loads the module where it is missing.
func (k Keeper) Borrow() error {
	if k.There() {
		return nil
	}
	if err := state.WriteJSON(k.File, loaded{Boot: k.Boot}); err != nil {
		return err
	}
	if err := k.Load(); err != nil {
		return fmt.Errorf("load the kernel module %s, without which network policies and services do not see packets between pods of a node: %w", module, err)
	}
	for _, name := range switches {
		if err := os.WriteFile(k.path(name), []byte("0"), 0o644); err != nil {
			return fmt.Errorf("keep the machine's own bridges as they are: %w", err)
		}
	}
	return nil
}

// Return unloads the module if Borrow loaded it in this boot. Somebody else
// may have come to need it: then it stays.
func (k Keeper) Return() error {
	content, err := os.ReadFile(k.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var l loaded
	if err := json.Unmarshal(content, &l); err != nil {
		return fmt.Errorf("read %s: %w", k.File, err)
	}
	if l.Boot == k.Boot && k.There() {
		if err := k.Unload(); err != nil && !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("unload the kernel module %s: %w", module, err)
		}
	}
	return os.Remove(k.File)
}

func load() error {
	out, err := exec.Command("modprobe", module).CombinedOutput()
	if err != nil {
		return fmt.Errorf("modprobe: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

func unload() error { return unix.DeleteModule(module, unix.O_NONBLOCK) }
