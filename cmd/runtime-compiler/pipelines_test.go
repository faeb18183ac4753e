package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v4"
)

// step is a script of a pipeline, with what the pipeline sets for it.
type step struct {
	name, script string
	env          []string
}

// pipelines read the scripts of a job of a file in docs/ci.
var pipelines = map[string]struct {
	shell []string
	steps func(t *testing.T, data []byte, job string, values map[string]string) []step
	// install returns the script that installs a release; nil where the image of the steps has it.
	install func(t *testing.T, data []byte) string
	// values are what the forge puts in for expressions; env is the environment of its runners.
	values map[string]string
	env    []string
}{
	"github.yaml": {
		shell: []string{"bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"}, steps: githubSteps, install: githubInstall,
		values: map[string]string{
			"${{ github.token }}": "bot-token", "${{ vars.LOCKSTEP_ARTIFACT }}": "", "${{ github.event.pull_request.number }}": "12",
		},
		env: []string{
			"GITHUB_ACTIONS=true", "GITHUB_REPOSITORY=acme/platform", "GH_HOST=github.localhost", "http_proxy=$FORGE",
			"GITHUB_SERVER_URL=https://github.com", "GITHUB_RUN_ID=5", "GITHUB_STEP_SUMMARY=$FOLDER/summary.md",
			"RUNNER_TEMP=$FOLDER", "GITHUB_PATH=$FOLDER/path", "CI=true",
		},
	},
	"gitlab.yaml": {
		shell: []string{"bash", "-eo", "pipefail", "-c"}, steps: gitlabSteps, install: gitlabInstall,
		values: map[string]string{"$GITLAB_TOKEN": "person-token"},
		env: []string{
			"GITLAB_CI=true", "GITLAB_TOKEN=person-token", "CI_PROJECT_PATH=acme/platform", "CI_API_V4_URL=$FORGE/gitlab", "CI_MERGE_REQUEST_IID=12",
			"CI_MERGE_REQUEST_DIFF_BASE_SHA=$BASE", "CI_PROJECT_URL=$REMOTE", "CI_JOB_URL=https://gitlab.com/acme/platform/-/jobs/5",
			"LOCKSTEP_FOLDER=$FOLDER/lockstep", "CI=true",
		},
	},
	"tekton.yaml": {
		shell: []string{"sh", "-c"}, steps: tektonSteps,
		values: map[string]string{
			"$(params.forge)": "github", "$(params.host)": "github.localhost", "$(params.repository)": "acme/platform", "$(params.number)": "12",
			"$(params.base)": "$BASE", "$(params.fail-on)": "critical,weakens-checks,unclassified,waivers,pipelines", "$(params.branch)": "rendered", "$(results.verdict.path)": "$FOLDER/verdict",
			"secret": "bot-token",
		},
		env: []string{"http_proxy=$FORGE"},
	},
}

