package usage

import (
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// cgroup holds the folders in which the kernel counts for this container, the likeliest first. A container sees its own
// cgroup at the root of the mount; without that, /proc/self/cgroup names the folder.
type cgroup struct {
	root fs.FS
	// memory and cpu are controllers of version 1, unified is all of version 2.
	memory, cpu, unified []string
}

func findCgroup(root fs.FS) cgroup {
	const mount = "sys/fs/cgroup"
	g := cgroup{root: root}
	own, _ := fs.ReadFile(root, "proc/self/cgroup") // unreadable: the root of the mount remains
	for line := range strings.Lines(string(own)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			switch {
			case controller == "memory":
				g.memory = append(g.memory, path.Join(mount, "memory", parts[2]))
			case controller == "cpuacct":
				g.cpu = append(g.cpu, path.Join(mount, "cpuacct", parts[2]), path.Join(mount, parts[1], parts[2]))
			case controller == "" && parts[0] == "0":
				g.unified = append(g.unified, path.Join(mount, parts[2]))
			}
		}
	}
	g.memory, g.cpu = append(g.memory, path.Join(mount, "memory")), append(g.cpu, path.Join(mount, "cpuacct"))
	g.unified = append(g.unified, mount)
	return g
}

// number reads a file that holds one number. A limit that is none is 0.
func (g cgroup) number(folders []string, file string) (int64, bool) {
	for _, folder := range folders {
		text, err := fs.ReadFile(g.root, path.Join(folder, file))
		if err != nil {
			continue
		}
		word := strings.TrimSpace(string(text))
		if word == "max" {
			return 0, true
		}
		if n, err := strconv.ParseInt(word, 10, 64); err == nil {
			return n, true
		}
	}
	return 0, false
}

// field reads the number behind a key in a file with a key and a number on each line.
func (g cgroup) field(folders []string, file, key string) (int64, bool) {
	for _, folder := range folders {
		text, err := fs.ReadFile(g.root, path.Join(folder, file))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if value, found := strings.CutPrefix(line, key+" "); found {
				if n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64); err == nil {
					return n, true
				}
			}
		}
	}
	return 0, false
}

// oomKills is how many processes the kernel has killed for memory since the cgroup was made.
func (g cgroup) oomKills() (int64, bool) {
	if n, found := g.field(g.memory, "memory.oom_control", "oom_kill"); found {
		return n, true
	}
	return g.field(g.unified, "memory.events", "oom_kill")
}

// memoryInUse is the memory that the kernel cannot take back at once.
func (g cgroup) memoryInUse() int64 {
	if used, found := g.number(g.memory, "memory.usage_in_bytes"); found {
		idle, _ := g.field(g.memory, "memory.stat", "total_inactive_file")
		return max(0, used-idle)
	}
	used, _ := g.number(g.unified, "memory.current") // unknown: 0
	idle, _ := g.field(g.unified, "memory.stat", "inactive_file")
	return max(0, used-idle)
}

// memoryPeak is the most that was ever in use, with the file cache; 0 on kernels that do not keep it.
func (g cgroup) memoryPeak() int64 {
	if n, found := g.number(g.memory, "memory.max_usage_in_bytes"); found {
		return n
	}
	n, _ := g.number(g.unified, "memory.peak")
	return n
}

// noLimit and above is a limit of version 1 that is none: the largest number of whole pages.
const noLimit = math.MaxInt64 / 2

func (g cgroup) memoryLimit() int64 {
	if n, found := g.number(g.memory, "memory.limit_in_bytes"); found {
		if n >= noLimit {
			return 0
		}
		return n
	}
	n, _ := g.number(g.unified, "memory.max")
	return n
}

func (g cgroup) cpuSeconds() float64 {
	if n, found := g.number(g.cpu, "cpuacct.usage"); found {
		return float64(n) / 1e9
	}
	n, _ := g.field(g.unified, "cpu.stat", "usage_usec")
	return float64(n) / 1e6
}
