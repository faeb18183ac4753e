//go:build amd64 || arm64

// Package seccomp takes from a process what it does not need to run programs of others: Jsonnet, and charts. It is the second wall: the
// evaluators open no file and no socket by themselves, and a mistake in them, or in a library, cannot either.
package seccomp

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refused are the system calls that open, change or execute something outside of the process, or would do so in the place of others.
var refused = append([]uint32{
	unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_OPEN_TREE,
	unix.SYS_UNLINKAT, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT, unix.SYS_SYMLINKAT, unix.SYS_MKDIRAT, unix.SYS_MKNODAT,
	unix.SYS_FCHMODAT, unix.SYS_FCHOWNAT, unix.SYS_TRUNCATE, unix.SYS_READLINKAT,
	unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_IO_URING_SETUP,
	unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD,
}, refusedHere...)

// The offsets of the fields of struct seccomp_data (linux/seccomp.h).
const (
	offsetNumber       = 0
	offsetArchitecture = 4
)

// x32 is the bit of system calls of the ABI x32, which have other numbers under the same architecture (asm/unistd.h).
const x32 = 0x40000000

// Confine makes the kernel refuse, with EPERM and for ever, the system calls of this process that open a file or a socket or execute a
// program. It is an error where the kernel, or a sandbox around the process, has no such filters; nothing is refused then.
func Confine() error {
	program := filter()
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

// filter is the program for the kernel: calls of another architecture and those that are refused get EPERM.
func filter() []unix.SockFilter {
	const load, equal, atLeast, answer = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	refuse := unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	program := []unix.SockFilter{
		{Code: load, K: offsetArchitecture}, {Code: equal, K: architecture, Jt: 1}, refuse,
		{Code: load, K: offsetNumber}, {Code: atLeast, K: x32, Jf: 1}, refuse,
	}
	for _, number := range refused {
		program = append(program, unix.SockFilter{Code: equal, K: number, Jf: 1}, refuse)
	}
	return append(program, unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ALLOW})
}
