package supervise

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lockstep.dev/lockstep/test/cluster/internal/state"
)

// eventually polls; the long limit only matters when the test fails.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

type run struct {
	*Supervisor
	cancel context.CancelFunc
	done   chan struct{}
}

func supervised(t *testing.T, components ...Component) run {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	r := run{Supervisor: &Supervisor{Logs: dir, Stopped: filepath.Join(dir, "stopped"), StatusFile: filepath.Join(dir, "status.json"), Env: os.Environ()}, cancel: cancel, done: make(chan struct{})}
	go func() { r.Run(ctx, components, 5*time.Second); close(r.done) }()
	t.Cleanup(func() { cancel(); <-r.done })
	return r
}

func (r run) status(t *testing.T, name string) Status {
	t.Helper()
	var all []Status
	content, err := os.ReadFile(r.StatusFile)
	if err != nil {
		return Status{}
	}
	if err := json.Unmarshal(content, &all); err != nil {
		t.Fatalf("the status file was caught half-written: %v", err)
	}
	for _, s := range all {
		if s.Name == name {
			return s
		}
	}
	return Status{}
}

func TestStartsAgainAndLogs(t *testing.T) {
	r := supervised(t, Component{Name: "c", Args: []string{"/bin/sh", "-c", "echo hello; exit 3"}})
	eventually(t, "a second start", func() bool { return r.status(t, "c").Starts >= 2 })
	content, err := os.ReadFile(filepath.Join(r.Logs, "c.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"hello", "ended with exit code 3"} {
		if !strings.Contains(string(content), part) {
			t.Errorf("the log does not say %q:\n%s", part, content)
		}
	}
}

func TestAProgramThatIsMissingIsNamed(t *testing.T) {
	r := supervised(t, Component{Name: "c", Args: []string{"/not/there"}})
	eventually(t, "an explanation", func() bool { return strings.Contains(r.status(t, "c").LastExit, "/not/there") })
}

func TestWaitsForWhatItNeeds(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	r := supervised(t,
		Component{Name: "late", Args: []string{"/bin/sleep", "60"}, Wait: []string{"unix:" + socket}},
		Component{Name: "early", Args: []string{"/bin/sleep", "60"}})
	eventually(t, "the other component", func() bool { return r.status(t, "early").Starts == 1 })
	if got := r.status(t, "late").Starts; got != 0 {
		t.Fatalf("started %d times before its socket was there", got)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	eventually(t, "the start", func() bool { return r.status(t, "late").Starts == 1 })
}

func TestEndsItsComponents(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "ended")
	r := supervised(t, Component{Name: "c", Args: []string{"/bin/sh", "-c", "trap 'touch " + mark + "; exit 0' TERM; touch " + mark + ".ready; while :; do sleep 0.05; done"}})
	eventually(t, "the trap", func() bool { _, err := os.Stat(mark + ".ready"); return err == nil })
	r.cancel()
	<-r.done
	if _, err := os.Stat(mark); err != nil {
		t.Errorf("the component was not asked to end: %v", err)
	}
}

func TestStaysStoppedUntilItMayStart(t *testing.T) {
	r := supervised(t, Component{Name: "c", Args: []string{"/bin/sleep", "60"}}, Component{Name: "other", Args: []string{"/bin/sh", "-c", "exit 0"}})
	eventually(t, "the start", func() bool { return r.status(t, "c").PID != 0 })
	file := filepath.Join(r.Stopped, "c")
	if err := state.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(r.status(t, "c").PID, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end", func() bool { return r.status(t, "c").PID == 0 })
	restarts := r.status(t, "other").Starts + 4
	eventually(t, "restarts of another component", func() bool { return r.status(t, "other").Starts >= restarts })
	if got := r.status(t, "c"); got.PID != 0 || got.Starts != 1 {
		t.Fatalf("a stopped component was started again: %+v", got)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second start", func() bool { return r.status(t, "c").PID != 0 && r.status(t, "c").Starts == 2 })
}

// niceOf reads the field of proc(5) /proc/pid/stat of a command that waits.
func niceOf(t *testing.T, pid int) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(content), ") ")
	return strings.Fields(after)[16]
}

func TestPriorityIsOfOneComponentOnly(t *testing.T) {
	if unix.Geteuid() != 0 {
		t.Skip("only root may raise a priority")
	}
	r := supervised(t,
		Component{Name: "daemon", Args: []string{"/bin/sh", "-c", "sleep 60"}, Nice: -10},
		Component{Name: "plain", Args: []string{"/bin/sleep", "60"}})
	eventually(t, "both starts", func() bool { return r.status(t, "daemon").PID != 0 && r.status(t, "plain").PID != 0 })
	if got := niceOf(t, r.status(t, "daemon").PID); got != "-10" {
		t.Errorf("the component runs at %s, want -10", got)
	}
	if got := niceOf(t, r.status(t, "plain").PID); got != "0" {
		t.Errorf("another component runs at %s, want 0", got)
	}
}

func TestGoesOnWithoutPriority(t *testing.T) {
	done := make(chan bool)
	go func() {
		// Never unlocked: the thread that lost a right ends with the goroutine.
		runtime.LockOSThread()
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		forked := false
		if err := unix.Capset(&header, &none[0]); err == nil {
			withNice(-10, func() { nice, _ := unix.Getpriority(unix.PRIO_PROCESS, 0); forked = nice == 20 })
		}
		done <- forked
	}()
	if !<-done {
		t.Error("without the right to raise its priority a component is not started")
	}
}

func TestBackoffGrowsAndIsForgiven(t *testing.T) {
	if a, b := backoff(0, 0), backoff(0, 4); a >= b || b > 5*time.Second {
		t.Errorf("backoff does not grow within limits: %s, %s", a, b)
	}
	if backoff(time.Minute, 9) != backoff(0, 0) {
		t.Error("a component that ran well for long is still punished")
	}
}
