package proc

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// syscallName names the system calls in which programs usually wait; others keep their number.
func syscallName(number int) string {
	switch number {
	case unix.SYS_READ:
		return "read"
	case unix.SYS_WRITE:
		return "write"
	case unix.SYS_FUTEX:
		return "futex"
	case unix.SYS_PPOLL:
		return "poll"
	case unix.SYS_EPOLL_PWAIT:
		return "epoll_wait"
	case unix.SYS_PSELECT6:
		return "select"
	case unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP:
		return "sleep"
	case unix.SYS_WAIT4, unix.SYS_WAITID:
		return "wait"
	case unix.SYS_RECVFROM, unix.SYS_RECVMSG:
		return "recv"
	case unix.SYS_CONNECT:
		return "connect"
	case unix.SYS_ACCEPT, unix.SYS_ACCEPT4:
		return "accept"
	case unix.SYS_SCHED_YIELD:
		return "sched_yield"
	}
	return legacySyscallName(number, "system call "+strconv.Itoa(number))
}
