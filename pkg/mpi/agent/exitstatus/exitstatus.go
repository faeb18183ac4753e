// Package exitstatus learns how processes ended that are not children of the caller.
//
// MPI launchers are between the agent and the ranks, and Hydra loses how ranks ended (pmodels/mpich#7057): when two ranks
// of a node die together, its proxy reports 0 for both. Only a parent may wait for a process, and tracing would keep
// debuggers away and stop the rank at every signal. Two things are left to everybody of the same user:
//
//   - Linux from 6.15 tells the exit status through a descriptor of the process (PIDFD_GET_INFO with PIDFD_INFO_EXIT,
//     include/uapi/linux/pidfd.h), also after the process is gone.
//   - Before, /proc/PID/stat shows it (exit_code, proc_pid_stat(5)) from the moment a process ends until its parent has
//     waited for it. The descriptor wakes us in that moment. When the parent is faster, nobody knows.
package exitstatus

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrUnknown says that a process has ended, and that its parent had collected how before we could look.
var ErrUnknown = errors.New("nobody knows how the process ended")

// WatchedProcess is a process that is watched.
type WatchedProcess struct {
	pid  int
	file *os.File
	// stat is open before the process ends, so that a look takes one system call.
	stat *os.File
}

// WatchProcess begins to watch a process. It fails when the process is gone, or where the kernel has no descriptors of processes
// (before Linux 5.10, or a sandbox without them).
func WatchProcess(pid int) (*WatchedProcess, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watch process %d: %w", pid, err)
	}
	file := os.NewFile(uintptr(fd), "pidfd")
	// Opened after the descriptor: if the number had been given to another process in between, the descriptor would
	// have ended already, and Wait would tell.
	stat, err := os.Open("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("watch process %d: %w", pid, err)
	}
	return &WatchedProcess{pid, file, stat}, nil
}

// Close ends the watch. A Wait that is under way returns an error.
func (p *WatchedProcess) Close() error { return errors.Join(p.file.Close(), p.stat.Close()) }

// Wait returns how the process ended, once it has. The error is ErrUnknown when the parent was faster.
func (p *WatchedProcess) Wait() (syscall.WaitStatus, error) {
	raw, err := p.file.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("wait for process %d: %w", p.pid, err)
	}
	var status syscall.WaitStatus
	var known bool
	err = raw.Read(func(fd uintptr) bool {
		if !hasEnded(int(fd)) {
			return false
		}
		if status, known = p.zombieExitStatus(); !known {
			status, known = exitStatusFromPidfd(int(fd))
		}
		return true
	})
	switch {
	case err != nil:
		return 0, fmt.Errorf("wait for process %d: %w", p.pid, err)
	case !known:
		return 0, ErrUnknown
	}
	return status, nil
}

// hasEnded reports whether the descriptor is readable, which it is from the end of the process on.
func hasEnded(fd int) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return err == nil && n > 0
}

// zombieExitStatus reads the exit status of a process that its parent has not waited for.
func (p *WatchedProcess) zombieExitStatus() (syscall.WaitStatus, bool) {
	var buffer [1024]byte
	n, err := p.stat.ReadAt(buffer[:], 0)
	if err != nil && n == 0 {
		return 0, false
	}
	return exitStatusFromStat(string(buffer[:n]))
}

// exitField is the place of exit_code behind the name, counted from the state, which is 0.
const exitField = 49

// exitStatusFromStat finds the exit status in /proc/PID/stat. It reports false for a process that has not ended.
func exitStatusFromStat(stat string) (syscall.WaitStatus, bool) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) <= exitField || fields[0] != "Z" && fields[0] != "X" {
		return 0, false
	}
	status, err := strconv.ParseUint(fields[exitField], 10, 16)
	if err != nil {
		return 0, false
	}
	return syscall.WaitStatus(status), true
}

// pidfdInfo is struct pidfd_info in its first version, of 64 bytes.
type pidfdInfo struct {
	mask   uint64
	cgroup uint64
	ids    [11]uint32
	exit   int32
}

const (
	// getInfo is PIDFD_GET_INFO: _IOWR(0xFF, 11, struct pidfd_info).
	getInfo = 3<<30 | unsafe.Sizeof(pidfdInfo{})<<16 | 0xFF<<8 | 11
	// infoExit is PIDFD_INFO_EXIT.
	infoExit = 1 << 3
)

// exitStatusFromPidfd asks the kernel for the exit status of a process that is gone. It reports false where the kernel does not keep
// it.
func exitStatusFromPidfd(fd int) (syscall.WaitStatus, bool) {
	request := pidfdInfo{mask: infoExit}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), getInfo, uintptr(unsafe.Pointer(&request)))
	if errno != 0 || request.mask&infoExit == 0 {
		return 0, false
	}
	return syscall.WaitStatus(request.exit), true
}
