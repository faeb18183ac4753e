// Package supervise runs the components of a node and starts them again when
// they end, unless they were stopped on purpose. It is made for the first process of a pid namespace, which also
// has to reap the orphans of everything below it.
//
// Invariant: only the reaper calls wait4, so that no exit status is lost to
// another waiter.
package supervise

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"lockstep.dev/lockstep/test/cluster/internal/state"
	"lockstep.dev/lockstep/test/cluster/internal/timescale"
)

// Component is one program that shall always run.
type Component struct {
	Name string   `json:"name"`
	Args []string `json:"args"`
	// Wait lists what must answer before the component starts the first time:
	// "unix:<path>" and "tcp:<address>" accept connections,
	// "ready:<address>" answers /readyz with 200 over TLS, "file:<path>" exists,
	// "gone:<path>" does not.
	Wait []string `json:"wait,omitempty"`
	// Nice is its scheduling priority and that of all that it starts, as in
	// nice(1): below 0 it goes before others. It is 0 where this process may
	// not give that.
	Nice int `json:"nice,omitempty"`
}

// Status is what is known about a component.
type Status struct {
	Name string `json:"name"`
	// PID inside the node; 0 while it does not run.
	PID int `json:"pid"`
	// Starts counts how often it was started.
	Starts int `json:"starts"`
	// LastExit says how it ended last time.
	LastExit string `json:"lastExit,omitempty"`
}

// Supervisor runs components.
type Supervisor struct {
	// Logs is the folder for one log file per component.
	Logs string
	// Stopped is a folder; a component whose name is there is not started
	// again. Who wants it to end makes the file, then ends the process.
	Stopped string
	// StatusFile gets the status of all components whenever it changes.
	StatusFile string
	Env        []string

	mu       sync.Mutex
	exits    map[int]chan unix.WaitStatus
	statuses []Status
	work     sync.WaitGroup
}

// Run supervises until the context ends; then it asks every component to end,
// and returns when all did or after the grace.
func (s *Supervisor) Run(ctx context.Context, components []Component, grace time.Duration) {
	s.exits = map[int]chan unix.WaitStatus{}
	for _, c := range components {
		s.statuses = append(s.statuses, Status{Name: c.Name})
	}
	s.report()
	reaping, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	go s.reap(reaping)
	for i := range components {
		s.work.Go(func() { s.keep(ctx, i, components[i]) })
	}
	<-ctx.Done()
	s.shutdown(grace)
}

func (s *Supervisor) shutdown(grace time.Duration) {
	s.mu.Lock()
	for _, status := range s.statuses {
		if status.PID > 0 {
			_ = unix.Kill(status.PID, unix.SIGTERM)
		}
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() { s.work.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(grace):
	}
}

// backoff says how long to wait before a component starts again: at first
// next to nothing, because a component may only have come before the one that
// it needs, and more when it keeps ending at once.
func backoff(ran time.Duration, quick int) time.Duration {
	if ran > 10*time.Second {
		return 100 * time.Millisecond
	}
	return min(100*time.Millisecond<<min(quick, 6), 5*time.Second)
}

func (s *Supervisor) keep(ctx context.Context, i int, c Component) {
	log, err := os.OpenFile(filepath.Join(s.Logs, c.Name+".log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		s.set(i, func(st *Status) { st.LastExit = err.Error() })
		return
	}
	defer func() { _ = log.Close() }()
	for _, condition := range c.Wait {
		waitFor(ctx, condition)
	}
	for quick := 0; ctx.Err() == nil; quick++ {
		started := time.Now()
		how := s.once(i, c, log)
		ran := time.Since(started)
		if ran > 10*time.Second {
			quick = 0
		}
		_, _ = fmt.Fprintf(log, "--- %s %s after %s\n", c.Name, how, ran.Round(time.Millisecond))
		s.set(i, func(st *Status) { st.PID, st.LastExit = 0, how })
		select {
		case <-ctx.Done():
		case <-time.After(backoff(ran, quick)):
		}
		waitFor(ctx, "gone:"+filepath.Join(s.Stopped, c.Name))
	}
}

// once runs the component to its end and says how it ended.
func (s *Supervisor) once(i int, c Component, log *os.File) string {
	exit, err := s.start(i, c, log)
	if err != nil {
		return "did not start: " + err.Error()
	}
	status := <-exit
	if status.Signaled() {
		return "was ended by " + status.Signal().String()
	}
	return fmt.Sprintf("ended with exit code %d", status.ExitStatus())
}

// start holds the lock from fork to registration, so that the reaper cannot
// miss a process that ends at once.
func (s *Supervisor) start(i int, c Component, log *os.File) (<-chan unix.WaitStatus, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer func() { _ = null.Close() }()
	s.mu.Lock()
	defer s.mu.Unlock()
	var pid int
	withNice(c.Nice, func() {
		pid, err = syscall.ForkExec(c.Args[0], c.Args, &syscall.ProcAttr{
			Env: s.Env, Files: []uintptr{null.Fd(), log.Fd(), log.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true},
		})
	})
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", c.Args[0], err)
	}
	exit := make(chan unix.WaitStatus, 1)
	s.exits[pid] = exit
	s.statuses[i].PID = pid
	s.statuses[i].Starts++
	s.reportLocked()
	return exit, nil
}

// withNice forks at a priority, which a process inherits from the thread that
// forks it: once a child runs, its threads would have to be caught one by one.
func withNice(nice int, fork func()) {
	if nice != 0 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := unix.Setpriority(unix.PRIO_PROCESS, 0, nice); err == nil {
			defer func() { _ = unix.Setpriority(unix.PRIO_PROCESS, 0, 0) }()
		}
	}
	fork()
}

// reap collects every child that ends, our own and orphans. The ticker covers
// signals that were merged.
func (s *Supervisor) reap(ctx context.Context) {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGCHLD)
	defer signal.Stop(signals)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
		case <-tick.C:
		}
		s.collect()
	}
}

func (s *Supervisor) collect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if exit := s.exits[pid]; exit != nil {
			delete(s.exits, pid)
			exit <- status
		}
	}
}

func (s *Supervisor) set(i int, change func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.statuses[i])
	s.reportLocked()
}

func (s *Supervisor) report() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reportLocked()
}

// reportLocked cannot do anything about a failure: the status is for people.
func (s *Supervisor) reportLocked() {
	_ = state.WriteJSON(s.StatusFile, slices.Clone(s.statuses))
}

// waitFor polls a condition; see Component.Wait.
func waitFor(ctx context.Context, condition string) {
	tick := time.NewTicker(timescale.Of(20 * time.Millisecond))
	defer tick.Stop()
	for !holds(ctx, condition) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// probe asks without verifying the server: it only learns whether it is there.
var probe = &http.Client{
	Timeout:   timescale.Of(time.Second),
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, //nolint:gosec // no secret is sent, the answer is not trusted
}

func holds(ctx context.Context, condition string) bool {
	kind, address, _ := strings.Cut(condition, ":")
	if kind == "ready" {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/readyz", nil)
		if err != nil {
			return false
		}
		response, err := probe.Do(request)
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	}
	if kind == "file" || kind == "gone" {
		_, err := os.Stat(address)
		return (err == nil) == (kind == "file")
	}
	conn, err := net.DialTimeout(kind, address, time.Second)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
