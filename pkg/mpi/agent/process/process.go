package process

import (
	"errors"
	"syscall"
	"time"
)

// Process is a started process.
type Process struct {
	pid    int
	done   chan struct{}
	status Status
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Status returns how the process ended. It must not be called before Done is closed.
func (p *Process) Status() Status { return p.status }

func (p *Process) setEnded(status Status) {
	p.status = status
	close(p.done)
}

// SignalGroup sends a signal to the process and to those of its descendants that stayed in its group. It reports whether
// there was any. A process that has joined another group is signalled alone.
func (p *Process) SignalGroup(signal syscall.Signal) bool {
	if !errors.Is(syscall.Kill(-p.pid, signal), syscall.ESRCH) {
		return true
	}
	select {
	case <-p.done: // the number may be somebody else's
		return false
	default:
		return !errors.Is(syscall.Kill(p.pid, signal), syscall.ESRCH)
	}
}

// EndGroup asks the group to end with SIGTERM, and kills what is left of it after the grace period. It returns when the
// group is gone, at the latest one more grace period later: a process that waits inside the kernel cannot be killed.
// The number of a group is not given away while it has members; the moment between the last look and the kill is
// accepted, because numbers are not reused that fast.
func (p *Process) EndGroup(grace time.Duration) {
	p.SignalGroup(syscall.SIGTERM)
	if p.awaitGroup(grace) {
		return
	}
	p.SignalGroup(syscall.SIGKILL)
	p.awaitGroup(grace)
}

// awaitGroup reports whether the group ended within the limit.
func (p *Process) awaitGroup(limit time.Duration) bool {
	const look = 5 * time.Millisecond
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(look) {
		if p.SignalGroup(0) {
			continue
		}
		select {
		case <-p.done:
			return true
		default: // it is about to be collected
		}
	}
	return false
}
