package proc

import (
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Process is a process at the moment of reading.
type Process struct {
	PID, Parent int
	// Name is the name of the program, at most 15 bytes.
	Name string
	// State is the kernel's letter, for example `S`.
	State byte
	// Reaped reports whether it has waited for the end of a child.
	Reaped bool
	// CPU is the time that the process and its ended children have used.
	CPU time.Duration
}

// tick is the unit of times in /proc: USER_HZ, 100 on every architecture that Go knows.
const tick = time.Second / 100

// Descendants returns the children of a process and theirs, in the order of their numbers.
func Descendants(root fs.FS, pid int) []Process {
	children := map[int][]Process{}
	for _, p := range allProcesses(root) {
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

func allProcesses(root fs.FS) []Process {
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
	fieldState   = 0
	fieldParent  = 1
	fieldCMinFlt = 8 // page faults of ended children: each has some
	fieldUTime   = 11
	fieldCSTime  = 14
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
	p := Process{PID: pid, Parent: parent, Name: string(text[open+1 : end]), State: fields[fieldState][0], Reaped: fields[fieldCMinFlt] != "0"}
	for _, field := range fields[fieldUTime : fieldCSTime+1] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil || ticks < 0 {
			return Process{}, false
		}
		p.CPU += time.Duration(ticks) * tick
	}
	return p, true
}

// storeThread serves PyTorch's key-value store in the process of the first rank, or in that of torchrun. Ranks that wait for each other in NCCL ask
// it all the time whether one of them has given up, and its answers, two bytes a second, go by write(2): they are no sign that anybody gets on.
const storeThread = "pt_tcpstore_uv"

// WrittenBytes returns how many bytes the process has passed to write(2) and its variants (wchar in /proc/PID/io): files, pipes,
// terminals and sockets, not send(2). What a thread named storeThread wrote does not count.
func WrittenBytes(root fs.FS, pid int) (bytes uint64) {
	process := strconv.Itoa(pid)
	stores := storeThreads(root, process)
	for range 3 { // what such a thread writes between two looks would seem to be of another one
		stored := sumWrittenBytes(root, stores)
		all := readWrittenBytes(root, process)
		bytes = all - min(all, stored)
		if len(stores) == 0 || sumWrittenBytes(root, stores) == stored {
			break
		}
	}
	return bytes
}

// storeThreads returns the folders of the threads of a process that serve PyTorch's store.
func storeThreads(root fs.FS, process string) (stores []string) {
	threads, _ := fs.ReadDir(root, path.Join(process, "task"))
	for _, thread := range threads {
		dir := path.Join(process, "task", thread.Name())
		if name, _ := fs.ReadFile(root, path.Join(dir, "comm")); strings.TrimSpace(string(name)) == storeThread {
			stores = append(stores, dir)
		}
	}
	return stores
}

// sumWrittenBytes adds up the counts of processes or threads.
func sumWrittenBytes(root fs.FS, dirs []string) (bytes uint64) {
	for _, dir := range dirs {
		bytes += readWrittenBytes(root, dir)
	}
	return bytes
}

// readWrittenBytes reads the count of a process or of one of its threads.
func readWrittenBytes(root fs.FS, dir string) uint64 {
	text, _ := fs.ReadFile(root, path.Join(dir, "io"))
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "wchar:"); found {
			n, _ := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
			return n
		}
	}
	return 0
}

// WaitedForCPU is how long the first thread of a process has been ready to run and has waited for a processor, also where the CPU limit of its
// cgroup kept it (the second number of /proc/PID/schedstat, Documentation/scheduler/sched-stats.rst). It is 0 where the kernel does not count it.
func WaitedForCPU(root fs.FS, pid int) time.Duration {
	text, _ := fs.ReadFile(root, path.Join(strconv.Itoa(pid), "schedstat"))
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	nanoseconds, _ := strconv.ParseInt(fields[1], 10, 64)
	return time.Duration(max(0, nanoseconds))
}

