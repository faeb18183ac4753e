package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"lockstep.dev/lockstep/pkg/jobs/convert"
	"lockstep.dev/lockstep/pkg/jobs/convert/corpus"
)

// commandLine is a run of the program.
type commandLine struct {
	code           int
	stdout, stderr string
}

func converting(t *testing.T, stdin string, args ...string) commandLine {
	t.Helper()
	var stdout, stderr bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(stdin), Out: &stdout, ErrOut: &stderr}
	code := run(t.Context(), append([]string{"convert"}, args...), newKube(streams))
	return commandLine{code, stdout.String(), stderr.String()}
}

// repositoryOfCorpus writes the specs of the tests of conversion, and some MPIJobs, into the working folder.
func repositoryOfCorpus(t *testing.T) {
	t.Helper()
	testdata, err := filepath.Abs("../../pkg/jobs/convert/testdata")
	if err != nil {
		t.Fatal(err)
	}
	root := corpus.LoadRepository(t, testdata)
	t.Chdir(t.TempDir())
	if err := os.CopyFS(".", root); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"jobs/train.yaml":      corpus.Base,
		"jobs/deep/wide.yml":   corpus.ChangedMPIJob(t, "metadata.name: wide\nspec.mpiReplicaSpecs.Worker.replicas: 12"),
		"jobs/deep/hands.json": `{"apiVersion":"kubeflow.org/v2beta1","kind":"MPIJob","metadata":{"name":"hands","namespace":"vision"},"spec":{"mpiReplicaSpecs":{"Launcher":{"template":{"spec":{"containers":[{"name":"c","image":"example.org/x:1"}]}}}}}}`,
		"jobs/deep/notes.txt":  "no manifest",
		"broken/job.yaml":      "kind: MPIJob\napiVersion: kubeflow.org/v2beta1\n",
		"others/service.yaml":  "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestConvert: what goes where, and the exit code.
func TestConvert(t *testing.T) {
	repositoryOfCorpus(t)
	for name, tc := range map[string]struct {
		reason         string
		stdin          string
		args           []string
		code           int
		stdout, stderr string
	}{
		"Report":       {"the report is the default", "", []string{"-f", "jobs/train.yaml", "--catalog", "."}, 0, "MPIJob vision/train (jobs/train.yaml:1) → TrainJob with runtime openmpi4, machines cpu", ""},
		"TrainJob":     {"YAML is what is applied", "", []string{"-f", "jobs/train.yaml", "--catalog", ".", "-o", "yaml"}, 0, "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob", ""},
		"Stdin":        {"from a pipe", corpus.Base, []string{"-f", "-", "--catalog", "."}, 0, "(standard input:1)", ""},
		"Folder":       {"a folder without those below", "", []string{"-f", "jobs", "--catalog", "."}, 0, "MPIJob vision/train", ""},
		"Recursive":    {"all of them", "", []string{"-f", "jobs", "-R", "--catalog", "."}, 0, "3 MPIJobs: 2 convert without manual work, 1 need hands", ""},
		"Check":        {"somebody has to look", "", []string{"-f", "jobs", "-R", "--catalog", ".", "--check"}, 1, "", "error: 1 of 3 MPIJobs need hands"},
		"CheckFine":    {"nobody has to look", "", []string{"-f", "jobs", "--catalog", ".", "--check"}, 0, "", ""},
		"Version":      {"another Open MPI is another runtime", "", []string{"-f", "jobs", "--catalog", ".", "--mpi-version", "5.0.7"}, 0, "runtime openmpi5", ""},
		"Broken":       {"what cannot be read is an error", "", []string{"-f", "broken", "-f", "jobs"}, 1, "broken/job.yaml:1:1: error: `spec.mpiReplicaSpecs.Launcher` is missing", "1 document cannot be converted"},
		"Others":       {"nothing to convert", "", []string{"-f", "others"}, 1, "Service s is not an MPIJob: left as it is", "there is not an MPIJob in others"},
		"NoFile":       {"a name that is wrong", "", []string{"-f", "nowhere"}, 1, "", "read nowhere"},
		"NoCatalog":    {"a folder that is no repository", "", []string{"-f", "jobs", "--catalog", "jobs"}, 1, "", "there is no runtime below jobs"},
		"Nothing":      {"files or the cluster", "", nil, 2, "", "say what to convert"},
		"Both":         {"files or the cluster", "", []string{"-f", "jobs", "--from-cluster"}, 2, "", "say what to convert"},
		"Everywhere":   {"only of the cluster", "", []string{"-f", "jobs", "-A"}, 2, "", "`--all-namespaces` is for `--from-cluster`"},
		"Output":       {"three words", "", []string{"-f", "jobs", "-o", "xml"}, 2, "", "must be one of text, yaml, json"},
		"DryRun":       {"two words", "", []string{"-f", "jobs", "--dry-run", "client"}, 2, "", "must be one of none, server"},
		"WrongVersion": {"a version begins with a number", "", []string{"-f", "jobs", "--mpi-version", "five"}, 2, "", "`five` is not a version of MPI"},
	} {
		got := converting(t, tc.stdin, tc.args...)
		if got.code != tc.code || !strings.Contains(got.stdout, tc.stdout) || !strings.Contains(got.stderr, tc.stderr) {
			t.Errorf("%s (%s): exit code %d\n%s\n%s", name, tc.reason, got.code, got.stdout, got.stderr)
		}
	}
}

// TestConvertSpecs: specs are written once, and are found from then on; a file that is there stays.
func TestConvertSpecs(t *testing.T) {
	repositoryOfCorpus(t)
	const path = "catalog/runtimes/openmpi4-wide.yaml"
	if got := converting(t, "", "-f", "jobs", "-R", "--catalog", ".", "--specs", "."); got.code != 0 || !strings.Contains(got.stderr, "wrote "+path) {
		t.Fatalf("exit code %d\n%s", got.code, got.stderr)
	}
	got := converting(t, "", "-f", "jobs/deep/wide.yml", "--catalog", ".")
	if got.code != 0 || !strings.Contains(got.stdout, "runtime openmpi4-wide, machines cpu") {
		t.Errorf("the runtime that was written is not found:\n%s", got.stdout)
	}
	if err := os.WriteFile("catalog/runtimes/openmpi4-wide.yaml", []byte("# ours\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	got = converting(t, "", "-f", "jobs/deep/wide.yml", "--catalog", ".", "--specs", ".")
	if text, err := os.ReadFile(path); got.code != 1 || err != nil || string(text) != "# ours\n" {
		t.Errorf("exit code %d, the file is %q (error: %v)", got.code, text, err)
	}
}

// TestConvertFromCluster: a stand-in for the API server says what it has.
func TestConvertFromCluster(t *testing.T) {
	done := `{"conditions": [{"type": "Succeeded", "status": "True"}]}`
	item := func(namespace, name, status string) string {
		return fmt.Sprintf(`{"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": {"name": %q, "namespace": %q, "creationTimestamp": "2026-11-01T00:00:00Z", "managedFields": [{"manager": "kubectl"}]},
			"spec": {"mpiReplicaSpecs": {"Launcher": {"template": {"spec": {"containers": [{"name": "c", "image": "example.org/x:1", "command": ["x"]}]}}}}}, "status": %s}`, name, namespace, status)
	}
	lists := map[string]string{
		"/apis/kubeflow.org/v2beta1/mpijobs":                 `{"kind": "MPIJobList", "apiVersion": "kubeflow.org/v2beta1", "metadata": {"continue": "more"}, "items": [` + item("a", "one", done) + `]}`,
		"/apis/kubeflow.org/v2beta1/mpijobs?continue=more":   `{"kind": "MPIJobList", "apiVersion": "kubeflow.org/v2beta1", "metadata": {}, "items": [` + item("b", "two", "{}") + "," + item("b", "three", done) + `]}`,
		"/apis/kubeflow.org/v2beta1/namespaces/none/mpijobs": `{"kind": "MPIJobList", "apiVersion": "kubeflow.org/v2beta1", "metadata": {}, "items": []}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		path := r.URL.Path
		if next := r.URL.Query().Get("continue"); next != "" {
			path += "?continue=" + next
		}
		switch list, found := lists[path]; {
		case found:
			fmt.Fprint(w, list)
		case strings.Contains(path, "/secret/"):
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "mpijobs.kubeflow.org is forbidden: User \"jane\" cannot list resource \"mpijobs\" in API group \"kubeflow.org\" in the namespace \"secret\"", "details": {"group": "kubeflow.org", "kind": "mpijobs"}}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404, "message": "the server could not find the requested resource"}`)
		}
	}))
	defer server.Close()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Chdir(t.TempDir())

	got := converting(t, "", "--from-cluster", "-A", "--server", server.URL)
	want := "NAMESPACE   MPIJOBS   UNFINISHED   NEED HANDS   NEWEST\nb           2         1            2            2026-11-01\na           1         0            1            2026-11-01\n"
	if got.code != 0 || got.stdout != want {
		t.Errorf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	got = converting(t, "", "--from-cluster", "-A", "--server", server.URL, "-o", "json")
	var report convert.Report
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil || len(report.Jobs) != 3 || report.Jobs[1].File != "mpijobs/b/two" {
		t.Errorf("error %v\n%s", err, got.stdout)
	}
	for namespace, want := range map[string]string{
		"none":   "no MPIJobs",
		"other":  "there is no CRD mpijobs.kubeflow.org",
		"secret": "lacks",
	} {
		got := converting(t, "", "--from-cluster", "-n", namespace, "--server", server.URL)
		if code := map[bool]int{true: exitForbidden}[namespace == "secret"]; got.code != code || !strings.Contains(got.stdout+got.stderr, want) {
			t.Errorf("%s: exit code %d\n%s%s", namespace, got.code, got.stdout, got.stderr)
		}
	}
}

