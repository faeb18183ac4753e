package dashboard

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestServe: a request with huge headers is refused, and the end of the context ends streams.
func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(ctx, listener, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/stream" {
				cancel()
				<-r.Context().Done()
			}
		}))
	}()
	ask := func(path, header string) (int, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Token", header)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, err
		}
		return answer.StatusCode, answer.Body.Close()
	}
	if code, err := ask("/", strings.Repeat("x", 80<<10)); code != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("huge headers are answered with %d, %v", code, err)
	}
	if code, err := ask("/", "x"); code != http.StatusOK {
		t.Errorf("a request is answered with %d, %v", code, err)
	}
	_, _ = ask("/stream", "x") // its connection is closed
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
