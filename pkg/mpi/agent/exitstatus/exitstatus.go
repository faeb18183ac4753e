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
	"time"
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
	// number is the place in the queue of ends.
	number int32
	// over is closed when the process has ended or is watched no more; the rest is set before.
	over   chan struct{}
	status syscall.WaitStatus
	err    error
	at     time.Time
}

// WatchProcess begins to watch a process. It fails when the process is gone, or where the kernel has no descriptors of processes
// (before Linux 5.10, or a sandbox without them).
func WatchProcess(pid int) (*WatchedProcess, error) {
	fd, err := unix.PidfdOpen(pid, 0)
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
	p := &WatchedProcess{pid: pid, file: file, stat: stat, over: make(chan struct{})}
	if err := all.add(p); err != nil {
		file.Close()
		stat.Close()
		return nil, fmt.Errorf("watch process %d: %w", pid, err)
	}
	return p, nil
}

// Close ends the watch. A Wait that is under way returns an error.
func (p *WatchedProcess) Close() error {
	all.remove(p)
	return errors.Join(p.file.Close(), p.stat.Close())
}

// Wait returns how the process ended, once it has. The error is ErrUnknown when the parent was faster.
func (p *WatchedProcess) Wait() (syscall.WaitStatus, error) {
	<-p.over
	return p.status, p.err
}

// Settle notes the ends that have come until now. A busy machine may wake us only seconds after them.
func Settle() { all.settle() }

// HasEnded reports whether the process is known to have ended, so that Wait returns at once.
func (p *WatchedProcess) HasEnded() bool {
	select {
	case <-p.over:
		return true
	default:
		return false
	}
}

// EndedAt returns when the process was seen to end, after Wait. Of two processes that end one after the other the times
// are in that order, however late they are seen.
func (p *WatchedProcess) EndedAt() time.Time { return p.at }

// note finds out how a process ended that has.
func (p *WatchedProcess) note(at time.Time) {
	p.at = at
	status, known := p.zombieExitStatus()
	if !known {
		status, known = exitStatusFromPidfd(int(p.file.Fd()))
	}
	if p.status = status; !known {
		p.err = ErrUnknown
	}
	close(p.over)
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
