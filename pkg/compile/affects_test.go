package compile_test

import (
	"maps"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/explain"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
	"lockstep.dev/lockstep/pkg/mpi"
)

// TestAffectsTellsEveryChange changes the numbers of the repository's specs, one line at a time, and compares what becomes of each
// object with what `affects` says of the line: a leaf that changes and was not named would be a change that nobody expected.
func TestAffectsTellsEveryChange(t *testing.T) {
	needsSchemas(t)
	files := specsOf(t)
	before := objectsOf(t, files)
	changes, told := 0, 0
	for name, file := range files {
		if !strings.HasPrefix(name, "catalog/") && !strings.HasPrefix(name, "tenants/") {
			continue
		}
		lines := strings.Split(string(file.Data), "\n")
		for i, line := range lines {
			changed, is := otherNumber(line)
			if !is {
				continue
			}
			edited := maps.Clone(files)
			edited[name] = &fstest.MapFile{Data: []byte(strings.Join(append(append(append([]string{}, lines[:i]...), changed), lines[i+1:]...), "\n"))}
			after, list := compile.Compile(edited, compile.Options{Charts: helm.Renderer{}})
			if list.Errors() > 0 {
				continue // this number cannot be another one
			}
			changes++
			for j, cluster := range before {
				for path := range different(cluster, after[j]) {
					if strings.HasSuffix(path.path, mpi.FingerprintAnnotation+`"]`) {
						continue // it comes from all lines of a runtime: that would be no answer
					}
					told++
					if !names(cluster, name, i+1, path) {
						t.Errorf("%s:%d: `%s` becomes `%s`: %s on %s changes, and `affects` does not name it", name, i+1, strings.TrimSpace(line), strings.TrimSpace(changed), path, cluster.Name)
					}
				}
			}
		}
	}
	t.Logf("%d lines, %d changed leaves", changes, told)
	if changes < 10 || told < 50 {
		t.Errorf("only %d lines and %d changed leaves", changes, told)
	}
}

var number = regexp.MustCompile(`^( *[A-Za-z]+: )([0-9]+)((?:[KMGT]i)?)( *#.*)?$`)

// otherNumber returns a line `key: 8` with another number.
func otherNumber(line string) (string, bool) {
	parts := number.FindStringSubmatch(line)
	if parts == nil {
		return "", false
	}
	other := map[bool]string{true: "3", false: "2"}[parts[2] == "2"]
	if len(parts[2]) > 1 {
		other = parts[2][:len(parts[2])-1] + map[bool]string{true: "1", false: "2"}[strings.HasSuffix(parts[2], "2")]
	}
	return parts[1] + other + parts[3], true
}

type leaf struct{ object, path string }

func (l leaf) String() string { return l.object + " " + l.path }

func leavesOf(c compile.Cluster) map[leaf]string {
	all := map[leaf]string{}
	for _, o := range c.Objects.Sorted() {
		o.Leaves(func(path []string, n *object.Node, _ *origin.Origin) {
			all[leaf{o.ID.String(), explain.Path(path).String()}] = n.Text
		})
	}
	return all
}

// different returns the leaves of a cluster that are not what they were; what is new has no place in what was.
func different(before, after compile.Cluster) map[leaf]bool {
	now, result := leavesOf(after), map[leaf]bool{}
	for at, was := range leavesOf(before) {
		if is, found := now[at]; found && is != was {
			result[at] = true
		}
	}
	return result
}

// names reports whether `affects` names a leaf for a line.
func names(c compile.Cluster, file string, line int, at leaf) bool {
	for _, v := range explain.Affected(c.Name, c.Objects.Sorted(), file, line) {
		if v.Object.String() == at.object && v.Path.String() == at.path {
			return true
		}
	}
	return false
}
