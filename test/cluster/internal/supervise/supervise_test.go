package supervise

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
	r := run{Supervisor: &Supervisor{Logs: dir, StatusFile: filepath.Join(dir, "status.json"), Env: os.Environ()}, cancel: cancel, done: make(chan struct{})}
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

func TestBackoffGrowsAndIsForgiven(t *testing.T) {
	if a, b := backoff(0, 0), backoff(0, 4); a >= b || b > 5*time.Second {
		t.Errorf("backoff does not grow within limits: %s, %s", a, b)
	}
	if backoff(time.Minute, 9) != backoff(0, 0) {
		t.Error("a component that ran well for long is still punished")
	}
}
