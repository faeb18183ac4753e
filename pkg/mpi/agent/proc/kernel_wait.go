package proc

import (
	"io/fs"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// KernelWait is what a process is waiting for, as far as the kernel tells us.
type KernelWait struct {
	// Function is the function of the kernel in which it sleeps.
	Function string
	// Call is the system call, as its number and arguments.
	Call string
	// Stack is the kernel's stack, innermost first; it takes CAP_SYS_ADMIN to read it.
	Stack []string
}

// maxStack is the number of functions of a stack that are kept: the innermost say it.
const maxStack = 3

// KernelWaitOf reads what a process is waiting for.
func KernelWaitOf(root fs.FS, pid int) KernelWait {
	read := func(name string) string {
		text, _ := fs.ReadFile(root, path.Join(strconv.Itoa(pid), name))
		return strings.TrimSpace(string(text))
	}
	wait := KernelWait{Function: read("wchan"), Call: parseSyscall(read("syscall"))}
	if wait.Function == "0" { // it runs, or the kernel does not tell
		wait.Function = ""
	}
	for line := range strings.Lines(read("stack")) {
		if len(wait.Stack) == maxStack {
			break
		}
		if function := parseStackLine(line); function != "" {
			wait.Stack = append(wait.Stack, function)
		}
	}
	return wait
}

// parseSyscall reads /proc/PID/syscall: a number and arguments, or `running`.
func parseSyscall(text string) string {
	number, _, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 {
		return ""
	}
	return syscallName(n)
}

// ReadsSocket returns the descriptor of the socket for which a process waits in read(2), in its first thread. It returns false for
// one that does something else, and where the kernel does not tell.
func ReadsSocket(root fs.FS, pid int) (descriptor int, reads bool) {
	folder := strconv.Itoa(pid)
	text, _ := fs.ReadFile(root, path.Join(folder, "syscall"))
	fields := strings.Fields(string(text))
	if len(fields) < 2 || fields[0] != strconv.Itoa(unix.SYS_READ) {
		return 0, false
	}
	number, err := strconv.ParseUint(fields[1], 0, 31)
	if err != nil {
		return 0, false
	}
	target, _ := fs.ReadLink(root, path.Join(folder, "fd", strconv.FormatUint(number, 10)))
	return int(number), strings.HasPrefix(target, "socket:")
}

// parseStackLine reads a line of /proc/PID/stack, for example `[<0>] futex_wait_queue+0x60/0x90`.
func parseStackLine(line string) string {
	_, text, _ := strings.Cut(line, "] ")
	function, _, _ := strings.Cut(strings.TrimSpace(text), "+")
	return function
}

// StateName says the kernel's letter for a state in words (proc_pid_stat(5)).
func StateName(state byte) string {
	switch state {
	case 'R':
		return "running"
	case 'S', 'I':
		return "sleeping"
	case 'D':
		return "waiting for a disk"
	case 'T', 't':
		return "stopped"
	case 'Z', 'X':
		return "a zombie"
	}
	return "in state " + string(rune(state))
}