// TestPipelines runs the scripts of the pipelines that newcomers copy, as their runners do: a pull request is checked,
// reviewed, commented and commented again; one that opens the network is stopped after its comment; the default branch
// is published to a remote that asks for the token. Comments on GitHub take gh, and are left out if it is not here.
func TestPipelines(t *testing.T) {
	archive, sum := releaseForScripts(t)
	releases := httptest.NewServer(http.StripPrefix("/"+releaseVersion, http.FileServer(http.Dir(archive))))
	defer releases.Close()
	for name, p := range pipelines {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("../../docs/ci", name))
			if err != nil {
				t.Fatal(err)
			}
			forge := &fakeForge{}
			server := httptest.NewServer(forge)
			defer server.Close()
			repository, remote, base := pullRequestRepository(t)
			folder := filepath.Dir(repository)
			url := gitServer(t, folder)
			git(t, repository, "remote", "set-url", "origin", url+"/remote.git")
			known := strings.NewReplacer("$FORGE", server.URL, "$FOLDER", folder, "$BASE", base, "$REMOTE", url+"/remote")
			values := map[string]string{}
			for expression, value := range p.values {
				values[expression] = known.Replace(value)
			}
			env := []string{"no_proxy=127.0.0.1"}
			for _, variable := range p.env {
				env = append(env, known.Replace(variable))
			}
			programs := programsForScripts(t)
			if p.install != nil {
				programs = filepath.Join(folder, "lockstep")
				env = append(env, "LOCKSTEP_VERSION="+releaseVersion, "LOCKSTEP_RELEASES="+releases.URL, "LOCKSTEP_SHA256="+sum)
			}
			runner := runner{shell: p.shell, folder: repository, env: append(env, "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"))}

			if p.install != nil {
				runner.step(t, step{name: "Install", script: p.install(t, data)}, false, "")
			}
			review, comments := withoutMissingPrograms(t, p.steps(t, data, "review", values))
			for range 2 {
				runner.run(t, review, "")
			}
			if comments {
				checkComment(t, forge, "## What this changes: 1 warning")
			}
			if page, err := os.ReadFile(filepath.Join(repository, "review.html")); err != nil || !bytes.Contains(page, []byte("vision")) {
				t.Errorf("the whole report: %v", err)
			}

			if strings.HasPrefix(name, "tekton") {
				if verdict, err := os.ReadFile(filepath.Join(filepath.Dir(repository), "verdict")); err != nil || !bytes.HasPrefix(verdict, []byte("vision loses")) {
					t.Errorf("the verdict is %q, %v", verdict, err)
				}
			}

			openEverything(t, repository)
			runner.run(t, review, "--fail-on `critical,weakens-checks,unclassified,waivers,pipelines`")
			if comments {
				checkComment(t, forge, "critical")
			}

			git(t, repository, "checkout", "-q", "main")
			runner.run(t, p.steps(t, data, "publish", values), "")
			if files := git(t, remote, "ls-tree", "-r", "--name-only", "rendered"); !strings.Contains(files, "dist/local/tenants/vision/tenant.yaml") {
				t.Errorf("the remote has %s", files)
			}
		})
	}
}

// withoutMissingPrograms leaves out the step that comments if it takes a program that is not here.
func withoutMissingPrograms(t *testing.T, steps []step) (kept []step, comments bool) {
	for _, s := range steps {
		if strings.Contains(s.script, "comment.sh") {
			program := "gh"
			if strings.Contains(s.script, "comment.sh gitlab") {
				program = "jq"
			}
			if _, err := exec.LookPath(program); err != nil {
				t.Logf("%s is not here: nothing is commented", program)
				continue
			}
			comments = true
		}
		kept = append(kept, s)
	}
	return kept, comments
}

// checkComment expects one comment with a text.
func checkComment(t *testing.T, forge *fakeForge, text string) {
	t.Helper()
	comments := forge.list()
	if len(comments) != 1 || !strings.Contains(comments[0].Body, "vision") || !strings.Contains(comments[0].Body, text) {
		t.Errorf("want one comment with %q: %+v", text, comments)
	}
}