// HandlesSignal reports whether a process has a handler for a signal (SigCgt in /proc/PID/status).
func HandlesSignal(root fs.FS, pid int, signal syscall.Signal) bool {
	text, _ := fs.ReadFile(root, path.Join(strconv.Itoa(pid), "status"))
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "SigCgt:"); found {
			mask, _ := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
			return mask&(1<<(signal-1)) != 0
		}
	}
	return false
}

// ExecutablePath returns the file that the process executes, empty when it cannot be read.
func ExecutablePath(root fs.FS, pid int) string {
	target, _ := fs.ReadLink(root, path.Join(strconv.Itoa(pid), "exe"))
	return target
}

// EnvironmentOf returns the variables with which a process was started.
func EnvironmentOf(root fs.FS, pid int) []string { return readEnvironment(root, strconv.Itoa(pid)) }

// ContainerRankVariables returns those variables of this process that may tell a rank, or the size of its world. They are its container's,
// and tell of no launcher: who trains with PyTorch often gives RANK and WORLD_SIZE to a container. They never change.
func ContainerRankVariables(root fs.FS) []string {
	return slices.DeleteFunc(readEnvironment(root, "self"), func(variable string) bool { return !isRankVariable(variable) })
}

// WithoutContainerVariables returns an environment without those variables that its container has too, with the same value.
func WithoutContainerVariables(environment, container []string) []string {
	return slices.DeleteFunc(environment, func(variable string) bool { return slices.Contains(container, variable) })
}

// isRankVariable reports whether a variable may be one that launchers set: all of them end alike.
func isRankVariable(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return strings.HasSuffix(name, "RANK") || strings.HasSuffix(name, "_SIZE")
}

func readEnvironment(root fs.FS, process string) []string {
	text, _ := fs.ReadFile(root, path.Join(process, "environ"))
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == 0 })
}

// mpiRankVariables name the rank of a process that an MPI launcher started: Open MPI, PMIx (Open MPI 5 and others) and Hydra.
var mpiRankVariables = []string{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}

// rankVariables name the rank of a process, also Horovod's, DeepSpeed's and PyTorch's. What only one launcher sets comes before what
// anybody may.
var rankVariables = append(slices.Clone(mpiRankVariables), "HOROVOD_RANK", "RANK")

// RankOfProcess returns the rank of the process by the environment in which it was started, and false when it is none. What the container
// says (ContainerRankVariables) does not count. Children of a rank inherit its environment; the rank itself is the topmost.
func RankOfProcess(root fs.FS, pid int, container []string) (int, bool) {
	return RankOf(WithoutContainerVariables(EnvironmentOf(root, pid), container))
}

// RankOf returns the rank that an environment names.
func RankOf(environment []string) (int, bool) { return firstNumberOf(environment, rankVariables) }

// HasMPIRank reports whether an MPI launcher started the process with this environment as a rank.
func HasMPIRank(environment []string) bool {
	_, is := firstNumberOf(environment, mpiRankVariables)
	return is
}

// firstNumberOf returns the value of the first of these variables that is a number.
func firstNumberOf(environment, names []string) (int, bool) {
	for _, name := range names {
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

// CommandLineOf returns the words of a process, empty for one that has ended.
func CommandLineOf(root fs.FS, pid int) string {
	text, _ := fs.ReadFile(root, strconv.Itoa(pid)+"/cmdline")
	return strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " "))
}

// sizeVariables name the size of the world of a rank: Open MPI, Hydra, Horovod, DeepSpeed and PyTorch.
var sizeVariables = []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "HOROVOD_SIZE", "WORLD_SIZE"}

// WorldSize returns the size of the world that an environment names, 0 for none.
func WorldSize(environment []string) int {
	size, _ := firstNumberOf(environment, sizeVariables)
	return size
}

// VariableValue returns the value of a variable.
func VariableValue(environment []string, name string) (value string, found bool) {
	for _, variable := range environment {
		if value, found = strings.CutPrefix(variable, name+"="); found {
			return value, true
		}
	}
	return "", false
}
