// Package prometheus runs a real Prometheus for a test, on the loopback interface. Its program is Debian's (test/suite/prometheus).
package prometheus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"lockstep.dev/lockstep/pkg/mpi/agent/sleep"
)

// Folder is the variable that names the folder of the programs.
const Folder = "LOCKSTEP_PROMETHEUS"

// Server is a Prometheus that runs.
type Server struct {
	// Address is where it listens.
	Address string

	api     prometheus.API
	folder  string
	program *exec.Cmd
	said    bytes.Buffer
	ended   chan struct{}
}

// Start starts the prometheus of a folder of programs with a configuration, and returns when it answers.
func Start(ctx context.Context, programs string, config Config) (*Server, error) {
	if programs == "" {
		return nil, errors.New("start Prometheus: no folder of programs is named: set " + Folder)
	}
	folder, err := os.MkdirTemp("", "prometheus")
	if err != nil {
		return nil, fmt.Errorf("make a folder for Prometheus: %w", err)
	}
	s := &Server{folder: folder, ended: make(chan struct{})}
	if err := s.start(ctx, programs, config); err != nil {
		_ = os.RemoveAll(folder)
		return nil, err
	}
	if err := s.awaitReady(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, programs string, config Config) (err error) {
	if s.Address, err = freeAddress(ctx); err != nil {
		return err
	}
	client, err := api.NewClient(api.Config{Address: "http://" + s.Address})
	if err != nil {
		return fmt.Errorf("ask Prometheus: %w", err)
	}
	s.api = prometheus.NewAPI(client)
	file := filepath.Join(s.folder, "prometheus.yaml")
	if err := os.WriteFile(file, []byte(config.text(s.Address)), 0o600); err != nil {
		return fmt.Errorf("write the configuration of Prometheus: %w", err)
	}
	s.program = exec.Command(filepath.Join(programs, "prometheus"), "--config.file="+file, //nolint:gosec,noctx // what the caller names; Close ends it
		"--storage.tsdb.path="+filepath.Join(s.folder, "data"), "--web.listen-address="+s.Address)
	s.program.Stderr = &s.said
	if err := s.program.Start(); err != nil {
		return fmt.Errorf("start Prometheus: %w", err)
	}
	go func() { _ = s.program.Wait(); close(s.ended) }()
	return nil
}

// awaitReady waits until it answers, as long as it runs.
func (s *Server) awaitReady(ctx context.Context) error {
	for !s.isReady(ctx) {
		select {
		case <-s.ended:
			return fmt.Errorf("start Prometheus: it has ended: %s", s.said.String())
		default:
		}
		if !sleep.For(ctx, 100*time.Millisecond) {
			return ctx.Err()
		}
	}
	return nil
}

func (s *Server) isReady(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Address+"/-/ready", nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(request)
	return err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
}

// Query returns the samples that a query has now.
func (s *Server) Query(ctx context.Context, query string) (model.Vector, error) {
	value, _, _, err := s.api.Query(ctx, query, time.Now())
	if err != nil {
		return nil, fmt.Errorf("ask Prometheus for %s: %w", query, err)
	}
	vector, ok := value.(model.Vector)
	if !ok {
		return nil, fmt.Errorf("ask Prometheus for %s: it is a %s", query, value.Type())
	}
	return vector, nil
}

// Close ends it and removes what it wrote.
func (s *Server) Close() {
	_ = s.program.Process.Kill()
	<-s.ended
	_ = os.RemoveAll(s.folder)
}

func freeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String(), nil
}
