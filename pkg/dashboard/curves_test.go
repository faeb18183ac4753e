package dashboard

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// oneSeries is an answer of Prometheus with one pod, whose second value is not a number.
const oneSeries = `{"status":"success","data":{"resultType":"matrix","result":[
{"metric":{"pod":"train-node-0-0-abcde"},"values":[[1767225600,"0.5"],[1767225615,"NaN"],[1767225630,"2"]]}]}}`

// TestCurves: Prometheus is asked for the pods of the job, with the token of its user, who may list pods.
func TestCurves(t *testing.T) {
	var asked []string
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		asked = append(asked, fmt.Sprint(r.Header.Get("Authorization"), " ", r.URL.Query()["namespace"], " ",
			r.Form.Get("query")))
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(r.Form.Get("query"), "DCGM") {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "no GPUs for you")
			return
		}
		fmt.Fprint(w, oneSeries)
	})
	safe, plain := httptest.NewTLSServer(serve), httptest.NewServer(serve)
	t.Cleanup(safe.Close)
	t.Cleanup(plain.Close)
	authority := filepath.Join(t.TempDir(), "ca.crt")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: safe.Certificate().Raw})
	if err := os.WriteFile(authority, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	curvesOf := func(user string, p Prometheus) (got Curves) {
		asked = nil
		page := pageOf(t, &cluster{}, user)
		page.Prometheus = p
		w := httptest.NewRecorder()
		page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/trainjobs/team/train/curves", nil))
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%d %s: %v", w.Code, w.Body, err)
		}
		return got
	}

	got := curvesOf("joe", Prometheus{URL: safe.URL, Authority: authority})
	if len(got.Items) != 3 || got.Items[0].Metric != "cpu" ||
		fmt.Sprint(got.Items[0].Points) != "[{1767225600 0.5} {1767225630 2}]" {
		t.Errorf("curves are %+v", got.Items)
	}
	if len(got.Withheld) != 1 || got.Withheld[0].What != "gpu" || !strings.Contains(got.Withheld[0].Why, "403") {
		t.Errorf("what is missing: %+v", got.Withheld)
	}
	const pods = `namespace="team", pod=~"train-(launcher|node)-[0-9]+-[0-9]+-.+"`
	for _, a := range asked {
		if !strings.HasPrefix(a, "Bearer joe [team] ") || !strings.Contains(a, pods) {
			t.Errorf("Prometheus was asked %s", a)
		}
	}
	if curvesOf("joe", Prometheus{URL: plain.URL}); len(asked) == 0 || strings.Contains(asked[0], "joe") {
		t.Errorf("without TLS it was asked %v", asked)
	}
	got = curvesOf("vera", Prometheus{URL: plain.URL})
	if len(asked) > 0 || !strings.Contains(got.Withheld[0].Why, "pods") {
		t.Errorf("a user who may not list pods gets %+v, by %v", got, asked)
	}
	if got := curvesOf("joe", Prometheus{}); !strings.Contains(got.Withheld[0].Why, "--prometheus") {
		t.Errorf("without a Prometheus: %+v", got)
	}
	plain.Close()
	if got := curvesOf("joe", Prometheus{URL: plain.URL}); !strings.Contains(got.Withheld[0].Why, "cannot be reached") {
		t.Errorf("with one that is gone: %+v", got)
	}
}
