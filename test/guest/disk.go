package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// diskFormat is the version of how a disk is made; raise it when equal packages come to give another disk.
	diskFormat = "2"
	// diskSize is what the guest sees; the file is as large as what is on it.
	diskSize = "48G"
)

// disk is a finished disk of a machine, with the kernel that starts from it.
type disk struct{ folder string }

func (d disk) image() string  { return filepath.Join(d.folder, "disk.ext4") }
func (d disk) kernel() string { return filepath.Join(d.folder, "kernel") }
func (d disk) initrd() string { return filepath.Join(d.folder, "initrd") }

// diskKey names a disk by what it is made of, besides what the archive of Debian holds at the time.
func diskKey(suite string, packages []string, files fs.FS) (string, error) {
	sum := sha256.New()
	_, _ = fmt.Fprintln(sum, diskFormat, diskSize, suite, packages)
	for _, f := range furniture {
		content, err := fs.ReadFile(files, f.source)
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(sum, "%s %o %s\n", f.target, f.mode, content)
	}
	return fmt.Sprintf("%s-%x", suite, sum.Sum(nil)[:8]), nil
}

// furniture are our own files on the disk.
var furniture = []struct {
	source, target string
	mode           fs.FileMode
}{
	{"inside/lockstep-task.service", "etc/systemd/system/lockstep-task.service", 0o644},
	{"inside/lockstep-task", "usr/local/sbin/lockstep-task", 0o755},
}

// ensureDisk returns the disk of a task, and makes it where the cache lacks it. images is the program that installs packages.
func ensureDisk(ctx context.Context, cache, suite, images string, k kernel, t task, out io.Writer) (disk, error) {
	packages := slices.Sorted(slices.Values(slices.Concat(basePackages, []string{k.name}, t.packages)))
	key, err := diskKey(suite, packages, inside)
	if err != nil {
		return disk{}, err
	}
	guests := filepath.Join(cache, "guests")
	d := disk{filepath.Join(guests, key)}
	unlock, err := lock(guests)
	if err != nil {
		return disk{}, err
	}
	defer unlock()
	if _, err := os.Stat(d.folder); err == nil {
		return d, nil
	}
	_, _ = fmt.Fprintf(out, "making the disk of a Debian %s once, which takes some minutes: %s\n", suite, strings.Join(packages, " "))
	return d, makeDisk(ctx, d, suite, images, k, packages, out)
}

// lock keeps two programs from making one disk, and gives the second what the first has made.
func lock(folder string) (unlock func(), err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(folder, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { _ = file.Close() }, nil
}

// makeDisk works in a temporary folder, so that a disk is there completely or not at all.
func makeDisk(ctx context.Context, d disk, suite, images string, k kernel, packages []string, out io.Writer) (err error) {
	temp, err := os.MkdirTemp(filepath.Dir(d.folder), ".tmp-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	root, fresh := filepath.Join(temp, "root"), disk{filepath.Join(temp, "disk")}
	if err := os.Mkdir(fresh.folder, 0o755); err != nil {
		return err
	}
	install := append([]string{"root-files", "--suite", suite, root}, packages...)
	if err := call(ctx, out, images, install...); err != nil {
		return err
	}
	if err := furnish(root); err != nil {
		return err
	}
	if err := k.take(root, fresh); err != nil {
		return err
	}
	if err := call(ctx, out, "mke2fs", "-q", "-t", "ext4", "-d", root, fresh.image(), diskSize); err != nil {
		return err
	}
	return os.Rename(fresh.folder, d.folder)
}

// furnish adds what starts the task, and what a machine has that an installer would ask for.
func furnish(root string) error {
	for _, f := range furniture {
		content, err := fs.ReadFile(inside, f.source)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(root, f.target), content, f.mode); err != nil {
			return fmt.Errorf("furnish the guest: %w", err)
		}
	}
	wants := filepath.Join(root, "etc/systemd/system/default.target.wants")
	return errors.Join(
		os.MkdirAll(wants, 0o755),
		os.Symlink("/etc/systemd/system/lockstep-task.service", filepath.Join(wants, "lockstep-task.service")),
		os.WriteFile(filepath.Join(root, "etc/hostname"), []byte("guest\n"), 0o644),
		os.WriteFile(filepath.Join(root, "etc/hosts"), []byte("127.0.0.1 localhost guest\n::1 localhost\n"), 0o644),
	)
}

// call runs a program that says what it does.
func call(ctx context.Context, out io.Writer, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) }
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(program), err)
	}
	return nil
}
