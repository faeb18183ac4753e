package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestFoldersAreSharedForReadingOnly(t *testing.T) {
	m := machine{task: "/tmp/task", shares: []share{{"checkout", "/home/a,b"}}}
	count := 0
	args := m.emulated()
	for i, arg := range args {
		if arg != "-virtfs" {
			continue
		}
		count++
		if !strings.Contains(args[i+1], ",readonly=on") {
			t.Errorf("the guest could write: %s", args[i+1])
		}
	}
	if count != 2 {
		t.Errorf("%d folders are shared, want the task and the checkout", count)
	}
	if !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "local,path=/home/a,,b,mount_tag=checkout,") }) {
		t.Errorf("a comma in a path begins another option: %q", args)
	}
}

func TestTheDiskIsNeverWritten(t *testing.T) {
	args := strings.Join(machine{disk: disk{"/cache/disk"}}.emulated(), " ")
	if !strings.Contains(args, "file=/cache/disk/disk.ext4,format=raw,if=virtio,snapshot=on") {
		t.Errorf("the disk in the cache would change: %s", args)
	}
}

func TestTheDiskIsNotWrittenInUserModeEither(t *testing.T) {
	args := machine{disk: disk{"/cache/disk"}, scratch: "/tmp/machine"}.userMode()
	if !slices.Contains(args, "ubd0=/tmp/machine/written,/cache/disk/disk.ext4") {
		t.Errorf("the disk in the cache would change: %q", args)
	}
}

func TestAKernelComesWithItsModules(t *testing.T) {
	root, d := t.TempDir(), disk{t.TempDir()}
	for _, folder := range []string{"usr/bin", "usr/lib/modules", userKernel.modules} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := userKernel.take(root, d); err == nil || !strings.Contains(err.Error(), "0 files are usr/bin/linux.uml") {
		t.Errorf("a root without a kernel: got %v", err)
	}
	if err := os.WriteFile(filepath.Join(root, "usr/bin/linux.uml"), []byte("kernel"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := userKernel.take(root, d); err != nil {
		t.Fatal(err)
	}
	if link, err := os.Readlink(filepath.Join(root, "usr/lib/modules")); err != nil || link != "/usr/lib/uml/modules" {
		t.Errorf("its modules would not be found: %q, %v", link, err)
	}
	if content, err := os.ReadFile(d.kernel()); err != nil || string(content) != "kernel" {
		t.Errorf("the disk has %q as its kernel, %v", content, err)
	}
}

func TestProcessorsAreThoseOfAnEmulatedGuest(t *testing.T) {
	if _, err := parseOptions([]string{"-processors", "4"}); err == nil || !strings.Contains(err.Error(), "-emulate") {
		t.Errorf("got %v", err)
	}
	if o, err := parseOptions([]string{"-emulate"}); err != nil || o.processors != 2 {
		t.Errorf("got %d, %v", o.processors, err)
	}
}

func TestAGuestStaysOnOneProcessor(t *testing.T) {
	done := make(chan error)
	go func() {
		// The thread ends with this function, and is the only one that is kept to a processor.
		runtime.LockOSThread()
		if err := stayOnOneProcessor(); err != nil {
			done <- err
			return
		}
		out, err := exec.Command("nproc").Output()
		if string(out) != "1\n" {
			err = errors.Join(err, fmt.Errorf("a program that was started has %q processors, want one", out))
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestALimitOfTheMachineIsRestored(t *testing.T) {
	for before, during := range map[string]string{"65530\n": "1048576", "2147483642\n": "2147483642\n"} {
		file := filepath.Join(t.TempDir(), "max_map_count")
		if err := os.WriteFile(file, []byte(before), 0o644); err != nil {
			t.Fatal(err)
		}
		restore, err := raiseMaxMapCount(file, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(file); string(got) != during {
			t.Errorf("before %q: during the run it is %q, want %q", before, got, during)
		}
		if err := restore(); err != nil {
			t.Error(err)
		}
		if got, _ := os.ReadFile(file); string(got) != before {
			t.Errorf("before %q: after the run it is %q", before, got)
		}
	}
}

func TestAFreshMachineHasNoProgramsFromHere(t *testing.T) {
	h := host{root: "/checkout", cache: "/programs", golang: map[string]string{"GOROOT": "/go", "GOMODCACHE": "/modules", "GOCACHE": "/builds"}}
	for compiled, want := range map[bool][]string{false: {"/checkout", "/go"}, true: {"/checkout", "/go", "/modules", "/builds"}} {
		var got []string
		for _, s := range h.shares(tasks["fresh"], compiled) {
			got = append(got, s.path)
		}
		if !slices.Equal(got, want) {
			t.Errorf("compiled %t: a fresh machine has %v from here, want %v", compiled, got, want)
		}
	}
}

func TestOnlyWhoAsksHasANetwork(t *testing.T) {
	for _, network := range []bool{true, false} {
		args := strings.Join(machine{network: network}.emulated(), " ")
		if strings.Contains(args, "-nic user") != network || strings.Contains(args, "-nic none") == network {
			t.Errorf("network %t: %s", network, args)
		}
		if args := strings.Join(machine{network: network}.userMode(), " "); strings.Contains(args, "eth0=") != network {
			t.Errorf("in user mode, network %t: %s", network, args)
		}
	}
}

func TestNoHelpOfTheHardware(t *testing.T) {
	if args := strings.Join(machine{}.emulated(), " "); !strings.Contains(args, "-accel tcg,thread=multi") || strings.Contains(args, "kvm") {
		t.Error(args)
	}
}

func TestEveryTaskHasItsScript(t *testing.T) {
	for name := range tasks {
		if _, err := inside.ReadFile("inside/" + name); err != nil {
			t.Error(err)
		}
	}
}

func TestADiskIsKnownByWhatIsOnIt(t *testing.T) {
	files := fstest.MapFS{}
	for _, f := range furniture {
		files[f.source] = &fstest.MapFile{Data: []byte("old")}
	}
	key := func(suite string, packages ...string) string {
		t.Helper()
		k, err := diskKey(suite, packages, files)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	first := key("bookworm", "apt", "git")
	if key("bookworm", "apt", "git") != first {
		t.Error("the same disk has two names")
	}
	files[furniture[0].source] = &fstest.MapFile{Data: []byte("new")}
	for reason, other := range map[string]string{
		"another file": key("bookworm", "apt", "git"), "another release": key("trixie", "apt", "git"), "another package": key("bookworm", "apt"),
	} {
		if other == first {
			t.Errorf("%s gives the same disk", reason)
		}
	}
}

func TestEnvironmentIsQuoted(t *testing.T) {
	got := environmentFile([][2]string{{"A", "it's $HOME"}})
	if want := `export A='it'\''s $HOME'` + "\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMissingPackages(t *testing.T) {
	nothing := func(string) bool { return false }
	for _, c := range []struct {
		network, emulate bool
		want             []string
	}{
		{false, false, []string{"e2fsprogs"}}, // a kernel in user mode comes with the disk
		{true, false, []string{"e2fsprogs", "slirp"}},
		{true, true, []string{"e2fsprogs", "qemu-system-x86"}},
	} {
		if got := missingPackages(task{network: c.network}, c.emulate, nothing); !slices.Equal(got, c.want) {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}
