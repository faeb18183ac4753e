package dashboard

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/template"
)

// cluster is a fake API server with one runtime, one claim and one job. Tokens are names; Vera may only read.
type cluster struct {
	mu      sync.Mutex
	created []string
}

func (c *cluster) answer(r *http.Request) (int, any) {
	user := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	last := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	switch {
	case last == "selfsubjectaccessreviews":
		return 201, tree{"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1",
			"status": tree{"allowed": user != "vera"}}
	case last == "selfsubjectreviews":
		return 201, tree{"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1",
			"status": tree{"userInfo": tree{"username": user}}}
	case last == "pods" && user != "vera":
		return 200, tree{"kind": "PodList", "apiVersion": "v1", "items": []any{}}
	case last == "secrets" || last == "pods" || user == "vera" && r.Method == http.MethodPost:
		return 403, tree{"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403, "message": fmt.Sprintf(
			`User %q cannot list resource %q in API group "" in the namespace "team"`, user, last)}
	case last == "clustertrainingruntimes":
		list := trainer.ClusterTrainingRuntimeList{TypeMeta: typeOf("ClusterTrainingRuntimeList")}
		list.Items = []trainer.ClusterTrainingRuntime{oneRuntime()}
		return 200, list
	case last == "openmpi":
		return 200, oneRuntime()
	case last == "persistentvolumeclaims":
		list := corev1.PersistentVolumeClaimList{}
		list.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaimList"}
		list.Items = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
		return 200, list
	case last == "trainjobs" && r.Method == http.MethodPost:
		text, _ := io.ReadAll(r.Body)
		if r.URL.Query().Get("dryRun") == "" {
			c.mu.Lock()
			c.created = append(c.created, string(text))
			c.mu.Unlock()
		}
		return 201, json.RawMessage(strings.Replace(string(text), `"metadata":{`, `"metadata":{"uid":"uid-1",`, 1))
	case last == "trainjobs":
		items := []trainer.TrainJob{oneJob("train"), oneJob("train-2")}
		return 200, trainer.TrainJobList{TypeMeta: typeOf("TrainJobList"), Items: items}
	case last == "train" || last == "train-2":
		return 200, oneJob(last)
	}
	return 404, tree{"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}
}

func typeOf(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: trainer.GroupVersion.String(), Kind: kind}
}

func oneRuntime() trainer.ClusterTrainingRuntime {
	r := template.Runtime{Name: "openmpi", Implementation: "OpenMPI", Version: "5.0.7", Annotations: map[string]string{
		mpi.MaxNodesAnnotation: "4", mpi.PriceAnnotation: "1.5", mpi.DescriptionAnnotation: "For tests.",
		mpi.DocumentationAnnotation: "https://docs.example.com/openmpi",
	}}
	r.World.Nodes, r.World.SlotsPerNode = 2, 2
	built, err := r.Build()
	if err != nil {
		panic(err)
	}
	return trainer.ClusterTrainingRuntime{
		TypeMeta: typeOf("ClusterTrainingRuntime"), ObjectMeta: built.ObjectMeta, Spec: built.Spec,
	}
}

func oneJob(name string) trainer.TrainJob {
	j := trainer.TrainJob{TypeMeta: typeOf("TrainJob")}
	j.Name, j.Namespace, j.UID = name, "team", "1"
	j.Annotations = map[string]string{"lockstep.dev/user": "joe"}
	j.Spec.RuntimeRef.Name = "openmpi"
	nodes := int32(len(name))
	j.Spec.Trainer = &trainer.Trainer{Command: []string{"mpirun", "hello"}, NumNodes: &nodes}
	return j
}

// pageOf serves the page for a user of a cluster.
func pageOf(t *testing.T, c *cluster, user string) *Server {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code, body := c.answer(r)
		text, err := json.Marshal(body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write(text)
	}))
	t.Cleanup(api.Close)
	who := User{Key: user, Namespace: "team", Config: &rest.Config{Host: api.URL, BearerToken: user, QPS: -1}}
	return New(t.Context(), "v0", func(*http.Request) (User, error) { return who, nil }, DefaultLimits)
}

