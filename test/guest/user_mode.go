package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// slirp connects a kernel in user mode with whatever this machine reaches, by addresses that are those of QEMU's own network too.
const slirp = "/usr/bin/slirp-fullbolt"

// inUserMode runs a kernel that is a program. All that it has started ends with it: it is the first process of a namespace.
func inUserMode(ctx context.Context, m machine, out io.Writer) (err error) {
	if err := fakeClockSpeed(); err != nil {
		return err
	}
	if err := stayOnOneProcessor(); err != nil {
		return err
	}
	restore, err := raiseMaxMapCount(mapsFile, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, restore()) }()
	console, err := os.Create(m.console)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, console.Close()) }()
	cmd := exec.CommandContext(ctx, m.disk.kernel(), m.userMode()...)
	cmd.Stderr = console
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	return execute(ctx, cmd, m, out)
}

const (
	// mapsFile is how many parts of memory a process may have that differ in rights or in what is in them (vm.max_map_count).
	mapsFile = "/proc/sys/vm/max_map_count"
	// mapsNeeded is more than a large compiler has. To this machine each page of a guest's process is a part of its own.
	mapsNeeded = 1 << 20
)

// raiseMaxMapCount raises a limit of this machine while the guest runs; restore takes that back.
func raiseMaxMapCount(file string, out io.Writer) (restore func() error, err error) {
	before, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if n, err := strconv.Atoi(strings.TrimSpace(string(before))); err == nil && n >= mapsNeeded {
		return func() error { return nil }, nil
	}
	_, _ = fmt.Fprintf(out, "CHANGING ON THIS MACHINE while the guest runs: vm.max_map_count=%d\n", mapsNeeded)
	return func() error { return os.WriteFile(file, before, 0o644) }, os.WriteFile(file, []byte(strconv.Itoa(mapsNeeded)), 0o644)
}

// fakeClockSpeed tells the kubelet of a guest how fast its clock is. It looks for that in /proc/cpuinfo and does not start without it (cadvisor does so); a kernel in user mode says there only on what machine it runs, with the machine's name. So that is the name it gets.
func fakeClockSpeed() error {
	if err := unix.Unshare(unix.CLONE_NEWUTS); err != nil {
		return fmt.Errorf("give the guest's machine a name of its own: %w", err)
	}
	return unix.Sethostname([]byte("clock: 1000.000"))
}

// stayOnOneProcessor keeps a guest, which has one processor, on one of this machine. At each system call its kernel and a process take
// turns. On two processors each turn wakes an idle one, and the guest takes two to three times as long.
func stayOnOneProcessor() error {
	var allowed, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return fmt.Errorf("ask which processors the guest may have: %w", err)
	}
	for cpu := range len(allowed) * bits.UintSize {
		if allowed.IsSet(cpu) {
			one.Zero()
			one.Set(cpu)
		}
	}
	return unix.SchedSetaffinity(0, &one)
}

// userMode are the arguments of a kernel that is a program of this machine (user-mode-linux). What the guest says is on its second serial line,
// which is our standard output.
func (m machine) userMode() []string {
	args := []string{
		fmt.Sprintf("mem=%dM", m.memory), "uml_dir=" + m.scratch,
		// What is written goes to a file that ends with the machine.
		"ubd0=" + filepath.Join(m.scratch, "written") + "," + m.disk.image(), "root=/dev/ubda", "rw",
		"con=null", "con0=null,fd:2", "ssl=null", "ssl1=null,fd:1",
		"quiet", "systemd.show_status=1", "lockstep.task=" + m.task,
	}
	if m.network {
		args = append(args, "eth0=slirp,,"+slirp)
	}
	return args
}
