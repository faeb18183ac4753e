package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

type status struct {
	State       string
	AddonsReady bool
	Nodes       []struct {
		Name         string
		PID          int
		Alive, Ready bool
	}
}

func (c cluster) status(t *testing.T) (status, int) {
	t.Helper()
	stdout, _, code := c.run(t, "status", "-o", "json")
	var s status
	if err := json.Unmarshal([]byte(stdout), &s); err != nil {
		t.Fatalf("status is no JSON: %v\n%s", err, stdout)
	}
	return s, code
}

func TestLifecycle(t *testing.T) {
	c := newCluster(t)
	c.must(t, "down")
	before := look(t)

	c.must(t, "up", "--nodes", "2", "--wait")
	s, code := c.status(t)
	if code != 0 || s.State != "running" || !s.AddonsReady || len(s.Nodes) != 2 || !s.Nodes[1].Ready {
		t.Fatalf("after up --wait: exit code %d, %+v", code, s)
	}
	if _, stderr, code := c.run(t, "up"); code != 0 || !strings.Contains(stderr, "already running") {
		t.Errorf("up on a running cluster: exit code %d\n%s", code, stderr)
	}
	if _, stderr, code := c.run(t, "up", "--nodes", "3"); code != 1 || !strings.Contains(stderr, "2 nodes") {
		t.Errorf("up with another number of nodes: exit code %d\n%s", code, stderr)
	}
	if log := c.must(t, "logs", "kubelet", "--node", "1"); !strings.Contains(log, "node1") {
		t.Error("logs kubelet --node 1 does not show the kubelet of node1")
	}
	podsHaveProcessorsOfTheirNode(t)

	c.stopsAndStarts(t, "kube-router")

	c.must(t, "down")
	unchanged(t, before, "after down")
	if _, code := c.status(t); code != 1 {
		t.Errorf("status of a stopped cluster: exit code %d, want 1", code)
	}
	c.must(t, "down") // on nothing
}

// podsHaveProcessorsOfTheirNode holds where a machine has as many processors as nodes, and control groups of them.
func podsHaveProcessorsOfTheirNode(t *testing.T) {
	t.Helper()
	groups := glob("/sys/fs/cgroup/cpuset/lockstep/node*/kubepods/cpuset.cpus", "/sys/fs/cgroup/lockstep/node*/kubepods/cpuset.cpus.effective")
	if len(groups) == 0 || runtime.NumCPU() < 2 {
		t.Logf("pods of all nodes share the processors: %d groups of processors, %d processors", len(groups), runtime.NumCPU())
		return
	}
	lists := lines(t, "cat", groups...)
	if len(lists) != 2 || lists[0] == lists[1] {
		t.Errorf("the pods of two nodes have the processors %q, want others for each node", lists)
	}
}

// stopsAndStarts: a component that was stopped stays so for longer than its supervisor waits, on its node only.
func (c cluster) stopsAndStarts(t *testing.T, component string) {
	t.Helper()
	c.must(t, "stop", component, "--node", "1")
	if _, stderr, code := c.run(t, "restart", component, "--node", "1"); code != 1 || !strings.Contains(stderr, "cluster start "+component) {
		t.Errorf("restart of a stopped component: exit code %d\n%s", code, stderr)
	}
	time.Sleep(time.Second)
	problem := component + " on node1 does not run"
	if out, _, code := c.run(t, "status"); code != 1 || strings.Count(out, "does not run") != 1 || !strings.Contains(out, problem) {
		t.Errorf("status: exit code %d, want %q only\n%s", code, problem, out)
	}
	c.must(t, "start", component, "--node", "1")
	c.must(t, "start", component, "--node", "1") // one that runs is left alone
	if s, code := c.status(t); code != 0 {
		t.Errorf("after start: exit code %d, %+v", code, s)
	}
	c.must(t, "stop", component)
	c.must(t, "up")
	if s, code := c.status(t); code != 0 {
		t.Errorf("after up, which starts what is stopped: exit code %d, %+v", code, s)
	}
}

