package lead

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// Probes answers kubelet: alive while the process answers, ready while nothing is said to be wrong. It lives as long as the
// process, which is longer than a manager: a controller that waits for its API server must not be ended for it.
type Probes struct {
	// why is what keeps the controller from working, nil when it is ready.
	why atomic.Pointer[error]
}

// errStarting is why a process is not ready that has looked at nothing yet.
var errStarting = errors.New("the controller has just started")

// NewProbes returns Probes of a process that has just started.
func NewProbes() *Probes {
	p := &Probes{}
	p.SetNotReady(errStarting)
	return p
}

// SetNotReady sets why the controller is not ready; nil means that it is.
func (p *Probes) SetNotReady(why error) {
	if why == nil {
		p.why.Store(nil)
		return
	}
	p.why.Store(&why)
}

// whyNotReady returns what was said last.
func (p *Probes) whyNotReady() error {
	if why := p.why.Load(); why != nil {
		return *why
	}
	return nil
}

// Serve answers on an address until the context ends; the empty address and "0" turn it off. The error is about the address.
func (p *Probes) Serve(ctx context.Context, address string) error {
	if address == "" || address == "0" {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen for probes: %w", err)
	}
	const timeout = 5 * time.Second
	server := &http.Server{Handler: p.handler(), ReadHeaderTimeout: timeout}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
	return nil
}

func (p *Probes) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := p.whyNotReady(); why != nil {
			http.Error(w, why.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok")
	})
	return mux
}
