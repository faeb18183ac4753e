// Package cgroup makes, enters and removes the cluster's control groups below
// the ones that the machine has. It never mounts anything and changes no group
// that it did not make, with one exception: on cgroup v2 the root must hand
// controllers down, and those that were missing are withdrawn again.
//
//	<mount>/lockstep/<node>/system     the node's first process, its components
//	<mount>/lockstep/<node>/kubepods   made by kubelet, whose cgroupRoot is /lockstep/<node>
//
// When processors are scarce, system gets twice the time of kubepods: a node
// whose pods starve its network policies and kubelet is no use to its pods.
//
// On cgroup v1 the tree exists in every mounted hierarchy, named ones and the
// `unified` hierarchy of hybrid machines included: kubelet and runc use them
// all.
//
// Invariant: whatever runs below lockstep/ belongs to the cluster, because
// nobody else enters it. That is what lets `down` end processes of which no
// record was written.
package cgroup

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"lockstep.dev/lockstep/test/cluster/internal/timescale"
)

const (
	top    = "lockstep"
	system = "system"
)

// Mount is one mounted cgroup hierarchy.
type Mount struct {
	// Path is the mount point.
	Path string
	// V2 tells the unified hierarchy from a v1 one.
	V2 bool
	// Controllers are those of a v1 hierarchy; empty for a named one.
	Controllers []string
}

// Tree is the cluster's part of all hierarchies.
type Tree struct {
	Mounts []Mount
}

// Find reads the hierarchies of this machine.
func Find() (Tree, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return Tree{}, fmt.Errorf("find the cgroup mounts: %w", err)
	}
	defer func() { _ = f.Close() }()
	return parse(f)
}

// parse picks cgroup mounts out of proc(5) mountinfo. Of several mounts of the
// same hierarchy the first one counts.
func parse(mountinfo io.Reader) (Tree, error) {
	var t Tree
	seen := map[string]bool{}
	lines := bufio.NewScanner(mountinfo)
	for lines.Scan() {
		device, m, ok := parseLine(lines.Text())
		if ok && !seen[device] {
			seen[device] = true
			t.Mounts = append(t.Mounts, m)
		}
	}
	if err := lines.Err(); err != nil {
		return Tree{}, fmt.Errorf("read mountinfo: %w", err)
	}
	if len(t.Mounts) == 0 {
		return Tree{}, errors.New("no cgroup hierarchy is mounted below /sys/fs/cgroup: a kubelet cannot run here")
	}
	return t, nil
}

func parseLine(line string) (device string, m Mount, ok bool) {
	head, tail, found := strings.Cut(line, " - ")
	before, after := strings.Fields(head), strings.Fields(tail)
	if !found || len(before) < 5 || len(after) < 3 || !strings.HasPrefix(before[4], "/sys/fs/cgroup") {
		return "", Mount{}, false
	}
	m = Mount{Path: before[4], V2: after[0] == "cgroup2"}
	if after[0] == "cgroup" {
		m.Controllers = controllers(after[2])
	}
	return before[2], m, m.V2 || after[0] == "cgroup"
}

