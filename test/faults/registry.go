package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// registryAddress is a loopback address: containerd talks to those without TLS.
const registryAddress = "127.0.0.1:5000"

// privateRegistry serves, on the loopback of each machine of the cluster, an image registry that answers every request
// as one does that wants a password.
func privateRegistry(ctx context.Context, t *attempt) (func(context.Context) error, error) {
	machines, err := t.LocalMachines(ctx)
	if err != nil {
		return nil, err
	}
	var servers []*http.Server
	undo := func(context.Context) error {
		var errs []error
		for _, server := range servers {
			errs = append(errs, server.Close())
		}
		return errors.Join(errs...)
	}
	for _, m := range machines {
		listener, err := listenIn(m.PID)
		if err != nil {
			return undo, fmt.Errorf("serve a registry on %s: %w", m.Name, err)
		}
		server := &http.Server{Handler: http.HandlerFunc(unauthorized)}
		servers = append(servers, server)
		go func() { _ = server.Serve(listener) }()
	}
	return undo, nil
}

// unauthorized answers as https://distribution.github.io/distribution/spec/auth/token/ says for basic authentication.
func unauthorized(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	w.Header().Set("Www-Authenticate", `Basic realm="private registry"`)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = w.Write([]byte(`{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`))
}

// listenIn listens in the network namespace of a process. The thread that was there ends with its goroutine.
func listenIn(pid int) (net.Listener, error) {
	type result struct {
		listener net.Listener
		err      error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread()
		namespace, err := os.Open("/proc/" + strconv.Itoa(pid) + "/ns/net")
		if err == nil {
			err = unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET)
			_ = namespace.Close()
		}
		if err != nil {
			done <- result{err: err}
			return
		}
		listener, err := net.Listen("tcp", registryAddress)
		done <- result{listener, err}
	}()
	r := <-done
	return r.listener, r.err
}
