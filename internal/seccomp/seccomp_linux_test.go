//go:build amd64 || arm64

package seccomp_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

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
	fmt.Println("confined")
	os.Exit(0)
}
