package main

import (
	"crypto/elliptic"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
	"lockstep.dev/lockstep/pkg/mpi/agent/proc"
)

// The bare launch of many commands side by side, one on each of many nodes, all on this machine:
//
//	go test ./cmd/mpi-agent -run XXX -bench Width -benchtime 10x
//
// OpenSSH needs its server in /usr/sbin and the rights to start it; without them it is skipped. CPU seconds are those of
// both sides together; on a machine with few cores they decide.

var widths = []int{4, 16, 64}

func BenchmarkWidthAgent(b *testing.B) {
	bin := buildAgent(b)
	for _, n := range widths {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			addresses, port := agenttest.FreeAddresses(b, n)
			dir := b.TempDir()
			writeKey(b, filepath.Join(dir, "id_rsa"))
			environment := append(os.Environ(), "LOCKSTEP_KEY_DIR="+dir, "LOCKSTEP_STATE_DIR="+dir, "LOCKSTEP_PORT="+strconv.Itoa(port))
			measureWidth(b, addresses, port,
				func(address string) *exec.Cmd {
					return prepared(environment, filepath.Join(bin, "mpi-agent"), "serve", "--listen", address)
				},
				func(address string) *exec.Cmd {
					return prepared(environment, filepath.Join(bin, "rsh"), address, "true")
				})
		})
	}
}

func BenchmarkWidthOpenSSH(b *testing.B) {
	const sshd = "/usr/sbin/sshd"
	if _, err := os.Stat(sshd); err != nil || os.Getuid() != 0 {
		b.Skip("needs root and OpenSSH's server")
	}
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // privilege separation
		b.Fatal(err)
	}
	for _, n := range widths {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			addresses, port := agenttest.FreeAddresses(b, n)
			key := filepath.Join(b.TempDir(), "id_ecdsa")
			if out, err := exec.Command("ssh-keygen", "-q", "-t", "ecdsa", "-b", "256", "-N", "", "-f", key).CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
			measureWidth(b, addresses, port,
				func(address string) *exec.Cmd {
					return prepared(os.Environ(), sshd, "-D", "-e", "-f", "/dev/null", "-h", key, "-p", strconv.Itoa(port),
						"-o", "ListenAddress="+address, "-o", "AuthorizedKeysFile="+key+".pub", "-o", "PidFile=none", "-o", "MaxStartups=1000",
						"-o", "StrictModes=no", "-o", "UsePAM=no", "-o", "UseDNS=no", "-o", "PermitRootLogin=yes")
				},
				func(address string) *exec.Cmd {
					return prepared(os.Environ(), "ssh", "-F", "/dev/null", "-i", key, "-p", strconv.Itoa(port), "-o", "StrictHostKeyChecking=no",
						"-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "-o", "IdentitiesOnly=yes", address, "true")
				})
		})
	}
}

func prepared(environment []string, argv ...string) *exec.Cmd {
	c := exec.Command(argv[0], argv[1:]...)
	c.Env = environment
	return c
}

// buildAgent builds the agent as a release is built: the test binary is larger and starts more slowly.
func buildAgent(b *testing.B) string {
	b.Helper()
	bin := b.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(bin, "mpi-agent"), ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	if err := os.Symlink("mpi-agent", filepath.Join(bin, "rsh")); err != nil {
		b.Fatal(err)
	}
	return bin
}

func writeKey(b *testing.B, path string) {
	b.Helper()
	if err := os.WriteFile(path, agenttest.NewKeyPEM(b, elliptic.P256()), 0o600); err != nil {
		b.Fatal(err)
	}
}

// measureWidth starts a server at every address and runs one client for each, all at once.
func measureWidth(b *testing.B, addresses []string, port int, server, client func(address string) *exec.Cmd) {
	b.Helper()
	var servers []int
	for _, address := range addresses {
		s := server(address)
		if err := s.Start(); err != nil {
			b.Fatal(err)
		}
		servers = append(servers, s.Process.Pid)
		b.Cleanup(func() { _ = s.Process.Kill(); _ = s.Wait() })
	}
	for _, address := range addresses {
		awaitClient(b, client(address), address, port)
	}
	before := cpuOf(servers) + cpuOfChildren(b)
	for b.Loop() {
		launchAll(b, addresses, client)
	}
	b.StopTimer()
	after := cpuOf(servers) + cpuOfChildren(b)
	b.ReportMetric((after-before).Seconds()/float64(b.N), "cpu-s/op")
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/op")
	b.ReportMetric(0, "ns/op")
}

// awaitClient runs a client until its server listens.
func awaitClient(b *testing.B, first *exec.Cmd, address string, port int) {
	b.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		again := *first
		out, err := again.CombinedOutput()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("%s, port %d: %v: %s", address, port, err, out)
		}
	}
}

func launchAll(b *testing.B, addresses []string, client func(string) *exec.Cmd) {
	var group sync.WaitGroup
	for _, address := range addresses {
		group.Go(func() {
			if out, err := client(address).CombinedOutput(); err != nil {
				b.Errorf("%s: %v: %s", address, err, strings.TrimSpace(string(out)))
			}
		})
	}
	group.Wait()
}

// cpuOf is the CPU time of processes and of their children that have ended.
func cpuOf(pids []int) (sum time.Duration) {
	wanted := map[int]bool{}
	for _, pid := range pids {
		wanted[pid] = true
	}
	for _, p := range proc.Descendants(os.DirFS("/proc"), os.Getpid()) {
		if wanted[p.PID] {
			sum += p.CPU
		}
	}
	return sum
}

// cpuOfChildren is the CPU time of our children that have ended: the clients.
func cpuOfChildren(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &usage); err != nil {
		b.Fatal(fmt.Errorf("ask for CPU time: %w", err))
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
