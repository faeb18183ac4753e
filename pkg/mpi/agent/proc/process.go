package proc

import (
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Process is a process at the moment of reading.
type Process struct {
	PID, Parent int
	// Name is the name of the program, at most 15 bytes.
	Name string
	// State is the kernel's letter, for example `S`.
	State byte
	// CPU is the time that the process and its ended children have used.
	CPU time.Duration
}

// tick is the unit of times in /proc: USER_HZ, 100 on every architecture that Go knows.
const tick = time.Second / 100

// Descendants returns the children of a process and theirs, in the order of their numbers.
func Descendants(root fs.FS, pid int) []Process {
	children := map[int][]Process{}
	for _, p := range all(root) {
		children[p.Parent] = append(children[p.Parent], p)
	}
	var found []Process
	for queue := []int{pid}; len(queue) > 0; queue = queue[1:] {
		for _, child := range children[queue[0]] {
			found, queue = append(found, child), append(queue, child.PID)
		}
		delete(children, queue[0]) // a circle cannot be, but must not hang us
	}
	slices.SortFunc(found, func(a, b Process) int { return a.PID - b.PID })
	return found
}

func all(root fs.FS) []Process {
	entries, _ := fs.ReadDir(root, ".")
	var found []Process
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		text, err := fs.ReadFile(root, entry.Name()+"/stat")
		if err != nil {
			continue
		}
		if p, ok := parseStat(text); ok {
			found = append(found, p)
		}
	}
	return found
}

// Fields of stat behind the name, counted from 0 (proc_pid_stat(5) counts the state as 3).
const (
	fieldState  = 0
	fieldParent = 1
	fieldUTime  = 11
	fieldCSTime = 14
)

// parseStat reads /proc/PID/stat. The name is in parentheses and may hold anything, parentheses too.
func parseStat(text []byte) (Process, bool) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 1 || end < open {
		return Process{}, false
	}
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) <= fieldCSTime {
		return Process{}, false
	}
	pid, pidErr := strconv.Atoi(strings.TrimSpace(string(text[:open])))
	parent, parentErr := strconv.Atoi(fields[fieldParent])
	if pidErr != nil || parentErr != nil {
		return Process{}, false
	}
	p := Process{PID: pid, Parent: parent, Name: string(text[open+1 : end]), State: fields[fieldState][0]}
	for _, field := range fields[fieldUTime : fieldCSTime+1] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil || ticks < 0 {
			return Process{}, false
		}
		p.CPU += time.Duration(ticks) * tick
	}
	return p, true
}

// Written returns how many bytes the process has passed to write(2) and its variants (wchar in /proc/PID/io): files, pipes,
// terminals and sockets, not send(2).
func Written(root fs.FS, pid int) uint64 {
	text, _ := fs.ReadFile(root, path.Join(strconv.Itoa(pid), "io"))
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "wchar:"); found {
			n, _ := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
			return n
		}
	}
	return 0
}

// Program returns the file that the process executes, empty when it cannot be read.
func Program(root fs.FS, pid int) string {
	target, _ := fs.ReadLink(root, path.Join(strconv.Itoa(pid), "exe"))
	return target
}

// Environment returns the variables with which a process was started. Of those that may tell a rank, or the size of its world, it leaves
// out what this process was started with too, with the same value: that is its container's, and tells of no launcher. Who trains with
// PyTorch often gives RANK and WORLD_SIZE to a container.
func Environment(root fs.FS, pid int) []string {
	environment := environ(root, strconv.Itoa(pid))
	if !slices.ContainsFunc(environment, tellsOfRanks) { // a container may have thousands of variables, and a pod many processes
		return environment
	}
	own := environ(root, "self")
	return slices.DeleteFunc(environment, func(variable string) bool { return tellsOfRanks(variable) && slices.Contains(own, variable) })
}

// tellsOfRanks says whether a variable may be one that launchers set: all of them end alike.
func tellsOfRanks(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return strings.HasSuffix(name, "RANK") || strings.HasSuffix(name, "_SIZE")
}

func environ(root fs.FS, process string) []string {
	text, _ := fs.ReadFile(root, path.Join(process, "environ"))
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == 0 })
}

// rankVariables name the rank of a process: Open MPI, PMIx (Open MPI 5 and others), Hydra, Horovod, DeepSpeed and PyTorch. What only
// one launcher sets comes before what anybody may.
var rankVariables = []string{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "HOROVOD_RANK", "RANK"}

// Rank returns the rank of the process by the environment in which it was started, and false when it is none. Children
// of a rank inherit its environment; the rank itself is the topmost.
func Rank(root fs.FS, pid int) (int, bool) { return RankOf(Environment(root, pid)) }

// RankOf returns the rank that an environment names.
func RankOf(environment []string) (int, bool) {
	for _, name := range rankVariables {
		for _, variable := range environment {
			if value, found := strings.CutPrefix(variable, name+"="); found {
				if rank, err := strconv.Atoi(value); err == nil && rank >= 0 {
					return rank, true
				}
			}
		}
	}
	return 0, false
}