// gitServer serves the repositories of a folder over HTTP, to the accounts of pipelines alone.
func gitServer(t *testing.T, folder string) string {
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + folder, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=pipeline"}, Root: "/",
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, token, _ := r.BasicAuth()
		if user+":"+token != "x-access-token:bot-token" && user+":"+token != "oauth2:person-token" {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// programsForScripts is a folder with all programs, which nobody changes.
func programsForScripts(t *testing.T) string {
	t.Helper()
	folder, err := programsOnce()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// programsOnce builds the programs the first time: to link them takes longer than what is done with them. They lie beside the test
// program and go with it.
var programsOnce = sync.OnceValues(func() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(filepath.Dir(self), "programs")
	out, err := exec.Command("go", "build", "-o", folder+"/", ".", "../runtime-compiler-charts").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return folder, nil
})

// pullRequestRepository is a clone in which a pull request is merged, as runners check it out; its remote; and what it is compared with.
func pullRequestRepository(t *testing.T) (repository, remote, base string) {
	folder := t.TempDir()
	repository, remote = filepath.Join(folder, "repository"), filepath.Join(folder, "remote.git")
	for name, content := range bundle {
		file := filepath.Join(repository, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, script := range []string{"publish.sh", "comment.sh"} {
		data, err := os.ReadFile(filepath.Join("../../docs/ci", script))
		if err := errors.Join(err, os.MkdirAll(filepath.Join(repository, "ci"), 0o755), os.WriteFile(filepath.Join(repository, "ci", script), data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	git(t, repository, "init", "-q")
	git(t, repository, "add", ".")
	git(t, repository, "commit", "-q", "-m", "Platform")
	git(t, folder, "init", "-q", "--bare", remote)
	git(t, repository, "remote", "add", "origin", remote)
	git(t, repository, "push", "-q", "origin", "main")
	git(t, repository, "checkout", "-q", "-b", "work")
	changeTenant(t, repository, "cpu: 8", "cpu: 4")
	git(t, repository, "checkout", "-q", "--detach", "main")
	git(t, repository, "merge", "-q", "--no-ff", "--no-edit", "work")
	return repository, remote, git(t, repository, "rev-parse", "main")
}

// openEverything is a second version of the pull request.
func openEverything(t *testing.T, repository string) {
	git(t, repository, "checkout", "-q", "work")
	changeTenant(t, repository, "jobs: 20", "jobs: 20\n  network:\n    egress:\n      - cidr: 0.0.0.0/0")
	git(t, repository, "checkout", "-q", "--detach", "main")
	git(t, repository, "merge", "-q", "--no-ff", "--no-edit", "work")
}

func changeTenant(t *testing.T, repository, from, to string) {
	file := filepath.Join(repository, "tenants/vision.yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(data), from, to, 1)
	if changed == string(data) {
		t.Fatalf("there is no %q in\n%s", from, data)
	}
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, repository, "commit", "-q", "-a", "-m", "A change")
}

// bundle are small specs in the form that fmt asks for.
var bundle = map[string]string{
	"catalog/cpu.yaml":            "apiVersion: lockstep.dev/v1alpha1\nkind: HardwareProfile\nmetadata:\n  name: cpu\nspec:\n  fabric:\n    type: Ethernet\n  node:\n    cpu: 2\n    memory: 4Gi\n",
	"catalog/mpi.yaml":            "apiVersion: lockstep.dev/v1alpha1\nkind: MPIRuntime\nmetadata:\n  name: mpi\nspec:\n  mpi:\n    implementation: MPICH\n    version: \"4.2.1\"\n  image: example.org/mpich:4\n  profile: cpu\n",
	"tenants/vision.yaml":         "apiVersion: lockstep.dev/v1alpha1\nkind: Tenant\nmetadata:\n  name: vision\nspec:\n  people:\n    editors: [eds]\n  namespaces: [vision]\n  clusters: [local]\n  quota:\n    cpu: 8\n    memory: 16Gi\n    pods: 40\n    jobs: 20\n",
	"overlays/local/cluster.yaml": "apiVersion: lockstep.dev/v1alpha1\nkind: Cluster\nmetadata:\n  name: local\nspec:\n  platform: Kubernetes\n  version: \"1.36\"\n  agent:\n    image: example.org/agent:1\n",
}

func git(t *testing.T, folder string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), gitEnvironment...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// runner runs steps one after the other, until one fails.
type runner struct {
	shell  []string
	folder string
	env    []string
}

// run runs steps, which end well, or in the last step with a text.
func (r runner) run(t *testing.T, steps []step, fails string) {
	t.Helper()
	if len(steps) < 2 {
		t.Fatalf("%d steps, want more", len(steps))
	}
	for i, s := range steps {
		r.step(t, s, i == len(steps)-1, fails)
	}
}

// step runs a step, which ends well, or if it is the last one with a text.
func (r runner) step(t *testing.T, s step, last bool, fails string) {
	t.Helper()
	cmd := exec.Command(r.shell[0], append(slices.Clone(r.shell[1:]), s.script)...)
	cmd.Dir = r.folder
	cmd.Env = append(append(append([]string{"HOME=" + t.TempDir()}, gitEnvironment...), r.env...), s.env...)
	out, err := cmd.CombinedOutput()
	switch {
	case bytes.Contains(out, []byte("-token")):
		t.Errorf("%s prints a token:\n%s", s.name, out)
	case fails != "" && last && (err == nil || !bytes.Contains(out, []byte(fails))):
		t.Errorf("%s: got %v, want %q in\n%s", s.name, err, fails, out)
	case (fails == "" || !last) && err != nil:
		t.Fatalf("%s: %v\n%s\n%s", s.name, err, s.script, out)
	}
}

const releaseVersion = "v0.0.1"

// releaseForScripts is a folder with the archive of a release, made of the programs of this build, and its checksum.
func releaseForScripts(t *testing.T) (folder, sum string) {
	t.Helper()
	programs, folder := programsForScripts(t), t.TempDir()
	name := "lockstep-" + releaseVersion + "-linux-amd64"
	if err := os.Symlink(programs, filepath.Join(folder, name)); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(folder, name+".tar.gz")
	out, err := exec.Command("sh", "-c", `tar -chf - -C "$1" "$2" | gzip -1 > "$3" && sha256sum "$3"`, "sh", folder, name, archive).Output()
	if err != nil {
		t.Fatal(err)
	}
	sum, _, _ = strings.Cut(string(out), " ")
	return folder, sum
}

// installStep is the name of the step that installs a release. It is run once, before all others.
const installStep = "Install"

// githubInstall returns the script of the step that installs a release, which is the same in all jobs.
func githubInstall(t *testing.T, data []byte) string {
	var file struct {
		Jobs map[string]struct {
			Steps []struct{ Name, Run string }
		}
	}
	read(t, data, &file)
	scripts := map[string]bool{}
	for _, job := range file.Jobs {
		for _, s := range job.Steps {
			if s.Name == installStep {
				scripts[s.Run] = true
			}
		}
	}
	if len(scripts) != 1 {
		t.Fatalf("%d ways to install, want one", len(scripts))
	}
	return slices.Collect(maps.Keys(scripts))[0]
}

func gitlabInstall(t *testing.T, data []byte) string {
	var file struct {
		Default struct {
			BeforeScript []string `yaml:"before_script"`
		}
	}
	read(t, data, &file)
	return strings.Join(file.Default.BeforeScript, "\n")
}

func githubSteps(t *testing.T, data []byte, job string, values map[string]string) []step {
	var file struct {
		Jobs map[string]struct {
			Steps []struct {
				Name, Run string
				Env       map[string]string
			}
		}
	}
	read(t, data, &file)
	var steps []step
	for _, s := range file.Jobs[job].Steps {
		if s.Run == "" || s.Name == installStep {
			continue
		}
		own := step{name: s.Name, script: s.Run}
		for name, value := range s.Env {
			own.env = append(own.env, name+"="+filled(t, value, values))
		}
		if strings.Contains(s.Run, "${{") {
			t.Errorf("%s: an expression in a script lets a pull request write the script: put it into env", s.Name)
		}
		steps = append(steps, own)
	}
	return steps
}

func gitlabSteps(t *testing.T, data []byte, job string, values map[string]string) []step {
	var file map[string]struct {
		Script    []string
		Variables map[string]string
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var all map[string]any
	if err := decoder.Decode(&all); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"stages", "variables", "default"} {
		delete(all, other)
	}
	jobs, err := yaml.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	read(t, jobs, &file)
	var steps []step
	for _, line := range file[job].Script {
		own := step{name: line, script: line}
		for name, value := range file[job].Variables {
			if replaced, known := values[value]; known {
				value = replaced
			}
			own.env = append(own.env, name+"="+value)
		}
		steps = append(steps, own)
	}
	return steps
}

func tektonSteps(t *testing.T, data []byte, job string, values map[string]string) []step {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var task struct {
			Metadata struct{ Name string }
			Spec     struct {
				Steps []struct {
					Name, Script string
					Env          []struct {
						Name, Value string
						ValueFrom   any `yaml:"valueFrom"`
					}
				}
			}
		}
		if err := decoder.Decode(&task); errors.Is(err, io.EOF) {
			t.Fatalf("there is no task %s", job)
		} else if err != nil {
			t.Fatal(err)
		}
		if task.Metadata.Name != "lockstep-"+job {
			continue
		}
		var steps []step
		for _, s := range task.Spec.Steps {
			own := step{name: s.Name, script: filled(t, s.Script, values)}
			for _, v := range s.Env {
				value := filled(t, v.Value, values)
				if v.ValueFrom != nil {
					value = values["secret"]
				}
				own.env = append(own.env, v.Name+"="+value)
			}
			steps = append(steps, own)
		}
		return steps
	}
}

var expressions = regexp.MustCompile(`\$\{\{[^}]*\}\}|\$\((?:params|results|workspaces)\.[^)]*\)`)

// filled puts values in for expressions, all of which must be known.
func filled(t *testing.T, text string, values map[string]string) string {
	return expressions.ReplaceAllStringFunc(text, func(expression string) string {
		value, known := values[expression]
		if !known {
			t.Errorf("nobody knows %s", expression)
		}
		return value
	})
}

func read(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}
