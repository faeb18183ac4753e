package compile_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/compile/explain"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
)

// TestWrittenIsWritten: where an answer says that a value is written in a line, the line has the value; all else is derived.
func TestWrittenIsWritten(t *testing.T) {
	leaves := 0
	for name, clusters := range allClusters(t) {
		for _, cluster := range clusters {
			for _, o := range cluster.Objects.Sorted() {
				o.Leaves(func(path []string, leaf *object.Node, from *origin.Origin) {
					if from == nil || from.Kind != origin.Written {
						return
					}
					leaves++
					if line := from.At.File.Line(from.At.Line); !writes(line, leaf) {
						t.Errorf("%s: %s %s is %s, written at %s: %s", name, o.ID, strings.Join(path, "."), leaf.Text, from.At, line)
					}
				})
			}
		}
	}
	if leaves < 500 {
		t.Errorf("only %d leaves", leaves)
	}
}

// word is a scalar as YAML and Jsonnet write it.
var word = regexp.MustCompile(`"[^"]*"|'[^']*'|[^\s,{}\[\]]+`)

// writes reports whether a line has a value, as text, or as another form of the same amount.
func writes(line string, leaf *object.Node) bool {
	if leaf.Kind == object.MapNode || leaf.Kind == object.ListNode || strings.Contains(line, leaf.Text) {
		return true
	}
	amount, err := resource.ParseQuantity(leaf.Text)
	for _, w := range word.FindAllString(line, -1) {
		if other, wrong := resource.ParseQuantity(strings.Trim(w, `"'`)); err == nil && wrong == nil && amount.Cmp(other) == 0 {
			return true
		}
	}
	return false
}

// TestAffects finds what a line feeds where it is one of several: a value of a chart, what a machine of a profile has.
func TestAffects(t *testing.T) {
	for _, c := range []struct{ file, line, object, path string }{
		{"overlays/local/cluster.yaml", "        image: ", "Deployment.apps lockstep-system/mpi-controller", "metadata.name"},
		{"overlays/local/cluster.yaml", "everyNamespace:", "Deployment.apps lockstep-system/mpi-controller", "spec.replicas"},
		{"catalog/profiles/cpu-ethernet.yaml", "    memory: ", "ValidatingAdmissionPolicy.admissionregistration.k8s.io lockstep-trainjob", "spec.variables.profile_cpu_ethernet.expression"},
	} {
		line := lineOf(t, c.file, c.line)
		var objects []string
		found := false
		for _, cluster := range objectsOf(t, repository) {
			for _, v := range explain.Affected(cluster.Name, cluster.Objects.Sorted(), c.file, line) {
				objects = append(objects, v.Object.String()+" "+v.Path.String())
				found = found || v.Object.String() == c.object && v.Path.String() == c.path
			}
		}
		if !found {
			t.Errorf("%s:%d does not affect %s of %s, but %d values", c.file, line, c.path, c.object, len(objects))
		}
	}
}

func lineOf(t *testing.T, name, text string) int {
	t.Helper()
	data, err := fs.ReadFile(repository, name)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(data), strings.TrimRight(text, " "))
	if !found {
		t.Fatalf("%s has no %q", name, text)
	}
	return strings.Count(before, "\n") + 1
}
