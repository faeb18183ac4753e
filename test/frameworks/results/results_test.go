package results

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const root = "../../.."

// TestDocument holds docs/catalog.md against the results and the catalog. After a change of either, `go run ./test/frameworks/document` writes it.
func TestDocument(t *testing.T) {
	rows, err := Read(filepath.Join(root, File))
	if err != nil {
		t.Fatal(err)
	}
	want, err := Document(os.DirFS(filepath.Join(root, "catalog", "runtimes")), rows)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, Page))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("run `go run ./test/frameworks/document` (-want +got):\n%s", diff)
	}
}

// TestImagesOfTheCatalogHaveRecipes: nobody shall find a runtime whose image cannot be made.
func TestImagesOfTheCatalogHaveRecipes(t *testing.T) {
	recipes := map[string]string{}
	for pattern, line := range map[string]*regexp.Regexp{
		"test/images/*/image.yaml": regexp.MustCompile(`(?m)^reference: (\S+)$`),
		"images/*/Containerfile":   regexp.MustCompile(`^# Image: (\S+)\n`),
	} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			found := line.FindStringSubmatch(string(text))
			if err != nil || found == nil {
				t.Fatalf("%s names no image: %v", file, err)
			}
			recipes[found[1]] = file
		}
	}
	catalog := os.DirFS(filepath.Join(root, "catalog", "runtimes"))
	files, err := filepath.Glob(filepath.Join(root, "catalog", "runtimes", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		spec, err := read(catalog, filepath.Base(file))
		if err != nil {
			t.Fatal(err)
		}
		if recipes[spec.Spec.Image] == "" {
			t.Errorf("%s: nothing in the tree makes %s", spec.Metadata.Name, spec.Spec.Image)
		}
	}
}

func TestMergeReplacesWhatIsAboutTheSame(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.json")
	old := Row{Framework: "Horovod", Launcher: "mpirun", Runtime: "a", Runs: "yes", Date: "2026-01-01"}
	other := Row{Framework: "Horovod", Launcher: "horovodrun --gloo", Runtime: "a", Runs: Never}
	larger := Row{Framework: "Horovod", Launcher: "mpirun", Runtime: "a", Nodes: 4, Runs: "yes"}
	newer := old
	newer.Date = "2026-01-02"
	beside := Row{Framework: "Horovod", Launcher: "mpirun", Runtime: "a", Nodes: 4, Companion: "yes"}
	for _, rows := range [][]Row{{old, other, larger}, {newer, beside}} {
		if err := Merge(file, rows); err != nil {
			t.Fatal(err)
		}
	}
	larger.Companion = "yes"
	got, err := Read(file)
	if diff := cmp.Diff([]Row{other, newer, larger}, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

// TestWhatDidNotRunSaysNever: a column is not empty, and a benchmark has nothing to go on from.
func TestWhatDidNotRunSaysNever(t *testing.T) {
	text, err := Document(fstest.MapFS{}, []Row{
		{Framework: "beside", Learns: NotApplicable, Exit: NotApplicable, Killed: NotApplicable, Memory: NotApplicable, Companion: "yes"},
		{Framework: "training", Runs: "yes", Learns: "yes", Exit: "yes", Killed: "yes", Memory: "yes"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"| beside | `` |  |  | 0 | never | – | – | – | – | yes | – |",
		"| training | `` |  |  | 0 | yes | yes | yes | yes | yes | never | never |",
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s in:\n%s", line, text)
		}
	}
}

// TestOnlyWhatRanHasADate: neither another image nor another runtime counts.
func TestOnlyWhatRanHasADate(t *testing.T) {
	const spec = "apiVersion: lockstep.dev/v1alpha1\nkind: MPIRuntime\nmetadata: {name: NAME}\nspec: {mpi: {implementation: OpenMPI, version: \"5\"}, image: \"r/i:2\", profile: p}\n"
	catalog := fstest.MapFS{}
	for _, name := range []string{"ran", "changed", "new"} {
		catalog[name+".yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(spec, "NAME", name, 1))}
	}
	text, err := Document(catalog, []Row{
		{Runtime: "ran", Image: "r/i:2", Digest: "sha256:0123456789abcdef", Date: "2026-01-01"},
		{Runtime: "changed", Image: "r/i:1", Digest: "sha256:0123456789abcdef", Date: "2026-01-01"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"| [ran](../catalog/runtimes/ran.yaml) | `r/i:2` | `sha256:0123456789ab` | 2026-01-01 |",
		"| [changed](../catalog/runtimes/changed.yaml) | `r/i:2` | – | never |",
		"| [new](../catalog/runtimes/new.yaml) | `r/i:2` | – | never |",
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s in:\n%s", line, text)
		}
	}
}
