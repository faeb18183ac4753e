//go:build amd64 || arm64

// Package seccomp takes from a process what it does not need to run programs of others: Jsonnet, and charts. It is the second wall: the
// evaluators open no file and no socket by themselves, and a mistake in them, or in a library, cannot either.
package seccomp

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// allowed are the system calls of a program that computes, and that reads and writes the files that it has: those of Go's runtime
// (runtime/sys_linux_*.s, internal/runtime/syscall/linux), of os.File, and of the C library under the race detector. All others are
// refused, also those that kernels will have one day.
var allowed = slices.Concat(
	// Files that are open: standard streams, and the limits of the cgroup, which the runtime looks at while it runs.
	[]uint32{unix.SYS_READ, unix.SYS_WRITE, unix.SYS_PREAD64, unix.SYS_CLOSE, unix.SYS_FSTAT, unix.SYS_FCNTL},
	// Memory.
	[]uint32{unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_MINCORE, unix.SYS_BRK},
	// Threads, which clone starts, and their signals.
	[]uint32{
		unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ,
		unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
		unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	},
	// Time, waiting, and chance.
	[]uint32{
		unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY, unix.SYS_GETRANDOM,
		unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2, unix.SYS_EVENTFD2,
	},
)

// The offsets of the fields of struct seccomp_data (linux/seccomp.h). Of the first argument it is that of the lower half.
const (
	offsetNumber        = 0
	offsetArchitecture  = 4
	offsetFirstArgument = 16
)

// Confine makes the kernel refuse, with EPERM and forever, all system calls of this process but those that computing takes: it opens no
// file and no socket, starts no process, and sends no signal to another one. It is an error where the kernel, or a sandbox around the
// process, has no such filters; nothing is refused then.
func Confine() error {
	program := buildFilter(uint32(os.Getpid()))                            //nolint:gosec // at most 2^22 (PID_MAX_LIMIT)
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]} //nolint:gosec // some dozens
	// The filter comes into force in all threads at once, and with it the promise of the thread that asks to gain no rights.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	thread, _, errno := syscall.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(program)
	switch {
	case errno != 0:
		return fmt.Errorf("install a filter of system calls: %w", errno)
	case thread != 0:
		return fmt.Errorf("install a filter of system calls: thread %d has another one", thread)
	}
	return nil
}

// The instructions of a filter.
const (
	load      = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	equal     = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	hasBits   = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	answer    = unix.BPF_RET | unix.BPF_K
	refuse    = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	notKnown  = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	permitted = unix.SECCOMP_RET_ALLOW
)

// buildFilter is the program for the kernel. What it does not know gets EPERM: calls of another architecture, and those of the ABI x32, which
// have numbers of their own (asm/unistd.h).
func buildFilter(self uint32) []unix.SockFilter {
	program := []unix.SockFilter{
		{Code: load, K: offsetArchitecture}, {Code: equal, K: architecture, Jt: 1}, {Code: answer, K: refuse},
		{Code: load, K: offsetNumber},
	}
	for _, number := range allowed {
		program = append(program, unix.SockFilter{Code: equal, K: number, Jf: 1}, unix.SockFilter{Code: answer, K: permitted})
	}
	// A thread, and no process.
	program = append(program, allowIfFirstArgument(unix.SYS_CLONE, unix.SockFilter{Code: hasBits, K: unix.CLONE_THREAD, Jf: 1})...)
	// The flags of clone3 are in memory, where no filter sees them: a C library that does not find it takes clone.
	program = append(program, unix.SockFilter{Code: equal, K: unix.SYS_CLONE3, Jf: 1}, unix.SockFilter{Code: answer, K: notKnown})
	// The runtime interrupts its threads by signals.
	for _, number := range []uint32{unix.SYS_TGKILL, unix.SYS_KILL} {
		program = append(program, allowIfFirstArgument(number, unix.SockFilter{Code: equal, K: self, Jf: 1})...)
	}
	return append(program, unix.SockFilter{Code: answer, K: refuse})
}

// allowIfFirstArgument allows a call whose first argument passes a test, and refuses it with any other.
func allowIfFirstArgument(number uint32, test unix.SockFilter) []unix.SockFilter {
	return []unix.SockFilter{
		{Code: equal, K: number, Jf: 4}, {Code: load, K: offsetFirstArgument},
		test, {Code: answer, K: permitted}, {Code: answer, K: refuse},
	}
}