func post(s *Server, path, body, mark string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	if mark != "" {
		r.Header.Set(ActionHeader, mark)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

const goodJob = `apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: new # a comment
spec:
  runtimeRef: {name: openmpi}
  trainer:
    numNodes: 2
    command: [mpirun, "it's"]
`

var mistyped = strings.Replace(goodJob, "numNodes", "numNode", 1)

// TestAFormHasWhatItOffers: runtimes, claims and queues by name, and what is missing.
func TestAFormHasWhatItOffers(t *testing.T) {
	c := &cluster{}
	for name, tc := range map[string]struct{ user, path, has string }{
		"runtimes": {"jane", "/api/v1/runtimes", `"name":"openmpi","description":"For tests.",` +
			`"documentation":"https://docs.example.com/openmpi"`},
		"claims":         {"jane", "/api/v1/choices", `"claims":["data"]`},
		"no secrets":     {"jane", "/api/v1/choices", `"what":"secrets","why":"User 'jane' lacks 'list'`},
		"may create":     {"jane", "/api/v1/choices", `"create":{"allowed":true}`},
		"may not create": {"vera", "/api/v1/choices", `"You may not create jobs in namespace team: `},
		"compare": {"vera", "/api/v1/compare?job=team/train&job=team/train-2", `{"what":"nodes","values":["5","7"],` +
			`"differs":[false,true]}`},
		"clone": {"vera", "/api/v1/trainjobs/team/train/clone", `{"name":"train-3","yaml":"apiVersion: trainer`},
	} {
		w := httptest.NewRecorder()
		pageOf(t, c, tc.user).ServeHTTP(w, httptest.NewRequest(http.MethodGet, tc.path, nil))
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), tc.has) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if name == "clone" && strings.Contains(w.Body.String(), "joe") {
			t.Errorf("%s: a clone has the owner of the old job: %s", name, w.Body)
		}
	}
}

func TestWhatCannotBeComparedIsNamed(t *testing.T) {
	for query, want := range map[string]string{
		"job=team/train": "1 jobs are named, and 2 to 8 can be compared",
		"job=a/b" + strings.Repeat("&job=a/b", 8):           "9 jobs are named",
		"job=team/train&job=../train":                       "name it as NAMESPACE/NAME",
		"job=team/train&job=team/none":                      "NoKind",
		"job=team/train&job=team/" + url.QueryEscape("a/b"): "name it as NAMESPACE/NAME",
	} {
		w := httptest.NewRecorder()
		pageOf(t, &cluster{}, "jane").ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/compare?"+query, nil))
		if w.Code == http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}

func TestACheckMakesNothing(t *testing.T) {
	c := &cluster{}
	for name, tc := range map[string]struct{ user, body, has string }{
		"fits":      {"jane", goodJob, `"summary":"fits now"`},
		"price":     {"jane", goodJob, `an hour costs 3.00`},
		"line":      {"jane", goodJob, `submit new --namespace team --runtime openmpi --nodes 2 -- mpirun 'it'\\''s'`},
		"python":    {"jane", goodJob, `MPIClient(namespace=\"team\")`},
		"mistyped":  {"jane", mistyped, `"line":8,"column":14,"message":"` + "`TrainJob.spec.trainer` has no field"},
		"no yaml":   {"jane", "a: [", `this is not YAML`},
		"too many":  {"jane", strings.Replace(goodJob, ": 2", ": 9", 1), `numNodes is 9, this runtime allows at most 4`},
		"elsewhere": {"jane", strings.Replace(goodJob, "name:", "namespace: o\n  name:", 1), "metadata.namespace is `o`"},
		"no right":  {"vera", goodJob, `"verdict":"never"`},
		"warned":    {"jane", strings.Replace(goodJob, "name:", "annotations: {lockstep.dev/ownr: x}\n  name:", 1), `"findings":[],"warnings":[{`},
	} {
		w := post(pageOf(t, c, tc.user), "/api/v1/trainjobs?dryRun=true", tc.body, "1")
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), tc.has) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	if len(c.created) > 0 {
		t.Errorf("a check made %v", c.created)
	}
}

func TestCreate(t *testing.T) {
	c := &cluster{}
	withoutCommand, _, _ := strings.Cut(goodJob, "    command")
	const path = "/api/v1/trainjobs?namespace=team"
	for name, tc := range map[string]struct {
		user, body, mark, has string
		code                  int
	}{
		"no mark":   {"jane", goodJob, "", "NoActionHeader", 403},
		"mistake":   {"jane", mistyped, "1", "line 8: `TrainJob.spec.trainer` has no field", 422},
		"idle":      {"jane", withoutCommand, "1", "nothing was made: the job has no", 422},
		"two":       {"jane", goodJob + "---\n" + goodJob, "1", "the text has 2 TrainJobs", 400},
		"too large": {"jane", goodJob + "# " + strings.Repeat("x", mostText), "1", "the text has more than 512 KiB", 413},
		"no right":  {"vera", goodJob, "1", "lacks", 403},
	} {
		w := post(pageOf(t, c, tc.user), path, tc.body, tc.mark)
		if w.Code != tc.code || !strings.Contains(w.Body.String(), tc.has) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	if len(c.created) > 0 {
		t.Fatalf("a refusal made %v", c.created)
	}
	w := post(pageOf(t, c, "jane"), path, goodJob, "1")
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `{"namespace":"team","name":"new","uid":"uid-1"}`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if len(c.created) != 1 || !strings.Contains(c.created[0], `"lockstep.dev/user":"jane"`) {
		t.Errorf("made is %v", c.created)
	}
}
