package data

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
)

// A service that keeps lineage, such as Marquez, learns what a run read and wrote. It keeps no copy from being whole.
func TestLineage(t *testing.T) {
	for name, status := range map[string]int{"taken": http.StatusCreated, "refused": http.StatusForbidden} {
		t.Run(name, func(t *testing.T) {
			var event []byte
			var asked string
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				event, _ = io.ReadAll(r.Body)
				asked = r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization")
				w.WriteHeader(status)
			}))
			defer service.Close()
			s := serve(t, map[string]string{})
			e := Export{Root: folderOf(t, map[string]string{"model.pt": "weights"}), To: "s3://bucket/runs/demo-1"}
			printed := ""
			e.Print = func(format string, _ ...any) { printed += format }
			_, err := e.Run(t.Context(), jobv1.Manifest{
				Job: "demo", Namespace: "team", UID: "5a1c1f7e-6f3f-4c8e-9a53-0d8e6d2b7c11", Phase: jobv1.Complete,
				Ended:  metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)),
				Inputs: []jobv1.Input{{URI: "s3://sets/mnist", Digest: "abc"}, {URI: "hf://google-bert/bert-base-uncased"}},
			}, variables(s, "OPENLINEAGE_URL", service.URL, "OPENLINEAGE_API_KEY", "k"))
			if err != nil || s.files["bucket/runs/demo-1/lockstep.json"] == "" {
				t.Error("the copy is not whole:", err)
			}
			refused := strings.Contains(printed, "not sent")
			if asked != "POST /api/v1/lineage Bearer k" || refused != (status == http.StatusForbidden) {
				t.Errorf("asked %q, printed %q", asked, printed)
			}
			var got, want any
			text, err := os.ReadFile("testdata/lineage.json")
			if err != nil {
				t.Fatal(err)
			}
			if json.Unmarshal(event, &got) != nil || json.Unmarshal(text, &want) != nil || !cmp.Equal(want, got) {
				t.Errorf("%s\n%s", event, cmp.Diff(want, got))
			}
		})
	}
}
