// Package process names a process in a way that survives the re-use of its
// number, and ends it.
//
// Invariant: a signal is only sent after the start time behind the number was
// compared through a pidfd, so that it never reaches a stranger.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"lockstep.dev/lockstep/test/cluster/internal/timescale"
)

// Identity is a process number with the time at which that process started, in
// clock ticks after boot (field 22 of proc(5) /proc/pid/stat).
type Identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
}

// Of identifies a process that runs now.
func Of(pid int) (Identity, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	_, start, err := parseStat(string(stat))
	if err != nil {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	return Identity{PID: pid, Start: start}, nil
}

// parseStat takes state and start time out of /proc/pid/stat. The second field
// is the command's name in brackets and may itself hold blanks and brackets.
func parseStat(stat string) (state string, start uint64, err error) {
	i := strings.LastIndexByte(stat, ')')
	if i < 0 {
		return "", 0, errors.New("unknown form of /proc/pid/stat")
	}
	fields := strings.Fields(stat[i+1:])
	if len(fields) < 20 {
		return "", 0, errors.New("unknown form of /proc/pid/stat")
	}
	start, err = strconv.ParseUint(fields[19], 10, 64)
	return fields[0], start, err
}

// Alive reports whether this very process still runs. A zombie does not.
func (id Identity) Alive() bool {
	if id.PID <= 0 {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(id.PID) + "/stat")
	if err != nil {
		return false
	}
	state, start, err := parseStat(string(stat))
	return err == nil && start == id.Start && state != "Z" && state != "X"
}

// Signal sends a signal to this very process; a process that is gone is no
// error.
func (id Identity) Signal(signal unix.Signal) error {
	if id.PID <= 1 {
		return nil
	}
	fd, err := unix.PidfdOpen(id.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open process %d: %w", id.PID, err)
	}
	defer func() { _ = unix.Close(fd) }()
	if !id.Alive() {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, signal, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signal process %d: %w", id.PID, err)
	}
	return nil
}

// WaitGone returns when the process is gone, and false when the context ended
// before.
func (id Identity) WaitGone(ctx context.Context) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for id.Alive() {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}

// End asks the process to end, gives it the grace, and then kills it.
func (id Identity) End(ctx context.Context, grace time.Duration) error {
	if err := id.Signal(unix.SIGTERM); err != nil {
		return err
	}
	soft, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if id.WaitGone(soft) {
		return nil
	}
	if err := id.Signal(unix.SIGKILL); err != nil {
		return err
	}
	limit := timescale.Of(10 * time.Second)
	hard, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if !id.WaitGone(hard) {
		return fmt.Errorf("process %d did not end %s after SIGKILL", id.PID, limit)
	}
	return nil
}
