package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/submit"
	"lockstep.dev/lockstep/pkg/jobs/validate"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/template"
)

// oddWords are parts of commands and values that a shell, YAML or Kubernetes could take for something else.
var oddWords = []string{
	"mpirun", "-np", "--bind-to", "a b", "it's", `say "hi"`, "$HOME", "`id`", "", "é\u202e", "# no comment",
	"true", "0x10",
	"*", "~", "a;b", "&&", "a=b", "--", "line\nline", "$(NAME)", `back\slash`, "- a: b", "'", "\t", "null",
}

// someOptions returns options that a form can yield.
func someOptions(r *rand.Rand) submit.Options {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	o := submit.Options{
		Name: pick("a", "train", "train-2", "x9"), Namespace: "team",
		Runtime: submit.Runtime{Name: "r", Kind: submit.ClusterTrainingRuntime},
		Nodes:   r.Int32N(5), Slots: r.Int32N(4), Image: pick("", "", "registry.example/a:v1"), Queue: "lockstep",
		Command: []string{"mpirun"}, Trace: pick("", "", "waiting", "traffic,waiting"), Suspend: r.IntN(4) == 0,
	}
	for range r.IntN(6) {
		o.Command = append(o.Command, pick(oddWords...))
	}
	for i := range r.IntN(4) {
		o.Env = append(o.Env, corev1.EnvVar{Name: fmt.Sprintf("V_%d", i), Value: pick(oddWords...)})
	}
	for i := range r.IntN(3) {
		o.Claims = append(o.Claims, submit.VolumeClaim{
			Name: fmt.Sprintf("claim-%d", i), Path: fmt.Sprintf("/data/%d", i), ReadOnly: r.IntN(2) == 0,
		})
	}
	if r.IntN(2) == 0 {
		o.Resources = corev1.ResourceList{
			"cpu": resource.MustParse(pick("500m", "2")), "memory": resource.MustParse(pick("64Mi", "1G")),
			"nvidia.com/gpu": resource.MustParse("2"),
		}
	}
	if r.IntN(10) == 0 {
		o.Files = submit.Files{"train.py": "print('# é')\n", "sub/data.txt": pick(oddWords...) + "x"}
	}
	return o
}

// The line of a job makes the same job, in the real command, and the checks of files find nothing in it.
func TestTheSubmitLineMakesTheSameJob(t *testing.T) {
	offered := template.Runtime{Name: "r", Implementation: "OpenMPI", Version: "5.0.7"}
	offered.World.Nodes, offered.World.SlotsPerNode = 2, 2
	built, err := offered.Build()
	if err != nil {
		t.Fatal(err)
	}
	runtime := mpijob.Runtime{Labels: built.Labels, Annotations: built.Annotations, Spec: built.Spec}
	shared := &trainer.ClusterTrainingRuntime{ObjectMeta: built.ObjectMeta, Spec: built.Spec}
	queue := &unstructured.Unstructured{}
	queue.SetGroupVersionKind(fetch.LocalQueueKind)
	queue.SetNamespace("team")
	queue.SetName("lockstep")
	c := clientOf(t, []client.Object{shared, queue}, interceptor.Funcs{})
	t.Setenv("KUBECONFIG", "/dev/null")
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	var lines, words []string
	for i := range 1200 {
		wanted := someOptions(r)
		job, err := submit.TrainJob(wanted)
		if err != nil {
			t.Fatal(err)
		}
		o, lacks := submit.OptionsOf(job)
		if len(lacks) > 0 {
			t.Fatalf("%d: no option for %v", i, lacks)
		}
		text, err := yaml.Marshal(job)
		if err != nil {
			t.Fatal(err)
		}
		result := validate.File("job.yaml", text)
		for _, d := range result.Jobs {
			for _, f := range d.CheckAgainst(runtime) {
				if !f.Warning {
					result.Findings = append(result.Findings, f)
				}
			}
		}
		if len(result.Findings) > 0 || len(result.Jobs) != 1 {
			t.Fatalf("%d: %v", i, result.Findings)
		}
		if i%20 == 0 || len(o.Files) > 0 { // the command takes longer than all else
			runLine(t, c, o, job)
		}
		lines = append(lines, submit.CommandsOf(o, nil).Submit)
		words = append(words, append([]string{"mpi", "submit"}, o.Arguments()...)...)
	}
	checkQuotes(t, lines, words)
}

// runLine runs the command of options, which has to print a job.
func runLine(t *testing.T, c client.WithWatch, o submit.Options, job *trainer.TrainJob) {
	t.Helper()
	if len(o.Files) > 0 {
		writeFolder(t, o.Files)
	}
	var out, errOut bytes.Buffer
	k := newKube(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut})
	k.reader = c
	args := append([]string{"submit"}, o.Arguments()...)
	args = slices.Insert(args, slices.Index(args, "--"), "--dry-run=client", "-o", "yaml")
	if code := run(t.Context(), args, k); code != 0 {
		t.Fatalf("%q ended with %d: %s", args, code, errOut.String())
	}
	var got trainer.TrainJob
	if err := yaml.UnmarshalStrict(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(job, &got); diff != "" {
		t.Fatalf("%q makes another job (-want +got):\n%s", args, diff)
	}
}

// writeFolder makes a folder with files the current one.
func writeFolder(t *testing.T, files submit.Files) {
	t.Helper()
	folder := t.TempDir()
	for path, text := range files {
		at := filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
}

// checkQuotes lets a shell read lines: it has to hand on the words of the arguments.
func checkQuotes(t *testing.T, lines, words []string) {
	t.Helper()
	script := `kubectl() { printf '%s\0' "$@"; }` + "\n" + strings.Join(lines, "\n") + "\n"
	shell := exec.CommandContext(t.Context(), "sh", "-s")
	shell.Stdin = strings.NewReader(script)
	out, err := shell.Output()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(words, strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")); diff != "" {
		t.Errorf("a shell reads other words (-want +got):\n%s", diff)
	}
}
