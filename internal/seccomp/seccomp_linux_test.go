//go:build amd64 || arm64

package seccomp_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lockstep.dev/lockstep/internal/seccomp"
)

// TestConfine: a process that has confined itself opens no file and no socket and starts no program, in none of its threads, and
// computes on.
func TestConfine(t *testing.T) {
	if os.Getenv("CONFINED") != "" {
		confined()
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	cmd := exec.Command(os.Args[0], "-test.run=^TestConfine$", "-test.count=1")
	cmd.Env = append(os.Environ(), "CONFINED="+listener.Addr().String())
	output, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "confined") {
		t.Errorf("%v\n%s", err, output)
	}
}

// confined is the other process.
func confined() {
	address := os.Getenv("CONFINED")
	if err := seccomp.Confine(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	tries := map[string]func() error{
		"read":    func() error { _, err := os.ReadFile("/etc/hostname"); return err },
		"write":   func() error { return os.WriteFile("here", nil, 0o600) },
		"remove":  func() error { return syscall.Unlink("here") },
		"connect": func() error { _, err := net.Dial("tcp", address); return err },
		"listen":  func() error { _, err := net.Listen("tcp", "127.0.0.1:0"); return err },
		"execute": func() error { return syscall.Exec("/bin/true", []string{"true"}, nil) },
		// Those that a list of what is refused forgets.
		"fork":    func() error { return call(unix.SYS_CLONE, uintptr(unix.SIGCHLD)) },
		"signal":  func() error { return unix.Kill(os.Getppid(), 0) },
		"memfd":   func() error { _, err := unix.MemfdCreate("x", 0); return err },
		"inotify": func() error { _, err := unix.InotifyInit1(0); return err },
		"chdir":   func() error { return unix.Chdir("/") },
		"times":   func() error { return unix.UtimesNanoAt(unix.AT_FDCWD, "here", nil, 0) },
		"limits":  func() error { return unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &unix.Rlimit{}) },
		"queue":   func() error { return call(unix.SYS_MQ_OPEN, 0) },
		"unknown": func() error { return call(4095) },
	}
	var group sync.WaitGroup
	for range 16 {
		for what, try := range tries {
			group.Go(func() {
				if err := try(); !errors.Is(err, syscall.EPERM) {
					fmt.Println(what, err)
					os.Exit(1)
				}
			})
		}
	}
	group.Wait()
	compute()
	fmt.Println("confined")
	os.Exit(0)
}

func call(number uintptr, args ...uintptr) error {
	args = append(args, 0, 0, 0)
	if _, _, errno := unix.Syscall(number, args[0], args[1], args[2]); errno != 0 {
		return errno
	}
	return nil
}

// compute does what the runtime needs the kernel for: new threads, which a locked one takes, memory that it gets and gives back, waiting,
// chance, signals between threads, and the maps that it keeps of its own.
func compute() {
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			runtime.LockOSThread()
			time.Sleep(time.Millisecond)
			var data [1 << 20]byte
			_, _ = rand.Read(data[:64])
			for range 20 {
				for i := range data {
					data[i]++
				}
			}
		})
	}
	group.Wait()
	debug.FreeOSMemory()
}
