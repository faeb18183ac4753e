package lead

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A controller that cannot work yet is alive, not ready, and says why.
func TestProbes(t *testing.T) {
	p := NewProbes()
	server := httptest.NewServer(p.handler())
	defer server.Close()
	ask := func(path string) (int, string) {
		response, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(text)
	}
	for _, step := range []struct {
		why   error
		ready int
		says  string
	}{
		{errStarting, http.StatusServiceUnavailable, "just started"},
		{errors.New("Kubeflow Trainer runs in this cluster"), http.StatusServiceUnavailable, "Kubeflow Trainer runs"},
		{nil, http.StatusOK, "ok"},
	} {
		p.SetNotReady(step.why)
		if code, text := ask("/readyz"); code != step.ready || !strings.Contains(text, step.says) {
			t.Errorf("want %d with %q, got %d: %s", step.ready, step.says, code, text)
		}
		if code, _ := ask("/healthz"); code != http.StatusOK {
			t.Errorf("it is alive whatever it waits for, got %d", code)
		}
	}
}