// TestConvertDryRun: each TrainJob is sent as it would be created, and what the API server says is told.
func TestConvertDryRun(t *testing.T) {
	repositoryOfCorpus(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var job struct {
			Metadata struct{ Name, Namespace string }
		}
		if err := json.NewDecoder(r.Body).Decode(&job); err != nil || r.URL.Query().Get("dryRun") != "All" || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if job.Metadata.Name == "wide" {
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid", "code": 422, "message": "trainjobs.trainer.kubeflow.org \"wide\" is forbidden: ValidatingAdmissionPolicy 'lockstep-trainjob' with binding 'lockstep-trainjob' denied request: too many nodes"}`)
			return
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": %q, "namespace": %q}}`, job.Metadata.Name, job.Metadata.Namespace)
	}))
	defer server.Close()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	got := converting(t, "", "-f", "jobs", "--catalog", ".", "--dry-run=server", "--server", server.URL)
	if got.code != 0 || !strings.Contains(got.stderr, "trainjob vision/train: the API server would take it") {
		t.Errorf("exit code %d\n%s", got.code, got.stderr)
	}
	got = converting(t, "", "-f", "jobs", "-R", "--catalog", ".", "--dry-run=server", "--server", server.URL)
	if got.code == 0 || !strings.Contains(got.stderr, "too many nodes") || !strings.Contains(got.stderr, "trainjob vision/train: the API server would take it") {
		t.Errorf("exit code %d\n%s", got.code, got.stderr)
	}
}
