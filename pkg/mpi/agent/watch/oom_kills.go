package watch

import (
	"bufio"
	"bytes"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// OOMCount counts what the kernel kills for memory from its beginning on.
type OOMCount struct {
	root   fs.FS
	before int
}

// CountOOMKills begins to count. The file system is the root of the pod.
func CountOOMKills(root fs.FS) OOMCount {
	before, _ := oomKills(root)
	return OOMCount{root, before}
}

// Kills returns how many processes were killed so far.
func (c OOMCount) Kills() int {
	now, _ := oomKills(c.root)
	return now - c.before
}

// oomKills returns how many processes of the container's memory cgroup the kernel has killed for memory since the
// cgroup was made, and false where that cannot be read. The file system is the root of the pod.
//
// Version 2 counts in memory.events, version 1 in memory.oom_control
// (https://docs.kernel.org/admin-guide/cgroup-v2.html, .../cgroup-v1/memory.html). A container sees its own cgroup at
// the root of the mount; without that, /proc/self/cgroup says where it is.
func oomKills(root fs.FS) (int, bool) {
	own, _ := fs.ReadFile(root, "proc/self/cgroup")
	for _, candidate := range oomEventFiles(string(own)) {
		text, err := fs.ReadFile(root, candidate)
		if err != nil {
			continue
		}
		if n, found := parseOOMKills(text); found {
			return n, true
		}
	}
	return 0, false
}

func oomEventFiles(cgroups string) []string {
	var own, whole []string
	for line := range strings.Lines(cgroups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		controllers := strings.Split(parts[1], ",")
		for _, controller := range controllers {
			switch {
			case controller == "memory":
				own = append(own, path.Join("sys/fs/cgroup/memory", parts[2], "memory.oom_control"))
			case controller == "" && parts[0] == "0":
				own = append(own, path.Join("sys/fs/cgroup", parts[2], "memory.events"))
			}
		}
	}
	whole = append(whole, "sys/fs/cgroup/memory.events", "sys/fs/cgroup/memory/memory.oom_control")
	return append(own, whole...)
}

// parseOOMKills finds the line `oom_kill N`.
func parseOOMKills(text []byte) (int, bool) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		value, found := strings.CutPrefix(lines.Text(), "oom_kill ")
		if !found {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(value))
		return n, err == nil
	}
	return 0, false
}
