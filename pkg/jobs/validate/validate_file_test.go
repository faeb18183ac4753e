package validate

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/template"
)

const head = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: train}\n"

func TestFile(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		want         []string
	}{
		"Good":        {"", head + "spec:\n  runtimeRef: {name: r}\n", nil},
		"Two":         {"", head + "spec:\n  runtimeRef: {name: r}\n---\n# only a remark\n---\n" + head + "spec: {runtimeRef: {name: r}}\n", nil},
		"Empty":       {"", "---\n# only a remark\n", []string{"f.yaml:1:1: error: the file has no TrainJob"}},
		"NoYAML":      {"", "a: [1\nb", []string{"f.yaml:3:1: error: this is not YAML: did not find expected ',' or ']'"}},
		"Unknown":     {"the field itself is not found, but where it stands is", head + "spec:\n  runtimeRef: {name: r}\n  trainer:\n    numNode: 2\n", []string{"f.yaml:7:14: error: `TrainJob.spec.trainer` has no field `numNode`\n  help: did you mean `numNodes`?"}},
		"UnknownFar":  {"", head + "spec:\n  runtimeRef: {name: r, zzzzzzzz: 1}\n", []string{"f.yaml:5:35: error: `TrainJob.spec.runtimeRef` has no field `zzzzzzzz`\n  help: allowed are apiGroup, kind, name"}},
		"InAList":     {"", head + "spec:\n  runtimeRef: {name: r}\n  trainer:\n    env:\n    - name: A\n    - {nam: B}\n", []string{"f.yaml:9:13: error: `TrainJob.spec.trainer.env[1]` has no field `nam`\n  help: did you mean `name`?"}},
		"WrongType":   {"", head + "spec:\n  runtimeRef: {name: r}\n  trainer:\n    numNodes: two\n", []string{"f.yaml:7:15: error: `spec.trainer.numNodes` is a string here, and must be a number"}},
		"WrongList":   {"", head + "spec:\n  runtimeRef: {name: r}\n  trainer:\n    command: mpirun\n", []string{"f.yaml:7:14: error: `spec.trainer.command` is a string here, and must be a list"}},
		"WrongBool":   {"", head + "spec:\n  runtimeRef: {name: r}\n  suspend: maybe\n", []string{"f.yaml:6:12: error: `spec.suspend` is a string here, and must be true or false"}},
		"WrongText":   {"", head + "spec:\n  runtimeRef: {name: r}\n  trainer: {image: 5}\n", []string{"f.yaml:6:20: error: `spec.trainer.image` is a number here, and must be a text: put it in quotes"}},
		"WrongMap":    {"", strings.Replace(head, "name: train", "labels: x", 1) + "spec:\n  runtimeRef: {name: r}\n", []string{"f.yaml:3:20: error: `metadata.labels` is a string here, and must be a mapping"}},
		"WrongObject": {"", head + "spec:\n  runtimeRef: {name: r}\n  trainer: x\n", []string{"f.yaml:6:12: error: `spec.trainer` is a string here, and must be an object"}},
		"Twice":       {"", head + "spec:\n  runtimeRef: {name: r}\n  runtimeRef: {name: s}\n", []string{"f.yaml:6:1: error: this is not YAML: "}},
		"OtherKind": {"", "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\n", []string{
			"f.yaml:2:7: error: kind is `MPIJob` and apiVersion is `kubeflow.org/v2beta1`, a TrainJob has `TrainJob` and `trainer.kubeflow.org/v1alpha1`\n" +
				"  help: kubectl mpi makes TrainJobs only; `kubectl mpi convert` moves MPIJobs",
		}},
		"NoVersion": {"", "kind: TrainJob\n", []string{
			"f.yaml:1:7: error: kind is `TrainJob` and apiVersion is missing, a TrainJob has `TrainJob` and `trainer.kubeflow.org/v1alpha1`\n" +
				"  help: kubectl mpi makes TrainJobs only; `kubectl mpi convert` moves MPIJobs",
		}},
		"NoObject":     {"", "- a\n", []string{"f.yaml:1:1: error: this is not an object, but a TrainJob is"}},
		"NoNameNoRef":  {"", strings.Replace(head, "{name: train}", "{}", 1) + "spec: {}\n", []string{"f.yaml:3:11: error: the job has no name\n  help: add metadata.name", "f.yaml:4:7: error: the job names no runtime\n  help: add spec.runtimeRef.name; `kubectl mpi runtimes` shows which there are"}},
		"BadName":      {"", strings.Replace(head, "train}", "Train_1}", 1) + "spec: {runtimeRef: {name: r}}\n", []string{"f.yaml:3:18: error: `Train_1` cannot be the name of a job: it has lower-case letters, digits"}},
		"GeneratedJob": {"", strings.Replace(head, "name: train", "generateName: train-", 1) + "spec: {runtimeRef: {name: r}}\n", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for i, f := range File("f.yaml", []byte(tc.text)).Findings {
				text := f.String()
				if i < len(tc.want) && strings.HasPrefix(text, tc.want[i]) {
					text = tc.want[i]
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestTooManyDocuments(t *testing.T) {
	text := strings.Repeat("---\n"+head+"spec: {runtimeRef: {name: r}}\n", maxDocuments+1)
	if result := File("f", []byte(text)); len(result.Findings) != 1 || !strings.Contains(result.Findings[0].Message, "more than 1000") {
		t.Errorf("%v", result.Findings)
	}
}

func document(t *testing.T, spec string) Document {
	t.Helper()
	result := File("f.yaml", []byte(head+spec))
	if len(result.Jobs) != 1 {
		t.Fatal(result.Findings)
	}
	return result.Jobs[0]
}

// builtRuntime is a compiled runtime of at most four nodes.
func builtRuntime(t *testing.T) mpijob.Runtime {
	t.Helper()
	r := template.Runtime{Name: "r", Implementation: "MPICH", Version: "4.2", Annotations: map[string]string{"lockstep.dev/max-nodes": "4"}}
	r.World.Nodes, r.World.SlotsPerNode = 2, 2
	built, err := r.Build()
	if err != nil {
		t.Fatal(err)
	}
	return mpijob.Runtime{Labels: built.Labels, Annotations: built.Annotations, Spec: built.Spec}
}

func TestRanksThatShareGPUs(t *testing.T) {
	runtime := builtRuntime(t)
	for text, want := range map[string]string{
		"16\n    resourcesPerNode: {limits: {nvidia.com/gpu: 2}}": "f.yaml:7:21: warning: 16 ranks on each node share 2 GPUs",
		"2\n    resourcesPerNode: {limits: {nvidia.com/gpu: 2}}":  "",
		"16": "",
	} {
		found := ""
		d := document(t, "spec:\n  runtimeRef: {name: r}\n  trainer:\n    numProcPerNode: "+text+"\n    args: [x]\n")
		for _, f := range d.CheckAgainst(runtime) {
			found, _, _ = strings.Cut(f.String(), "\n")
		}
		if found != want {
			t.Errorf("%s: got %q, want %q", text, found, want)
		}
	}
}

func TestRetiring(t *testing.T) {
	labels := map[string]string{mpi.SupportLabel: mpi.Deprecated}
	retiring := builtRuntime(t)
	maps.Copy(retiring.Labels, labels)
	for name, runtime := range map[string]mpijob.Runtime{"compiled": retiring, "of others": {Labels: labels}} {
		got := document(t, "spec:\n  runtimeRef: {name: r}\n  trainer:\n    args: [x]\n").CheckAgainst(runtime)
		if len(got) != 1 || got[0].String() != "f.yaml:5:22: warning: runtime `r` is deprecated" {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestUnknownAnnotations(t *testing.T) {
	const annotations = "\n  name: train\n  annotations: {lockstep.dev/artifact: x, lockstep.dev/user: jane, other: y}"
	text := strings.Replace(head, "{name: train}", annotations, 1) +
		"spec: {runtimeRef: {name: r}, trainer: {args: [x]}}\n"
	found := File("f.yaml", []byte(text)).Jobs[0].CheckAgainst(builtRuntime(t))
	if len(found) != 1 || !found[0].Warning || found[0].Help != "did you mean `lockstep.dev/artifacts`?" {
		t.Errorf("%v", found)
	}
}

func TestNeeds(t *testing.T) {
	const annotations = "\n  name: train\n  annotations: {lockstep.dev/artifacts: '{to: s3://b/p, secret: out}'}"
	text := strings.Replace(head, "{name: train}", annotations, 1) + `spec:
  runtimeRef: {name: r}
  initializer:
    dataset: {storageUri: s3://b/set, secretRef: {name: in}}
    model: {storageUri: pvc://mine/bert}
  trainer: {args: [x]}
`
	d := File("f.yaml", []byte(text)).Jobs[0]
	got := ""
	for _, n := range d.Needs(builtRuntime(t)) {
		got += fmt.Sprintf("%s %s at line %d\n", n.Kind, n.Name, d.Missing(n).Line)
	}
	want := "Secret in at line 9\nPersistentVolumeClaim lockstep-data at line 9\n" +
		"PersistentVolumeClaim mine at line 10\nSecret out at line 5\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestAgainst(t *testing.T) {
	runtime := builtRuntime(t)
	d := document(t, "spec:\n  runtimeRef: {name: r}\n  trainer:\n    numNodes: 9\n")
	if got := d.CheckAgainst(runtime); len(got) != 1 || got[0].Line != 7 || got[0].Column != 15 || !strings.Contains(got[0].Message, "at most 4") {
		t.Errorf("%v", got)
	}
	if got := document(t, "spec:\n  runtimeRef: {name: r}\n  trainer:\n    numNodes: 3\n    args: [x]\n").CheckAgainst(runtime); got != nil {
		t.Errorf("%v", got)
	}
	if got := document(t, "spec:\n  runtimeRef: {name: r}\n").CheckAgainst(runtime); len(got) != 1 || got[0].Line != 5 || !strings.Contains(got[0].Message, "no command") {
		t.Errorf("%v", got)
	}
	long := document(t, "spec:\n  runtimeRef: {name: r}\n  trainer:\n    command: [sh, -c, "+strings.Repeat("y", 300_000)+"]\n")
	if got := long.CheckAgainst(runtime); len(got) != 1 || got[0].Line != 7 || !strings.Contains(got[0].Message, "has 300000 bytes, and Linux takes at most 128 KiB (131071 bytes)") {
		t.Errorf("%v", got)
	}
	traced := strings.Replace(head, "{name: train}", "\n  name: train\n  annotations: {lockstep.dev/trace: everything}", 1) + "spec: {runtimeRef: {name: r}, trainer: {args: [x]}}\n"
	if got := File("jobs.yaml", []byte(traced)).Jobs[0].CheckAgainst(runtime); len(got) != 1 || got[0].Line != 5 || !strings.Contains(got[0].Message, "allowed are `traffic`, `waiting`, `horovod` and `nccl`") {
		t.Errorf("%v", got)
	}
	runtime.Labels = nil // of others, whose image may have a command
	if got := document(t, "spec:\n  runtimeRef: {name: r}\n").CheckAgainst(runtime); got != nil {
		t.Errorf("%v", got)
	}
	if got := d.CheckAgainst(mpijob.Runtime{}); got != nil {
		t.Errorf("a runtime of others was judged: %v", got)
	}
}

func TestCanStart(t *testing.T) {
	runtime := builtRuntime(t)
	runs := document(t, "spec: {runtimeRef: {name: r}, trainer: {numNodes: 9, command: [mpirun, x]}}\n").Job
	if err := CanStart(runs, runtime); err != nil {
		t.Errorf("how many nodes it may have is the controller's to say: %v", err)
	}
	if err := CanStart(document(t, "spec: {runtimeRef: {name: r}}\n").Job, runtime); err == nil || !strings.Contains(err.Error(), "no command") {
		t.Error(err)
	}
	runs.Spec.Trainer.Args = []string{strings.Repeat("y", 300_000)}
	if err := CanStart(runs, runtime); err == nil || !strings.Contains(err.Error(), "spec.trainer.args[0] has 300000 bytes") {
		t.Error(err)
	}
	runs.Name = strings.Repeat("a", mpijob.MaxNameLength+1)
	if err := CanStart(runs, runtime); err == nil || !strings.Contains(err.Error(), "name") {
		t.Error(err)
	}
	if err := CanStart(runs, mpijob.Runtime{}); err != nil {
		t.Errorf("a runtime of others was judged: %v", err)
	}
}

func TestPlace(t *testing.T) {
	d := document(t, "spec:\n  runtimeRef: {name: r}\n  runtimePatches:\n  - manager: a\n  trainer:\n    numNodes: 9\n    env:\n    - name: A\n      value: b\n")
	for message, want := range map[string]int{
		"spec.trainer.numNodes is 64; runtime `r` runs on 1 to 16 nodes":  9,
		"spec.trainer.env[0].value is odd":                                12,
		"spec.runtimePatches sets `finalizers`, which is the runtime's":   7,
		"numNodes is 9, this runtime allows at most 4":                    9,
		"the label kueue.x-k8s.io/queue-name is missing; jobs wait in it": 3,
		"spec.initializer is not supported":                               5,
	} {
		if got := d.PlaceMessage(message); got.Line != want {
			t.Errorf("%s: line %d, want %d", message, got.Line, want)
		}
	}
}
