package dashboard

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

func streams(t *testing.T, run func(*visit, *stream) error) *httptest.Server {
	t.Helper()
	limits := DefaultLimits
	limits.Pulse = 50 * time.Microsecond
	user := func(*http.Request) (User, error) {
		return User{Key: "a", Config: &rest.Config{Host: "http://127.0.0.1:1"}}, nil
	}
	server := httptest.NewServer(New(context.Background(), "v0", user, limits).streaming(run))
	t.Cleanup(server.Close)
	return server
}

func readAll(t *testing.T, url string) error {
	t.Helper()
	answer, err := http.Get(url) //nolint:gosec,noctx // a test
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return errors.Join(err, answer.Body.Close())
}

// A pulse after the end of a handler would write to a connection that is gone, and end the program.
func TestPulsesEndWithTheirStream(t *testing.T) {
	server := streams(t, func(_ *visit, out *stream) error {
		time.Sleep(time.Millisecond)
		return out.send("end", struct{}{})
	})
	for range 300 {
		if err := readAll(t, server.URL); err != nil {
			t.Fatal(err)
		}
	}
}

// A browser must not take a part of a log for all of it.
func TestABrokenDownloadIsNoWholeFile(t *testing.T) {
	server := streams(t, func(_ *visit, out *stream) error {
		return errors.Join(out.write("first line\n"), errors.New("the connection broke"))
	})
	if err := readAll(t, server.URL+"/logs?download=true"); err == nil {
		t.Error("the file looks whole")
	}
}
