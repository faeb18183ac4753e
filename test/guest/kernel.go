package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// kernel is Debian's, for one way to run it.
type kernel struct {
	// name is that of the package.
	name string
	// files are those that start it, from where the package has them to where a disk has them.
	files func(d disk) map[string]string
	// modules is where the package has them, if that is not where programs look for them.
	modules string
}

var (
	// standardKernel is the usual one. Here its processors are emulated.
	standardKernel = kernel{
		name: "linux-image-amd64",
		files: func(d disk) map[string]string {
			return map[string]string{"boot/vmlinuz-*": d.kernel(), "boot/initrd.img-*": d.initrd()}
		},
	}
	// userKernel is a program: processes of the guest are processes here, stopped at each system call. It is as fast as this machine between two
	// calls, and has one processor, so no control group of processors (cpuset).
	userKernel = kernel{
		name:    "user-mode-linux",
		files:   func(d disk) map[string]string { return map[string]string{"usr/bin/linux.uml": d.kernel()} },
		modules: "usr/lib/uml/modules",
	}
)

// take copies what starts the kernel out of a root, and lets its modules be found there.
func (k kernel) take(root string, d disk) error {
	for pattern, target := range k.files(d) {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) != 1 {
			return fmt.Errorf("find the kernel of the guest: %d files are %s, want one", len(found), pattern)
		}
		content, err := os.ReadFile(found[0])
		if err != nil {
			return err
		}
		if err := os.WriteFile(target, content, 0o755); err != nil {
			return err
		}
	}
	if k.modules == "" {
		return nil
	}
	usual := filepath.Join(root, "usr/lib/modules")
	if err := os.Remove(usual); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("let the guest find its modules: %w", err)
	}
	return os.Symlink("/"+k.modules, usual)
}
