package compare

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/submit"
	"lockstep.dev/lockstep/pkg/mpi"
)

// withFiles is a run that took files along.
func withFiles(t *testing.T, files submit.Files) Run {
	t.Helper()
	r := run(2, nil, nil)
	job, err := submit.TrainJob(submit.Options{Name: "train", Runtime: submit.Runtime{Name: "r"}, Nodes: 2, Command: []string{"sh", "run.sh"}, Files: files})
	if err != nil {
		t.Fatal(err)
	}
	r.TrainJob.Spec = job.Spec
	return r
}

// calling is a run of a function, as the Python package sends it.
func calling(source, arguments string) Run {
	r := run(2, nil, nil)
	r.TrainJob.Spec.Trainer.Command = []string{"mpirun", "python3", "-c", program(source, arguments)}
	return r
}

func program(source, arguments string) string {
	return "SOURCE = \"\"\"" + source + "\"\"\"\n\n" + strings.Repeat("# what calls it\n", 300) + "\n\nrun(SOURCE, 'train.py', 7, 'train', {" + arguments + "})\n"
}

func TestFiles(t *testing.T) {
	left := withFiles(t, submit.Files{"run.sh": "set -e\nmpirun a\n", "old": "x", "same": "y", "empty": "", "keys.env": "A=1\nAPI_TOKEN=one\n"})
	right := withFiles(t, submit.Files{"run.sh": "set -e\nmpirun b\nmore\n", "same": "y", "new/a.py": "print()\n", "keys.env": "A=1\nAPI_TOKEN=another\n"})
	got := Runs(left, right)
	want := []Difference{
		{"file empty", "0 bytes", ""},
		{"file keys.env", "18 bytes; line 2: API_TOKEN=***", "22 bytes; line 2: API_TOKEN=***"},
		{"file new/a.py", "", "8 bytes"},
		{"file old", "1 byte", ""},
		{"file run.sh", "16 bytes; line 2: mpirun a", "21 bytes; line 2: mpirun b"},
	}
	if diff := cmp.Diff(want, got.Differences); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !slices.Contains(got.Equal, "file same") || !slices.Contains(got.Equal, "command") {
		t.Error(got.Equal)
	}
	if got := left.gatherFacts().values["command"]; got != "sh run.sh" {
		t.Errorf("the command is `%s`", got)
	}
}

func TestFunctions(t *testing.T) {
	const body = "def train(lr, **more):\n    print(\\\"\\\"\\\"a\\\"\\\"\\\")\n"
	left := calling(body, `'lr': 0.1, 'layers': [1, 2], 'name': "it's, {", 'price': '5\x24', 'api_key': 'one'`)
	right := calling(body, `'lr': 0.3, 'layers': [1, 2], 'name': "it's, {", 'price': '5\x24', 'api_key': 'two', 'more': {'a': (1, 2)}`)
	got := Runs(left, right)
	want := []Difference{{"argument lr", "0.1", "0.3"}, {"argument api_key", "***", "***"}, {"argument more", "", "{'a': (1, 2)}"}}
	if diff := cmp.Diff(want, got.Differences); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for name, want := range map[string]string{
		"command": "mpirun python3 -c train() of train.py", "argument name": `"it's, {"`, "argument layers": "[1, 2]", "argument price": "'5$'",
	} {
		if got := left.gatherFacts().values[name]; got != want {
			t.Errorf("%s is `%s`, want `%s`", name, got, want)
		}
	}
	other := Runs(left, calling(strings.ReplaceAll(body, "print", "exit"), `'lr': 0.1, 'layers': [1, 2], 'name': "it's, {", 'price': '5\x24', 'api_key': 'one'`))
	if diff := cmp.Diff([]Difference{{"function train", `42 bytes; line 2:     print("""a""")`, `41 bytes; line 2:     exit("""a""")`}}, other.Differences); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := Runs(calling("", ""), calling("", "")); got.Differences != nil {
		t.Error(got.Differences)
	}
}

// TestLongValues: of a long value what differs is shown.
func TestLongValues(t *testing.T) {
	long := strings.Repeat("ä", 300)
	for name, c := range map[string]struct{ left, right, wantLeft, wantRight string }{
		"Short":   {"a", "b", "a", "b"},
		"Middle":  {long + "lr=1" + long, long + "lr=22" + long, "…" + long[:34] + "lr=1" + long[:40] + "…", "…" + long[:34] + "lr=22" + long[:40] + "…"},
		"Begin":   {"1" + long, "2" + long, "1" + long[:40] + "…", "2" + long[:40] + "…"},
		"End":     {long + "1", long, "…" + long[:40] + "1", "…" + long[:40]},
		"All":     {strings.Repeat("a", 300), "b", strings.Repeat("a", 200) + "…", "b"},
		"OnlyOne": {"", long, "", long[:400] + "…"},
		"Lines":   {"a\nb\nc", "a\nd\nc", "line 2: b", "line 2: d"},
		"Shorter": {"a\nb", "a", "line 2: b", ""},
		"NoLine":  {"", "a\nb", "", "line 1: a"},
	} {
		if left, right := Excerpts(c.left, c.right); left != c.wantLeft || right != c.wantRight {
			t.Errorf("%s: `%s` and `%s`, want `%s` and `%s`", name, left, right, c.wantLeft, c.wantRight)
		}
	}
}

// TestPatchesOfOthers: what is no patch of files is none.
func TestPatchesOfOthers(t *testing.T) {
	r := withFiles(t, submit.Files{"a": "b"})
	pod := r.TrainJob.Spec.RuntimePatches[0].TrainingRuntimeSpec.Template.Spec.ReplicatedJobs[0].Template.Spec.Template
	pod.Spec.Volumes[0].DownwardAPI.Items[0].FieldRef.FieldPath = "metadata.name"
	if got := submit.FilesOf(r.TrainJob); len(got) > 0 {
		t.Error(got)
	}
	r.TrainJob.Spec.RuntimePatches = []trainer.RuntimePatch{{Manager: submit.Manager}}
	if got := submit.FilesOf(r.TrainJob); got != nil {
		t.Error(got)
	}
	if got := mpi.UnwrapFilesDir(r.TrainJob.Spec.Trainer.Command); !slices.Equal(got, []string{"sh", "run.sh"}) {
		t.Error(got)
	}
}
