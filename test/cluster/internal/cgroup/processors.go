package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// pods is the group of a node's pods.
const pods = "kubepods"

// Confine gives the pods of each of several nodes, whose kubelets run, processors of their own, as on machines of their own. Linux 6.18 leaves the
// processes of one node without any processor for seconds while ranks of another one spin, where both may run everywhere
// (docs/decisions/2026-11-27-processors-of-nodes.md). What else a node runs may use all. With fewer processors than nodes all pods share them.
func (t Tree) Confine(nodes []string) error {
	for _, m := range t.Mounts {
		list := filepath.Join(m.Path, top, "cpuset.cpus")
		if m.V2 {
			list += ".effective"
		}
		content, err := os.ReadFile(list)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another controller's hierarchy
		}
		if err != nil {
			return fmt.Errorf("read which processors there are: %w", err)
		}
		shares, err := divide(strings.TrimSpace(string(content)), len(nodes))
		if err != nil {
			return fmt.Errorf("%s: %w", list, err)
		}
		for i, share := range shares {
			if err := m.confine(filepath.Join(m.Path, top, nodes[i], pods), share); err != nil {
				return fmt.Errorf("confine the pods of %s to processors: %w", nodes[i], err)
			}
		}
	}
	return nil
}

// confine lets a group and those in it use the processors of a list.
func (m Mount) confine(group, processors string) error {
	if !m.V2 {
		if err := m.confineWithin(group, processors); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(group, "cpuset.cpus"), []byte(processors), 0o644)
}

// confineWithin comes first on cgroup v1, where no group has a processor that the one around it has not. What kubelet makes later has those of the
// group that it makes it in; when it starts again it widens the outermost one only.
func (m Mount) confineWithin(group, processors string) error {
	entries, err := os.ReadDir(group)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		if err := m.confine(filepath.Join(group, entry.Name()), processors); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// divide splits a list of processors, in the form of cpuset(7), into as many lists, of which none is empty; none where there are too few.
func divide(list string, parts int) ([]string, error) {
	all, err := processorsOf(list)
	if err != nil || len(all) < parts {
		return nil, err
	}
	shares := make([]string, parts)
	for i := range shares {
		shares[i] = strings.Join(all[i*len(all)/parts:(i+1)*len(all)/parts], ",")
	}
	return shares, nil
}

// processorsOf are the numbers in a list such as `0-3,8`.
func processorsOf(list string) ([]string, error) {
	var all []string
	for span := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(span, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.ParseUint(from, 10, 16)
		last, errLast := strconv.ParseUint(to, 10, 16)
		if err != nil || errLast != nil || last < first {
			return nil, fmt.Errorf("`%s` is not a list of processors such as `0-3,8`", list)
		}
		for n := first; n <= last; n++ {
			all = append(all, strconv.FormatUint(n, 10))
		}
	}
	return all, nil
}
