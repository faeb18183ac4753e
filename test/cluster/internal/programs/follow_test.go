package programs

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

var update = flag.Bool("update", false, "make the modules follow the product's versions")

// shared are the modules that many programs stand on: one that has another version than the product's is compiled again, and so is
// everything above it.
var shared = regexp.MustCompile(`^(k8s\.io|sigs\.k8s\.io|golang\.org/x|google\.golang\.org|go\.opentelemetry\.io|go\.yaml\.in)/` +
	`|^github\.com/(prometheus|go-openapi|go-logr|google/(cel-go|gnostic-models)|json-iterator|fxamacker|emicklei|modern-go|antlr4-go|felixge|fsnotify|grpc-ecosystem|spf13)/`)

// apart are the modules that have versions of their own, and why.
var apart = map[string]string{
	"argo-cd":             "its releases stand on versions of Kubernetes that are older than the product's",
	"collector":           "OpenTelemetry's own libraries are newer than the product's",
	"cni":                 "its plugins ask for libraries of OpenTelemetry that are newer than the product's",
	"containerd":          "it asks for libraries of OpenTelemetry and Kubernetes that are newer than the cluster's",
	"helm":                "it stands on libraries of Kubernetes that are newer than the cluster's",
	"kubernetes-1.34":     "its version is what it is for",
	"kubernetes-1.37":     "its version is what it is for",
	"loki":                "its releases stand on versions of Kubernetes that are older than the product's",
	"prometheus-operator": "one of its libraries asks for a golang.org/x/exp that is newer than the product's",
	"flux":                "one of its libraries asks for a json-iterator that is newer than the product's",
}

// All modules in test/cluster and test/images follow the product's versions, so that Go's build cache shares what they have in common: a
// package is compiled once exactly if its version and those of everything below it are equal. Half of a cold `make demo` hangs on it.
func TestModulesFollowTheProduct(t *testing.T) {
	product := modFile(t, "../../go.mod")
	versions := map[string]string{}
	for _, r := range product.Require {
		versions[r.Mod.Path] = r.Mod.Version
	}
	t.Run("test/cluster", func(t *testing.T) { follow(t, versions, "go.mod", []string{"mod", "tidy"}) })
	t.Run("test/images", func(t *testing.T) { follow(t, versions, "../images/go.mod", []string{"mod", "tidy"}) })
	// The cluster's Kubernetes is older than the libraries of the product, as Kubeflow Trainer needs it. What runs beside
	// it stands on its libraries, and on the last controller-runtime for them.
	for _, r := range modFile(t, "programs/kubernetes/go.mod").Replace {
		if versions[r.New.Path] != "" {
			versions[r.New.Path] = r.New.Version
		}
	}
	versions["sigs.k8s.io/controller-runtime"] = "v0.24.1"
	for _, f := range catalog {
		t.Run(f.folder, func(t *testing.T) {
			if why, ok := apart[f.folder]; ok {
				t.Skip(why)
			}
			settle := slices.Concat([]string{"list", "-mod=mod", "-deps"}, tags(f))
			for _, name := range f.names() {
				settle = append(settle, f.packages[name])
			}
			follow(t, versions, "programs/"+f.folder+"/go.mod", settle)
		})
	}
}

// follow compares what a module requires and replaces. The version that it requires counts even for what is replaced: Go writes it, and
// not that of the replacement, into what it compiles.
func follow(t *testing.T, versions map[string]string, file string, settle []string) {
	t.Helper()
	module := modFile(t, file)
	edit, drift := []string{"mod", "edit"}, ""
	compare := func(path, version, flag string) {
		if want := versions[path]; want != "" && want != version && shared.MatchString(path) {
			edit = append(edit, flag+want)
			drift += fmt.Sprintf("\n  %s %s, the product has %s", path, version, want)
		}
	}
	for _, r := range module.Require {
		compare(r.Mod.Path, r.Mod.Version, "-require="+r.Mod.Path+"@")
	}
	for _, r := range module.Replace {
		if r.Old.Path == r.New.Path {
			compare(r.New.Path, r.New.Version, "-replace="+r.Old.Path+"="+r.New.Path+"@")
		}
	}
	if drift == "" {
		return
	}
	t.Errorf("%s has versions of its own, so these modules and all that stand on them are compiled once more:%s\nWrite the product's: go test ./internal/programs -run TestModulesFollowTheProduct -update. Where that does not compile, raise the product's, or say why in `apart`.", file, drift)
	if !*update {
		return
	}
	for _, args := range [][]string{edit, settle} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = filepath.Join(source, filepath.Dir(file))
		cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s in %s: %v\n%s", strings.Join(args, " "), cmd.Dir, err, out)
		}
	}
}

func modFile(t *testing.T, file string) *modfile.File {
	t.Helper()
	path := filepath.Join(source, file)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := modfile.Parse(path, content, nil)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
