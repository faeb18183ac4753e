package live_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/live"
)

type values = map[string]any

// server is an API server with ConfigMaps a, b and c in the namespace x, which answers in pages of two.
type server struct {
	// changed is the object that somebody changes after it was listed, secret says that nobody may list.
	changed string
	secret  bool

	mu      sync.Mutex
	gets    []string
	patches int
}

func configMap(name, version, value string) values {
	return values{"apiVersion": "v1", "kind": "ConfigMap", "data": values{"key": value},
		"metadata": values{"name": name, "namespace": "x", "resourceVersion": version, "labels": values{"app.kubernetes.io/managed-by": "lockstep"}}}
}

// now is an object as it is, was as it was when it was listed.
func (s *server) now(name string) values {
	if name == s.changed {
		return configMap(name, "8", "new")
	}
	return s.was(name)
}

func (s *server) was(name string) values { return configMap(name, "7", "old") }

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	answer := func(code int, body values) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(body)
	}
	failure := func(code int, reason string) {
		answer(code, values{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code, "message": reason})
	}
	name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	switch {
	case r.URL.Path == "/api/v1":
		answer(http.StatusOK, values{"resources": []values{{"name": "configmaps", "kind": "ConfigMap", "namespaced": true}}})
	case name == "configmaps" && s.secret:
		failure(http.StatusForbidden, "Forbidden")
	case name == "configmaps" && r.URL.Query().Get("continue") == "":
		answer(http.StatusOK, values{"kind": "ConfigMapList", "apiVersion": "v1", "metadata": values{"continue": "more"}, "items": []values{s.was("a"), s.was("b")}})
	case name == "configmaps":
		answer(http.StatusOK, values{"kind": "ConfigMapList", "apiVersion": "v1", "metadata": values{}, "items": []values{s.was("c")}})
	case r.Method == http.MethodPatch:
		s.patches++
		answer(http.StatusOK, s.now(name))
	case name > "c":
		s.gets = append(s.gets, name)
		failure(http.StatusNotFound, "NotFound")
	default:
		s.gets = append(s.gets, name)
		answer(http.StatusOK, s.now(name))
	}
}

// TestListed: what pages have is not asked for again, unless somebody changed it since; the rest is asked for one by one.
func TestListed(t *testing.T) {
	for name, c := range map[string]struct {
		server  *server
		gets    string
		patches int
		missing int
	}{
		"Pages":     {&server{}, "[d]", 3, 1},
		"Changed":   {&server{changed: "b"}, "[b d]", 3, 1},
		"Forbidden": {&server{secret: true}, "[a b c d]", 3, 1},
	} {
		t.Run(name, func(t *testing.T) {
			api := httptest.NewServer(c.server)
			defer api.Close()
			cluster, err := live.NewCluster(&rest.Config{Host: api.URL}, "test", "flux")
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"a", "b", "c", "d"} {
				compiled := object.New(object.FromValue("", configMap(name, "", "old"), nil), object.Place{}, nil)
				before, after, err := cluster.CompareUnit(t.Context(), []object.Object{compiled})
				if err != nil {
					t.Fatal(err)
				}
				if name != "d" && (len(before) != 1 || len(after) != 1 || before[0].Root.At("data", "key").Text != after[0].Root.At("data", "key").Text) {
					t.Errorf("%s differs, but nobody changed it in between: %v, %v", name, before, after)
				}
			}
			if got := fmt.Sprint(c.server.gets); got != c.gets || c.server.patches != c.patches || len(cluster.Findings().Missing) != c.missing {
				t.Errorf("asked for %s, %d dry runs, missing %v; want %s, %d, %d", got, c.server.patches, cluster.Findings().Missing, c.gets, c.patches, c.missing)
			}
		})
	}
}
