package process

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Status is how a process ended.
type Status syscall.WaitStatus

// Code returns the exit code, 128+n after signal n, as a shell reports it.
func (s Status) Code() int {
	if signal := s.Signal(); signal != 0 {
		return 128 + int(signal)
	}
	return syscall.WaitStatus(s).ExitStatus()
}

// Signal returns the signal that ended the process, 0 when it exited by itself.
func (s Status) Signal() syscall.Signal {
	if status := syscall.WaitStatus(s); status.Signaled() {
		return status.Signal()
	}
	return 0
}

// CoreDumped reports whether the signal left a core dump.
func (s Status) CoreDumped() bool { return syscall.WaitStatus(s).CoreDump() }

// String says it in words, for example `exited with code 7` or `was killed by SIGSEGV`.
func (s Status) String() string {
	if signal := s.Signal(); signal != 0 {
		return "was killed by " + SignalName(signal)
	}
	return fmt.Sprintf("exited with code %d", s.Code())
}

// SignalName returns the name of a signal, for example `SIGTERM`.
func SignalName(signal syscall.Signal) string {
	if name := unix.SignalName(signal); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(signal))
}
