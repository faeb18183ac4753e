package portable_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
	"lockstep.dev/lockstep/pkg/compile/proof/portable"
)

// runtime compiles the runtime of the corpus' base, with some text replaced in its specs, for a cluster with stock Kubeflow Trainer.
func runtime(t *testing.T, replaced ...string) object.Object {
	t.Helper()
	files := fstest.MapFS{}
	for _, name := range []string{"catalog/profile.yaml", "catalog/runtime.yaml", "tenants/vision.yaml", "overlays/local/cluster.yaml"} {
		data, err := os.ReadFile("../../testdata/base/" + name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: []byte(strings.NewReplacer(replaced...).Replace(string(data)))}
	}
	clusters, list := compile.Compile(files, compile.Options{Charts: helm.Renderer{}})
	if list.Errors() > 0 {
		t.Fatalf("does not compile: %v", list.Sorted()[0])
	}
	for _, o := range clusters[0].Objects.Sorted() {
		if o.ID.Kind == "ClusterTrainingRuntime" {
			return o
		}
	}
	t.Fatal("no runtime")
	return object.Object{}
}

const trainer = "  executor: KubeflowTrainer\n  platform:"

func prove(o object.Object, byTrainer bool) []*diag.Diagnostic {
	list := &diag.List{}
	portable.Prove([]object.Object{o}, byTrainer, list)
	return list.Sorted()
}

// TestCompiledRuntimesArePortable: what the compiler makes keeps the rules on every platform.
func TestCompiledRuntimesArePortable(t *testing.T) {
	for name, replaced := range map[string][]string{
		"Kubernetes":      {"  platform:", trainer},
		"OpenShift":       {"  platform: Kubernetes", "  executor: KubeflowTrainer\n  platform: OpenShift"},
		"NoImageVolumes":  {"  platform:", trainer, `"1.36"`, `"1.34"`},
		"RanksInLauncher": {"  platform:", trainer, "  profile: cpu", "  profile: cpu\n  nodes: {min: 2}\n  launcher: {runsRanks: true}"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, d := range prove(runtime(t, replaced...), true) {
				t.Errorf("%s: %s", d.Code, d.Message)
			}
		})
	}
}

// TestMutations breaks each rule in the compiled object and sees the proof fail with a message that names what is broken.
func TestMutations(t *testing.T) {
	job := func(root *object.Node, i int) *object.Node {
		return &root.At("spec", "template", "spec", "replicatedJobs").Children[i]
	}
	pod := func(root *object.Node, i int) *object.Node {
		return job(root, i).At("template", "spec", "template", "spec")
	}
	container := func(root *object.Node, i int) *object.Node { return &pod(root, i).Get("containers").Children[0] }
	text := func(key, value string) object.Node { return object.Text(key, value, nil) }
	for name, m := range map[string]struct {
		mutate func(root *object.Node)
		want   string
	}{
		"TwoLaunchers":    {func(r *object.Node) { r.At("spec", "mlPolicy").Put(object.Number("numNodes", 2, nil)) }, "numNodes is not 1"},
		"JobNames":        {func(r *object.Node) { job(r, 1).Put(text("name", "worker")) }, "no replicated jobs"},
		"Replicas":        {func(r *object.Node) { job(r, 1).Put(object.Number("replicas", 2, nil)) }, "not one replica"},
		"DependsOn":       {func(r *object.Node) { job(r, 0).Put(object.List("dependsOn", text("", "node"))) }, "waits for another"},
		"ContainerName":   {func(r *object.Node) { container(r, 1).Put(text("name", "worker")) }, "no container `node`"},
		"LauncherArgs":    {func(r *object.Node) { container(r, 0).Put(object.Texts("args", nil, "train.py")) }, "has args"},
		"LauncherNoLabel": {func(r *object.Node) { job(r, 0).Get("template").Put(object.Map("metadata")) }, "launcher lacks the label"},
		"NodeWithLabel": {func(r *object.Node) {
			job(r, 1).Get("template").Put(*job(r, 0).At("template", "metadata"))
		}, "nodes have the label"},
		"KeyUnreadable": {func(r *object.Node) {
			pod(r, 1).Put(object.Map("securityContext", object.Number("runAsGroup", 1000, nil)))
		}, "cannot read the key"},
		"KeyVolume": {func(r *object.Node) { pod(r, 1).Get("volumes").Children[0].Put(text("name", "mpi-ssh-auth")) }, "made by Kubeflow Trainer"},
		"HostfileMount": {func(r *object.Node) {
			container(r, 0).Get("volumeMounts").Children[0].Put(text("mountPath", "/etc/mpi/hostfile"))
		}, "mounts the hostfile"},
		"InitContainers": {func(r *object.Node) {
			pod(r, 0).Put(object.List("initContainers", object.Map("", text("name", "gate")), object.Map("", text("name", "b"))))
		}, "none is needed but those of the agent"},
		"NodesWithGate": {func(r *object.Node) { pod(r, 1).Put(*pod(r, 0).Get("initContainers")) }, "none is needed but those of the agent"},
		"NoGate":        {func(r *object.Node) { pod(r, 0).Put(object.List("initContainers")) }, "no init container `gate`"},
	} {
		t.Run(name, func(t *testing.T) {
			broken := runtime(t, "  platform:", trainer)
			m.mutate(&broken.Root)
			found := prove(broken, true)
			if len(found) == 0 || found[0].Code != diag.NotPortable || !strings.Contains(found[0].Message, m.want) {
				t.Fatalf("the proof says %v, want a finding with %q", found, m.want)
			}
			if found[0].Span.IsZero() {
				t.Error("the finding has no place")
			}
		})
	}
}

// TestPartsWithOurController: what our controller would refuse each job for is found where it runs them, and nothing else.
func TestPartsWithOurController(t *testing.T) {
	job := func(root *object.Node, i int) *object.Node {
		return &root.At("spec", "template", "spec", "replicatedJobs").Children[i]
	}
	for name, m := range map[string]struct {
		mutate func(root *object.Node)
		want   string
	}{
		"Sound":     {func(*object.Node) {}, ""},
		"DependsOn": {func(r *object.Node) { job(r, 0).Put(object.List("dependsOn", object.Text("", "node", nil))) }, ""},
		"NoPolicy":  {func(r *object.Node) { r.Get("spec").Put(object.Map("mlPolicy")) }, "no mlPolicy.mpi"},
		"JobNames":  {func(r *object.Node) { job(r, 1).Put(object.Text("name", "worker", nil)) }, "no replicated jobs"},
		"ContainerName": {func(r *object.Node) {
			job(r, 1).At("template", "spec", "template", "spec", "containers").Children[0].Put(object.Text("name", "foo", nil))
		}, "no container `node`"},
		"TooManyNodes":  {func(r *object.Node) { r.At("spec", "mlPolicy").Put(object.Number("numNodes", 99, nil)) }, "numNodes is 99, and a job that asks for no number gets 1"},
		"TooManyPods":   {func(r *object.Node) { job(r, 1).At("template", "spec").Put(object.Number("parallelism", 1000, nil)) }, "gets 1000, and the runtime allows 1 to"},
		"NegativeNodes": {func(r *object.Node) { r.At("spec", "mlPolicy").Put(object.Number("numNodes", -3, nil)) }, "numNodes is -3, and"},
	} {
		broken := runtime(t)
		m.mutate(&broken.Root)
		found := prove(broken, false)
		if len(found) > 1 || len(found) == 0 != (m.want == "") || len(found) == 1 && !strings.Contains(found[0].Message, m.want) {
			t.Errorf("%s: the proof says %v, want a finding with %q", name, found, m.want)
		}
	}
}
