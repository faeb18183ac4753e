package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockstep.dev/lockstep/internal/cli"
)

func TestCommandLine(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for says, tc := range map[string]struct {
		args []string
		code int
	}{
		"`--host` is missing":       {nil, cli.ExitUsage},
		"`--api-server` is missing": {[]string{"--host=x"}, cli.ExitUsage},
		"ca.crt: no such file": {
			[]string{"--host=x", "--api-server=https://y", "--certificate-authority=/none/ca.crt"}, cli.ExitFailure,
		},
	} {
		var stderr bytes.Buffer
		code := cli.Run(newCommand(), tc.args, &stderr, &stderr)
		if code != tc.code || !strings.Contains(stderr.String(), says) {
			t.Errorf("%v: %d, %s", tc.args, code, &stderr)
		}
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	if got := podServer(); got != "https://[fd00::1]:443" {
		t.Errorf("in a pod the API server is %s", got)
	}
}

// TestServes: health needs no token, the page does, and both end with the context.
func TestServes(t *testing.T) {
	api := httptest.NewTLSServer(http.NotFoundHandler())
	defer api.Close()
	authority := filepath.Join(t.TempDir(), "ca.crt")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw})
	if err := os.WriteFile(authority, text, 0o600); err != nil {
		t.Fatal(err)
	}
	page, health := free(t), free(t)
	ctx, cancel := context.WithCancel(t.Context())
	command := newCommand()
	command.SetContext(ctx)
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Run(command, []string{
			"--host=" + page, "--api-server=" + api.URL, "--certificate-authority=" + authority, "--bind-address=" + page,
			"--health-probe-bind-address=" + health,
		}, t.Output(), t.Output())
	}()
	for address, want := range map[string]int{health + "/healthz": http.StatusOK, page + "/": http.StatusUnauthorized} {
		if got := status(t, "http://"+address); got != want {
			t.Errorf("%s is answered with %d, want %d", address, got, want)
		}
	}
	cancel()
	if code := <-ended; code != 0 {
		t.Errorf("it ended with %d", code)
	}
}

func free(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// status asks until something answers.
func status(t *testing.T, url string) int {
	t.Helper()
	for range 500 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := http.DefaultClient.Do(r); err == nil {
			_ = answer.Body.Close()
			return answer.StatusCode
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("nothing answers at %s", url)
	return 0
}