func TestKilledNodeIsSeenAndReplaced(t *testing.T) {
	c := newCluster(t)
	c.must(t, "down")
	before := look(t)
	c.must(t, "up")
	s, _ := c.status(t)
	if err := syscall.Kill(s.Nodes[1].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the death of node1 is seen", func() bool {
		s, code := c.status(t)
		return code == 1 && s.State == "broken" && !s.Nodes[1].Alive
	})
	c.must(t, "up")
	if s, code := c.status(t); code != 0 || !s.Nodes[1].Ready {
		t.Errorf("up did not replace the broken cluster: exit code %d, %+v", code, s)
	}
	s, _ = c.status(t)
	for _, n := range s.Nodes {
		if err := syscall.Kill(n.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	c.must(t, "down")
	unchanged(t, before, "after down of killed nodes")
}

// TestControllersThatOthersUseStay: systemd hands down what those who log in
// while the cluster runs need, and `down` must neither fail for it nor take it.
func TestControllersThatOthersUseStay(t *testing.T) {
	c := newCluster(t)
	const root, control = "/sys/fs/cgroup", "cgroup.subtree_control"
	c.must(t, "down")
	before := look(t)
	borrowed := "io"
	if _, err := os.Stat(filepath.Join(root, control)); err != nil || slices.Contains(before.HandedDown, borrowed) {
		t.Skipf("SKIPPED: this machine has no cgroup v2 whose root keeps %s for itself", borrowed)
	}
	c.must(t, "up")
	other := filepath.Join(root, "lockstep-e2e-other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(other) })
	if err := os.WriteFile(filepath.Join(other, control), []byte("+"+borrowed), 0o644); err != nil {
		t.Fatal(err)
	}
	c.must(t, "down")
	if now := handedDown(); !slices.Contains(now, borrowed) {
		t.Errorf("handed down after down: %v, want %s for the group that uses it", now, borrowed)
	}
	if err := errors.Join(os.Remove(other), os.WriteFile(filepath.Join(root, control), []byte("-"+borrowed), 0o644)); err != nil {
		t.Fatal(err)
	}
	unchanged(t, before, "after down beside a group that uses a controller")
}

// up starts `up` and sends a signal when it prints a line with a word, or
// after a delay.
func (c cluster) upAndSignal(t *testing.T, signal syscall.Signal, word string, delay time.Duration) (code int) {
	t.Helper()
	cmd := c.command("up", "--wait")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for word != "" && lines.Scan() && !strings.Contains(lines.Text(), word) {
		continue
	}
	time.Sleep(delay)
	_ = cmd.Process.Signal(signal)
	_, _ = io.Copy(io.Discard, stderr)
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode()
}

// moments of `up`: delays from its start, and words of its progress. Together
// they hit every step on machines of very different speed.
var moments = []struct {
	word  string
	delay time.Duration
}{
	{"", 100 * time.Millisecond},
	{"", 200 * time.Millisecond},
	{"", 300 * time.Millisecond},
	{"", 400 * time.Millisecond},
	{"", 600 * time.Millisecond},
	{"", time.Second},
	{"load 3 images", 0},
	{"control plane", 0},
	{"nodes get ready", 0},
	{"nodes get ready", time.Second},
}

func TestKilledUpLeavesNothingThatDownCannotRemove(t *testing.T) {
	c := newCluster(t)
	c.must(t, "down")
	before := look(t)
	for _, m := range moments {
		c.upAndSignal(t, syscall.SIGKILL, m.word, m.delay)
		c.must(t, "down")
		unchanged(t, before, "killed at "+m.word+" "+m.delay.String())
	}
}

func TestUpAfterKilledUp(t *testing.T) {
	c := newCluster(t)
	c.must(t, "down")
	before := look(t)
	for i, m := range moments {
		c.upAndSignal(t, syscall.SIGKILL, m.word, m.delay)
		if i%3 != 2 { // every third `up` finds the remains of several
			continue
		}
		c.must(t, "up")
		if s, code := c.status(t); code != 0 {
			t.Errorf("up after a kill at %q %s: exit code %d, %+v", m.word, m.delay, code, s)
		}
		c.must(t, "down")
	}
	c.must(t, "down")
	unchanged(t, before, "after several killed commands")
}

func TestInterruptedUpCleansUp(t *testing.T) {
	c := newCluster(t)
	c.must(t, "down")
	before := look(t)
	for _, word := range []string{"load 3 images", "nodes get ready"} {
		if code := c.upAndSignal(t, syscall.SIGINT, word, 0); code != 1 {
			t.Errorf("interrupted at %q: exit code %d, want 1", word, code)
		}
		unchanged(t, before, "interrupted at "+word)
	}
}

func TestTwoUpsDoNotMeet(t *testing.T) {
	c := newCluster(t)
	c.must(t, "down")
	first := c.command("up")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Wait() })
	eventually(t, "the first up holds the lock", func() bool {
		_, err := os.Stat("/run/lockstep-cluster.lock")
		return err == nil
	})
	if _, stderr, code := c.run(t, "down"); code != 1 || !strings.Contains(stderr, "another cluster command") {
		t.Errorf("down beside up: exit code %d\n%s", code, stderr)
	}
	if err := first.Wait(); err != nil {
		t.Errorf("the first up: %v", err)
	}
	c.must(t, "down")
}
