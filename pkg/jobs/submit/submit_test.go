package submit

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
)

func yamlOf(t *testing.T, object any) string {
	t.Helper()
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTrainJob(t *testing.T) {
	resources, err := ParseResources([]string{"memory=1Gi", "cpu=2"})
	if err != nil {
		t.Fatal(err)
	}
	job, err := TrainJob(Options{
		Name: "train", Namespace: "team", Runtime: Runtime{Name: "mpich-cpu", Kind: ClusterTrainingRuntime}, Nodes: 4, Slots: 2, Image: "r/i:1",
		Queue: "lockstep", Command: []string{"mpirun", "train.py"}, Env: []corev1.EnvVar{{Name: "A", Value: "b=c"}}, Resources: resources,
		Claims: []VolumeClaim{{Name: "data", Path: "/data", ReadOnly: true}}, Files: Files{"train.py": "print()\n", "lib/a.py": ""}, Suspend: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	const pod = `
          template:
            metadata:
              annotations:
                file-0: ""
                file-1: |
                  print()
            spec:
              containers:
              - name: node
                volumeMounts:
                - mountPath: /data
                  name: claim-0
                  readOnly: true
                - mountPath: /workspace
                  name: files
                  readOnly: true
              volumes:
              - name: claim-0
                persistentVolumeClaim:
                  claimName: data
                  readOnly: true
              - downwardAPI:
                  defaultMode: 365
                  items:
                  - fieldRef:
                      apiVersion: v1
                      fieldPath: metadata.annotations['file-0']
                    path: lib/a.py
                  - fieldRef:
                      apiVersion: v1
                      fieldPath: metadata.annotations['file-1']
                    path: train.py
                name: files
`
	part := strings.ReplaceAll(strings.TrimPrefix(pod, "\n"), "\n", "\n      ")
	part = "      " + strings.TrimRight(part, " ")
	want := `apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  labels:
    kueue.x-k8s.io/queue-name: lockstep
  name: train
  namespace: team
spec:
  runtimePatches:
  - manager: lockstep.dev/kubectl-mpi
    trainingRuntimeSpec:
      template:
        spec:
          replicatedJobs:
          - name: launcher
            template:
              spec:
` + part + `          - name: node
            template:
              spec:
` + part + `  runtimeRef:
    apiGroup: trainer.kubeflow.org
    kind: ClusterTrainingRuntime
    name: mpich-cpu
  suspend: true
  trainer:
    command:
    - sh
    - -c
    - cd /workspace && exec "$@"
    - sh
    - mpirun
    - train.py
    env:
    - name: A
      value: b=c
    image: r/i:1
    numNodes: 4
    numProcPerNode: 2
    resourcesPerNode:
      limits:
        memory: 1Gi
      requests:
        cpu: "2"
        memory: 1Gi
`
	if diff := cmp.Diff(want, yamlOf(t, job)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLeastJob(t *testing.T) {
	job, err := TrainJob(Options{Name: "train", Runtime: Runtime{Name: "r", Kind: TrainingRuntime}, Command: []string{"mpirun"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&trainer.Trainer{Command: []string{"mpirun"}}, job.Spec.Trainer); diff != "" || job.Spec.RuntimePatches != nil || job.Labels != nil || job.Spec.Suspend != nil {
		t.Errorf("what is not said is the runtime's: %s", yamlOf(t, job))
	}
	for _, name := range []string{"", "Train", "a_b", "-a", "9a", strings.Repeat("a", 64)} {
		if _, err := TrainJob(Options{Name: name}); err == nil || !strings.Contains(err.Error(), "cannot be the name") {
			t.Errorf("%q: err = %v", name, err)
		}
	}
}

func TestTake(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	got, err := TakeFiles(fstest.MapFS{
		"train.py": file("x"), "lib/a.py": file("ä"), ".git/config": file("no"), ".env": file("no"), "__pycache__/a.pyc": file("\xff"), "empty": file(""),
	})
	if diff := cmp.Diff(Files{"train.py": "x", "lib/a.py": "ä", "empty": ""}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	many := fstest.MapFS{}
	for i := range MaxFiles + 1 {
		many[fmt.Sprint("f", i)] = file("")
	}
	cases := map[string]struct {
		folder fstest.MapFS
		want   string
	}{
		"Binary":   {fstest.MapFS{"model.bin": file("\xff\xfe")}, "`model.bin` is not a text in UTF-8"},
		"Large":    {fstest.MapFS{"data.csv": file(strings.Repeat("1", MaxFilesBytes+1))}, "`data.csv` has 128 KiB"},
		"Together": {fstest.MapFS{"a": file(strings.Repeat("1", MaxFilesBytes-1)), "b": file("22")}, "more than 128 KiB or 256 files"},
		"Many":     {many, "more than 128 KiB or 256 files"},
		"None":     {fstest.MapFS{".hidden": file("x")}, "no files to take along"},
		"Link":     {fstest.MapFS{"pipe": {Mode: 1 << 25}}, "`pipe` is not a plain file"},
	}
	for name, tc := range cases {
		if _, err := TakeFiles(tc.folder); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: err = %v, want %s", name, err, tc.want)
		}
	}
}

func TestChooseRuntime(t *testing.T) {
	a, b := Runtime{Name: "openmpi", Kind: ClusterTrainingRuntime}, Runtime{Name: "mpich", Kind: ClusterTrainingRuntime}
	own := Runtime{Name: "openmpi", Kind: TrainingRuntime}
	old := Runtime{Name: "old", Kind: ClusterTrainingRuntime, Deprecated: true}
	first := b
	first.Default = true
	cases := map[string]struct {
		all  []Runtime
		name string
		want Runtime
		err  string
	}{
		"Named":       {[]Runtime{a, b}, "openmpi", a, ""},
		"OwnFirst":    {[]Runtime{a, own}, "openmpi", own, ""},
		"Default":     {[]Runtime{a, first}, "", first, ""},
		"Only":        {[]Runtime{a}, "", a, ""},
		"OnlyCurrent": {[]Runtime{old, a}, "", a, ""},
		"Many":        {[]Runtime{b, a}, "", Runtime{}, "name one with --runtime: `mpich`, `openmpi`"},
		"None":        {nil, "", Runtime{}, "no runtime that you may see"},
		"Typo":        {[]Runtime{a, b}, "openmp", Runtime{}, "did you mean `openmpi`?"},
		"Unknown":     {[]Runtime{a, b}, "torch-distributed", Runtime{}, "there are `mpich`, `openmpi`"},
		"UnknownNone": {nil, "torch-distributed", Runtime{}, "no runtime `torch-distributed`, nor any other"},
	}
	for name, tc := range cases {
		got, err := ChooseRuntime(tc.all, tc.name)
		if got != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestCheckClaims: a misspelt claim is refused, and one that is still to be made is not.
func TestCheckClaims(t *testing.T) {
	known := []string{"results", "datasets"}
	for name, want := range map[string]string{"results": "", "new-one": "", "rsults": "did you mean `results`?"} {
		err := CheckClaims([]VolumeClaim{{Name: "datasets"}, {Name: name}}, known)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := CheckClaims([]VolumeClaim{{Name: "rsults"}}, nil); err != nil {
		t.Errorf("claims that cannot be listed: %v", err)
	}
}

func TestChooseQueue(t *testing.T) {
	cases := map[string]struct {
		queues    []string
		name      string
		want, err string
	}{
		"None":      {nil, "", "", ""},
		"NotListed": {nil, "mine", "mine", ""},
		"NoQueues":  {[]string{}, "mine", "", "leave `--queue` out"},
		"NoneOfAll": {[]string{}, "", "", ""},
		"Named":     {[]string{"a", "b"}, "b", "b", ""},
		"Platform":  {[]string{"a", "lockstep"}, "", "lockstep", ""},
		"Only":      {[]string{"a"}, "", "a", ""},
		"Many":      {[]string{"b", "a"}, "", "", "--queue: `a`, `b`"},
		"Typo":      {[]string{"research", "urgent"}, "resarch", "", "did you mean `research`?"},
		"Unknown":   {[]string{"a", "b"}, "zzzzzz", "", "there are `a`, `b`"},
	}
	for name, tc := range cases {
		got, err := ChooseQueue(tc.queues, "lockstep", tc.name)
		if got != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]VolumeClaim{
		"d:/data": {Name: "d", Path: "/data"}, "d:/data:ro": {"d", "/data", true}, "d:/a/b:rw": {Name: "d", Path: "/a/b"},
	} {
		if got, err := ParseClaim(text); got != want || err != nil {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, wrong := range []string{"", "d", "d:data", "d:/", "d:/a/../b", "D:/a", "d:/a:rx", ":/a"} {
		if _, err := ParseClaim(wrong); err == nil || !strings.Contains(err.Error(), "CLAIM:/FOLDER") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if v, err := ParseEnv("A=b=c"); v != (corev1.EnvVar{Name: "A", Value: "b=c"}) || err != nil {
		t.Error(v, err)
	}
	for _, wrong := range []string{"A", "=b", "a b=c"} {
		if _, err := ParseEnv(wrong); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
	for _, wrong := range []string{"cpu", "cpu=", "cpu=-1", "cpu=0", "cpu=lots", "a b=1"} {
		if _, err := ParseResources([]string{wrong}); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

// TestTogether: what cannot be together in one job is refused.
func TestTogether(t *testing.T) {
	for name, tc := range map[string]struct {
		o    Options
		want string
	}{
		"Variables": {Options{Env: []corev1.EnvVar{{Name: "A"}, {Name: "A", Value: "1"}}}, "the variable `A` is given twice"},
		"Claims":    {Options{Claims: []VolumeClaim{{Name: "a", Path: "/d"}, {Name: "b", Path: "/d"}}}, "`a` and `b` cannot both be at /d"},
		"OneClaim":  {Options{Claims: []VolumeClaim{{Name: "a", Path: "/d"}, {Name: "a", Path: "/e", ReadOnly: true}}}, "`a` is given twice"},
		"Files":     {Options{Claims: []VolumeClaim{{Name: "a", Path: "/workspace/data"}}, Files: Files{"f": ""}}, "cannot be at /workspace/data"},
		"Trace":     {Options{Trace: "traffic,all"}, "--trace: `all` cannot be traced: allowed are `traffic`, `waiting`, `horovod` and `nccl`"},
		"Apart":     {Options{Claims: []VolumeClaim{{Name: "a", Path: "/workspaces"}, {Name: "b", Path: "/d"}}, Files: Files{"f": ""}}, ""},
		"NoFiles":   {Options{Claims: []VolumeClaim{{Name: "a", Path: "/workspace"}}}, ""},
	} {
		tc.o.Name = "train"
		if _, err := TrainJob(tc.o); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestResume(t *testing.T) {
	old, err := TrainJob(Options{Name: "train", Runtime: Runtime{Name: "r"}, Artifacts: "s3://b/p,secret=key"})
	if err != nil {
		t.Fatal(err)
	}
	old.UID = "0123456789"
	next, err := CloneJob(old, "train-2")
	if err != nil {
		t.Fatal(err)
	}
	if err := Resume(next, old); err != nil {
		t.Fatal(err)
	}
	want := "claim: lockstep-data\nfolder: train-01234567\nsecret: key\nto: s3://b/p\n"
	if got := next.Annotations["lockstep.dev/artifacts"]; got != want {
		t.Errorf("it goes on with\n%swant\n%s", got, want)
	}
	if err := Resume(next, next.DeepCopy()); err != nil || next.Annotations["lockstep.dev/artifacts"] != want {
		t.Errorf("a clone of a clone goes on with %v, %v", next.Annotations, err)
	}
	delete(old.Annotations, "lockstep.dev/artifacts")
	if err := Resume(next, old); err == nil || !strings.Contains(err.Error(), "--artifacts") {
		t.Error(err)
	}
}

func TestClone(t *testing.T) {
	old, err := TrainJob(Options{Name: "train", Namespace: "team", Runtime: Runtime{Name: "r", Kind: TrainingRuntime}, Queue: "q", Command: []string{"a"}, Files: Files{"f": "x"}, Trace: "traffic,nccl", Artifacts: "s3://b"})
	if err != nil {
		t.Fatal(err)
	}
	want := yamlOf(t, old)
	if !strings.Contains(want, "lockstep.dev/trace: traffic,nccl\n") {
		t.Errorf("what is to be recorded is not said: %s", want)
	}
	old.UID, old.Annotations["lockstep.dev/conditions"] = "1", "{}"
	old.Labels["lockstep.dev/trainjob"] = "train"
	old.Spec.Suspend, old.Spec.ManagedBy = ptr.To(true), ptr.To("trainer.kubeflow.org/trainjob-controller")
	old.Spec.RuntimePatches[0].Time = ptr.To(metav1.Now())
	old.Spec.RuntimePatches = append(old.Spec.RuntimePatches, trainer.RuntimePatch{Manager: "kueue.x-k8s.io/manager"})
	old.Status.Conditions = []metav1.Condition{{Type: "Failed"}}
	job, err := CloneJob(old, "train-2")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Replace(want, "name: train\n", "name: train-2\n", 1), yamlOf(t, job)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	SetCommand(job, []string{"b"})
	if got := job.Spec.Trainer.Command; got[len(got)-1] != "b" || got[0] != "sh" {
		t.Errorf("the new command does not run among the files: %v", got)
	}
	claims := []VolumeClaim{{Name: "data", Path: "/data", ReadOnly: true}}
	for name, o := range map[string]Options{"files": {Files: Files{"f": "x", "gone": ""}}, "none": {}} {
		o.Name, o.Command, o.Claims = "train", []string{"a"}, claims
		job, err := TrainJob(o)
		if err != nil {
			t.Fatal(err)
		}
		o.Files = Files{"f": "y"}
		if err := SetFiles(job, o.Files); err != nil {
			t.Error(err)
		}
		want, err := TrainJob(o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(yamlOf(t, want), yamlOf(t, job)); diff != "" {
			t.Errorf("%s: other files make another job than files from the start (-want +got):\n%s", name, diff)
		}
	}
	if old.Spec.Trainer.Command[4] != "a" {
		t.Error("the old job was changed")
	}
	if _, err := CloneJob(old, "No"); err == nil {
		t.Error("a wrong name is taken")
	}
}

func TestSet(t *testing.T) {
	job := &trainer.TrainJob{}
	for _, assignment := range []string{"nodes=8", "slots=2", "image=r/i", "queue=q", "runtime=r", "trace=traffic", "artifacts=s3://b/p,secret=key", "env.A=1", "env.A=2", "env.B=", "resources.memory=2Gi"} {
		if err := SetField(job, assignment); err != nil {
			t.Error(err)
		}
	}
	const want = `metadata:
  annotations:
    lockstep.dev/artifacts: |
      secret: key
      to: s3://b/p
    lockstep.dev/trace: traffic
  labels:
    kueue.x-k8s.io/queue-name: q
spec:
  runtimeRef:
    name: r
  trainer:
    env:
    - name: A
      value: "2"
    - name: B
    image: r/i
    numNodes: 8
    numProcPerNode: 2
    resourcesPerNode:
      limits:
        memory: 2Gi
      requests:
        memory: 2Gi
`
	if diff := cmp.Diff(want, strings.TrimSuffix(yamlOf(t, job), "status: {}\n")); diff != "" {
		t.Error(diff)
	}
	for _, wrong := range []string{"nodes", "nodes=0", "nodes=many", "nodes=99999999999", "color=red", "trace=all", "artifacts=gs://b", "artifacts=folder=a,folder=b", "env.=1", "resources.x=y"} {
		if err := SetField(job, wrong); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
	for _, assignment := range []string{"image=", "queue=", "trace=", "artifacts="} {
		if err := SetField(job, assignment); err != nil {
			t.Error(err)
		}
	}
	if job.Spec.Trainer.Image != nil || len(job.Labels)+len(job.Annotations) > 0 {
		t.Errorf("image and queue are not those of the runtime, or more is recorded: %v, %v, %v", job.Spec.Trainer.Image, job.Labels, job.Annotations)
	}
	if err := SetField(job, "runtime="); err == nil {
		t.Error("a runtime without a name is taken")
	}
	SetCommand(job, []string{"b"})
	if diff := cmp.Diff([]string{"b"}, job.Spec.Trainer.Command); diff != "" {
		t.Error(diff)
	}
}

func TestNextName(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		taken      []string
	}{{"train", "train-2", nil}, {"train-2", "train-3", nil}, {"train", "train-4", []string{"train-2", "train-3"}}, {"a-1b", "a-1b-2", nil}} {
		if got := NextName(tc.name, tc.taken); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}