// known are the controllers of cgroups(7), version 1. Other words in the super
// block options are options.
var known = []string{"cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "net_cls", "blkio", "perf_event", "net_prio", "hugetlb", "pids", "rdma", "misc"}

func controllers(options string) []string {
	var found []string
	for option := range strings.SplitSeq(options, ",") {
		if slices.Contains(known, option) {
			found = append(found, option)
		}
	}
	return found
}

// Unified reports whether this is a pure cgroup v2 machine.
func (t Tree) Unified() bool {
	return len(t.Mounts) == 1 && t.Mounts[0].V2
}

// Version is 1 or 2, for people.
func (t Tree) Version() int {
	if t.Unified() {
		return 2
	}
	return 1
}

// Root is kubelet's cgroupRoot for a node.
func Root(node string) string { return "/" + top + "/" + node }

// Create makes the groups of a node.
func (t Tree) Create(node string) error {
	for _, m := range t.Mounts {
		if err := m.create(node, t.Unified()); err != nil {
			return fmt.Errorf("make the control groups of %s: %w", node, err)
		}
	}
	return nil
}

// create makes the path level by level. cpuset of v1 needs its two lists
// filled in on every level before a process can enter.
func (m Mount) create(node string, unified bool) error {
	at := m.Path
	for _, part := range []string{top, node, system} {
		parent := at
		at = filepath.Join(at, part)
		if err := os.Mkdir(at, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if slices.Contains(m.Controllers, "cpuset") {
			if err := copyFiles(parent, at, "cpuset.cpus", "cpuset.mems"); err != nil {
				return err
			}
		}
		if unified && part != system {
			if err := handDown(at); err != nil {
				return err
			}
		}
	}
	return errors.Join(m.weigh(filepath.Join(m.Path, top), runtime.NumCPU()), m.weigh(at, 2*runtime.NumCPU()))
}

// weigh gives a group the processor time of as many processes when processors
// are scarce. The whole cluster counts as one for each processor: as a single
// one it starves beside a compiler. A node's system has twice what kubelet gives
// all pods together, which is the shares of all processors: 1024 each on v1; on
// v2 the weight that runtimes make of those is below 100 each. A v2 machine
// without the controller has no such file. The kernel's limits are 262144 and
// 10000.
func (m Mount) weigh(group string, processes int) error {
	file, weight := "cpu.shares", min(1024*processes, 262144)
	if m.V2 {
		file, weight = "cpu.weight", min(100*processes, 10000)
	}
	path := filepath.Join(group, file)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return os.WriteFile(path, []byte(strconv.Itoa(weight)), 0o644)
}

func copyFiles(from, to string, names ...string) error {
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// wanted are the v2 controllers that kubelet checks for.
var wanted = []string{"cpu", "cpuset", "memory", "pids", "io", "hugetlb"}

// handDown enables in a v2 group's children all controllers that it has.
func handDown(group string) error {
	available, err := words(filepath.Join(group, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for _, c := range wanted {
		if !slices.Contains(available, c) {
			continue
		}
		if err := control(group, "+"+c); err != nil {
			return err
		}
	}
	return nil
}

func control(group, change string) error {
	path := filepath.Join(group, "cgroup.subtree_control")
	if err := os.WriteFile(path, []byte(change), 0o644); err != nil {
		return explain(err, group, change)
	}
	return nil
}

// explain says what the kernel means by "busy".
func explain(err error, group, change string) error {
	switch {
	case !errors.Is(err, unix.EBUSY):
		return fmt.Errorf("hand down %s in %s: %w", change, group, err)
	case change[0] == '-':
		return fmt.Errorf("%s must go on handing down %s, because a group in it hands it down, too: %w", group, change[1:], err)
	default:
		return fmt.Errorf("%s cannot hand down %s, because processes run directly in it: move them into a child group first (cgroup v2 allows no inner processes): %w", group, change[1:], err)
	}
}

// Missing lists the v2 controllers that the machine's root has but does not
// hand down. It is empty on v1.
func (t Tree) Missing() ([]string, error) {
	if !t.Unified() {
		return nil, nil
	}
	root := t.Mounts[0].Path
	available, err := words(filepath.Join(root, "cgroup.controllers"))
	if err != nil {
		return nil, err
	}
	enabled, err := words(filepath.Join(root, "cgroup.subtree_control"))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(available, func(c string) bool {
		return slices.Contains(enabled, c) || !slices.Contains(wanted, c)
	}), nil
}

// Enable makes the machine's root hand down controllers.
func (t Tree) Enable(controllers []string) error { return t.switchRoot("+", controllers) }

// Disable undoes Enable. A controller that somebody else has come to hand down
// further stays: systemd does, for whoever logs in.
func (t Tree) Disable(controllers []string) error {
	for _, c := range controllers {
		if err := t.switchRoot("-", []string{c}); err != nil && !errors.Is(err, unix.EBUSY) {
			return err
		}
	}
	return nil
}

func (t Tree) switchRoot(sign string, controllers []string) error {
	for _, c := range controllers {
		if err := control(t.Mounts[0].Path, sign+c); err != nil {
			return err
		}
	}
	return nil
}

func words(path string) ([]string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(content)), nil
}

// Enter moves the calling process, all its threads, into a node's group.
func (t Tree) Enter(node string) error {
	for _, m := range t.Mounts {
		path := filepath.Join(m.Path, top, node, system, "cgroup.procs")
		if err := os.WriteFile(path, []byte("0"), 0o644); err != nil {
			return fmt.Errorf("enter the control group: %w", err)
		}
	}
	return nil
}

// Processes lists everything that runs in the cluster's groups.
func (t Tree) Processes() []int {
	var pids []int
	for _, m := range t.Mounts {
		_ = filepath.WalkDir(filepath.Join(m.Path, top), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Name() == "cgroup.procs" {
				pids = append(pids, members(path)...)
			}
			return nil // groups vanish while they are walked
		})
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

func members(path string) []int {
	list, _ := words(path)
	var pids []int
	for _, word := range list {
		if pid, err := strconv.Atoi(word); err == nil && pid > 1 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Exists reports whether any group of the cluster is there.
func (t Tree) Exists() bool {
	return slices.ContainsFunc(t.Mounts, func(m Mount) bool {
		_, err := os.Stat(filepath.Join(m.Path, top))
		return err == nil
	})
}

// Remove removes all groups of the cluster. The kernel keeps a group busy for
// a moment after its last process ended, so it tries for some seconds.
func (t Tree) Remove() error {
	deadline := time.Now().Add(timescale.Of(5 * time.Second))
	for {
		var failed []error
		for _, m := range t.Mounts {
			failed = append(failed, removeTree(filepath.Join(m.Path, top)))
		}
		err := errors.Join(failed...)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// removeTree removes a group after its children. Its files cannot be removed
// and need not be.
func removeTree(group string) error {
	entries, err := os.ReadDir(group)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeTree(filepath.Join(group, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := unix.Rmdir(group); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove control group %s: %w", group, err)
	}
	return nil
}
