package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/test/cluster/internal/sysctl"
	"lockstep.dev/lockstep/test/cluster/internal/timescale"
)

// cluster runs the command under test with a state folder of its own.
type cluster struct {
	binary string
	state  string
}

func newCluster(t *testing.T) cluster {
	t.Helper()
	if os.Getenv("LOCKSTEP_CLUSTER_E2E") != "1" || os.Geteuid() != 0 {
		t.Skip("SKIPPED: THE CLUSTER SUITE DID NOT RUN. It needs root and LOCKSTEP_CLUSTER_E2E=1, and starts real clusters on this machine.")
	}
	// Nodes cover /var with their own: the state must be visible all the same.
	dir, err := os.MkdirTemp("/var/tmp", "lockstep-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	c := cluster{binary: filepath.Join(t.TempDir(), "cluster"), state: dir}
	if out, err := exec.Command("go", "build", "-o", c.binary, "..").CombinedOutput(); err != nil {
		t.Fatalf("build the command: %v\n%s", err, out)
	}
	// Building takes minutes on a new machine; it shall not blur the tests.
	c.must(t, "build")
	t.Cleanup(func() { _ = c.command("down").Run() })
	return c
}

func (c cluster) command(args ...string) *exec.Cmd {
	cmd := exec.Command(c.binary, args...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+c.state)
	return cmd
}

// run returns what the command printed and its exit code.
func (c cluster) run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := c.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	start := time.Now()
	err := cmd.Run()
	t.Logf("cluster %s: %.1f s", strings.Join(args, " "), time.Since(start).Seconds())
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func (c cluster) must(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, code := c.run(t, args...)
	if code != 0 {
		t.Fatalf("cluster %s: exit code %d\n%s", strings.Join(args, " "), code, stderr)
	}
	return stdout
}

// kubectl comes from the cluster's own folder, as `env` says.
func (c cluster) kubectl(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("sh", append([]string{"-c", `eval "$("$0" env)" && exec kubectl "$@"`, c.binary}, args...)...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+c.state)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (c cluster) mustKubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, err := c.kubectl(t, stdin, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// eventually polls with a limit that only matters when the test fails.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	start := time.Now()
	for !ok() {
		if time.Since(start) > timescale.Of(time.Minute) {
			t.Fatalf("never happened: %s", what)
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Logf("%s after %.1f s", what, time.Since(start).Seconds())
}

// machine is everything outside the caches that a cluster could leave behind.
type machine struct {
	Links, Routes, Rules, Mounts, Groups, HandedDown, Sysctls, Namespaces, Programs, Files []string
}

func look(t *testing.T) machine {
	t.Helper()
	return machine{
		Links:      lines(t, "ip", "-o", "link", "show"),
		Routes:     lines(t, "ip", "route", "show", "table", "all"),
		Rules:      lines(t, "sh", "-c", "iptables-save | grep -v '^#' || true"),
		Mounts:     mounts(t),
		Groups:     glob("/sys/fs/cgroup/lockstep", "/sys/fs/cgroup/*/lockstep"),
		HandedDown: handedDown(),
		Sysctls:    sysctls(),
		Namespaces: links("/proc/[0-9]*/ns/net", "net:"),
		Programs:   programs(),
		Files: glob("/run/*", "/opt/*", "/etc/cni", "/etc/nri", "/etc/containerd", "/etc/kubernetes", "/usr/libexec/kubernetes",
			"/var/lib/kubelet", "/var/lib/cni", "/var/lib/etcd", "/var/log/pods", "/var/log/containers"),
	}
}

func lines(t *testing.T, name string, args ...string) []string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

func mounts(t *testing.T) []string {
	t.Helper()
	content, err := os.ReadFile("/proc/mounts")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(content)), "\n")
}

func glob(patterns ...string) []string {
	var found []string
	for _, p := range patterns {
		paths, _ := filepath.Glob(p)
		found = append(found, paths...)
	}
	return found
}

// handedDown are the controllers that the root of cgroup v2 leaves to its
// children; of version 1 there is no such file.
func handedDown() []string {
	content, _ := os.ReadFile("/sys/fs/cgroup/cgroup.subtree_control")
	return strings.Fields(string(content))
}

func links(pattern, containing string) []string {
	var found []string
	for _, path := range glob(pattern) {
		if target, err := os.Readlink(path); err == nil && strings.Contains(target, containing) {
			found = append(found, target)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// programs are those that run in a network namespace of their own: others may
// use the programs in the cache on the machine itself.
func programs() []string {
	own, _ := os.Readlink("/proc/self/ns/net")
	var found []string
	for _, path := range glob("/proc/[0-9]*") {
		space, err := os.Readlink(filepath.Join(path, "ns", "net"))
		exe, exeErr := os.Readlink(filepath.Join(path, "exe"))
		if err == nil && exeErr == nil && space != own {
			found = append(found, exe)
		}
	}
	slices.Sort(found)
	return found
}

func sysctls() []string {
	var values []string
	for _, name := range append([]string{"net/ipv4/ip_forward", "net/bridge/bridge-nf-call-iptables"}, sysctl.Machine...) {
		content, err := os.ReadFile(filepath.Join("/proc/sys", name))
		values = append(values, fmt.Sprint(name, " ", strings.TrimSpace(string(content)), err != nil))
	}
	return values
}

// unchanged fails when the machine differs from an earlier look. The kernel
// takes network namespaces apart a moment after their last process ended.
func unchanged(t *testing.T, before machine, when string) {
	t.Helper()
	var diff string
	for range 40 {
		if diff = cmp.Diff(before, look(t)); diff == "" {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("%s: the machine is not as before (-before +after)\n%s", when, diff)
}
