package metrics

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// reviewing is an API server that knows two tokens, and lets one of them read metrics. It counts how often it is asked for a token.
func reviewing(t *testing.T, asked *atomic.Int32) *rest.Config {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /apis/authentication.k8s.io/v1/tokenreviews", func(w http.ResponseWriter, request *http.Request) {
		asked.Add(1)
		var review authenticationv1.TokenReview
		if err := json.NewDecoder(request.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		review.Status.User.Username = review.Spec.Token
		review.Status.Authenticated = review.Spec.Token == "prometheus" || review.Spec.Token == "tenant"
		answer(t, w, review)
	})
	mux.HandleFunc("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", func(w http.ResponseWriter, request *http.Request) {
		var review authorizationv1.SubjectAccessReview
		if err := json.NewDecoder(request.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		asked := review.Spec.NonResourceAttributes
		review.Status.Allowed = review.Spec.User == "prometheus" && asked != nil && *asked == authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"}
		answer(t, w, review)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

func answer(t *testing.T, w http.ResponseWriter, review any) {
	t.Helper()
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(review); err != nil {
		t.Error(err)
	}
}

// measured serves metrics as the controller does, and returns where.
func measured(t *testing.T, authentication bool) string {
	t.Helper()
	served, err := ServerOptions("127.0.0.1:0", "lockstep", authentication, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	server, err := metricsserver.NewServer(served, reviewing(t, new(atomic.Int32)), http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	for begin := time.Now(); time.Since(begin) < 10*time.Second; time.Sleep(5 * time.Millisecond) {
		if address := server.(interface{ GetBindAddr() string }).GetBindAddr(); address != "" { //nolint:forcetypeassert // the server of controller-runtime has it
			return address
		}
	}
	t.Fatal("metrics are not served")
	return ""
}

func TestMetricsAreReadByWhoMay(t *testing.T) {
	cases := map[string]struct {
		reason         string
		authentication bool
		token          string
		want           int
	}{
		"Nobody":   {"a pod of a tenant, with nothing to show", true, "", http.StatusUnauthorized},
		"Stranger": {"the API server does not know the token", true, "guessed", http.StatusUnauthorized},
		"Tenant":   {"it knows it, and no role allows it", true, "tenant", http.StatusForbidden},
		"Reader":   {"the role of the chart allows it", true, "prometheus", http.StatusOK},
		"Open":     {"the platform has turned it off", false, "", http.StatusOK},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // as a monitor does
			defer transport.CloseIdleConnections()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+measured(t, tc.authentication)+"/metrics", nil)
			if err != nil {
				t.Fatal(err)
			}
			if tc.token != "" {
				request.Header.Set("Authorization", "Bearer "+tc.token)
			}
			got, err := (&http.Client{Transport: transport}).Do(request)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(got.Body)
			if err != nil || got.Body.Close() != nil {
				t.Fatal(err)
			}
			if got.StatusCode != tc.want || strings.Contains(string(text), "# HELP") != (tc.want == http.StatusOK) {
				t.Errorf("%s: got %s: %.200s", tc.reason, got.Status, text)
			}
		})
	}
}

// A scrape comes every few seconds, and a stranger as often as he likes.
func TestAReaderIsAskedForOnce(t *testing.T) {
	var asked atomic.Int32
	now := time.Now()
	known, err := newMetricsReaders(reviewing(t, &asked), http.DefaultClient, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	reads := func(token string, want int, more int32) {
		t.Helper()
		before := asked.Load()
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
		request.Header.Set("Authorization", "Bearer "+token)
		if code, err := known.statusFor(request); code != want || err != nil {
			t.Errorf("%s: got %d, %v", token, code, err)
		}
		if got := asked.Load() - before; got != more {
			t.Errorf("%s: the API server was asked %d times, want %d", token, got, more)
		}
	}
	reads("prometheus", http.StatusOK, 1)
	reads("prometheus", http.StatusOK, 0)
	reads("tenant", http.StatusForbidden, 1)
	reads("guessed", http.StatusUnauthorized, 1)
	reads("guessed", http.StatusUnauthorized, 1)
	if n := known.allowed.Len(); n != 1 {
		t.Errorf("%d tokens are kept", n)
	}
	now = now.Add(readerHolds)
	reads("prometheus", http.StatusOK, 1)
}
