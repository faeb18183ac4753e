package proc

import "golang.org/x/sys/unix"

// legacySyscallName names the calls that only old architectures have.
func legacySyscallName(number int, otherwise string) string {
	switch number {
	case unix.SYS_POLL:
		return "poll"
	case unix.SYS_EPOLL_WAIT:
		return "epoll_wait"
	case unix.SYS_SELECT:
		return "select"
	case unix.SYS_PAUSE:
		return "pause"
	}
	return otherwise
}
