package submit

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
)

// What options cannot express is named, because a line without them makes another job.
func TestFieldsWithoutAnOptionAreNamed(t *testing.T) {
	const text = `
metadata:
  name: a
  labels: {team: x}
spec:
  runtimeRef: {name: r}
  trainer:
    numNodes: 2
    args: [x]
    command: [mpirun]
    env:
    - {name: TOKEN, valueFrom: {secretKeyRef: {name: s, key: k}}}
    resourcesPerNode: {requests: {cpu: 1}, limits: {cpu: 1}}
  initializer: {dataset: {storageUri: "hf://x"}}
`
	var job trainer.TrainJob
	if err := yaml.Unmarshal([]byte(text), &job); err != nil {
		t.Fatal(err)
	}
	_, lacks := OptionsOf(&job)
	want := []string{
		"metadata.labels[team]", "spec.initializer.dataset.storageUri", "spec.trainer.args", "spec.trainer.env",
		"spec.trainer.resourcesPerNode.limits.cpu",
	}
	if diff := cmp.Diff(want, lacks); diff != "" {
		t.Error(diff)
	}
	job.Spec.Trainer.Args, job.Spec.Trainer.Env, job.Spec.Initializer, job.Labels = nil, nil, nil, nil
	job.Spec.Trainer.ResourcesPerNode = nil
	if o, lacks := OptionsOf(&job); len(lacks) > 0 || o.Nodes != 2 {
		t.Errorf("%v, %+v", lacks, o)
	}
}

func TestCommands(t *testing.T) {
	o := Options{
		Name: "train", Namespace: "team", Runtime: Runtime{Name: "openmpi"}, Nodes: 2, Slots: 4, Image: "r/i", Queue: "q",
		Command: []string{"mpirun", "python", "it's $x"}, Env: []corev1.EnvVar{{Name: "A", Value: `"b"`}}, Trace: "waiting",
		Artifacts: "s3://b/p,secret=key",
		Claims:    []VolumeClaim{{"data", "/data", true}}, Files: Files{"a.py": "1"}, Suspend: true,
		Resources: corev1.ResourceList{"memory": resource.MustParse("1Gi"), "cpu": resource.MustParse("2")},
	}
	got := CommandsOf(o, []string{"spec.initializer"})
	want := Commands{
		Submit: `kubectl mpi submit train --namespace team --runtime openmpi --nodes 2 --slots 4 --image r/i --queue q ` +
			`--resources cpu=2,memory=1Gi --env 'A="b"' --pvc data:/data:ro --files . --trace waiting ` +
			`--artifacts s3://b/p,secret=key --suspend -- mpirun python 'it'\''s $x'`,
		Python: strings.TrimPrefix(`
from kubeflow.trainer.options import Annotations
from lockstep import MPIClient, MPITrainer

client = MPIClient(namespace="team")
client.train(
    "openmpi",
    trainer=MPITrainer(
        nodes=2,
        slots=4,
        command=["mpirun", "python", "it's $x"],
        image="r/i",
        env={"A": "\"b\""},
        resources={"cpu": "2", "memory": "1Gi"},
        volumes={"/data": "data"},
        files=".",
    ),
    name="train",
    queue="q",
    options=[Annotations({"lockstep.dev/trace": "waiting", "lockstep.dev/artifacts": "secret: key\nto: s3://b/p\n"})],
)
`, "\n"),
		SubmitLacks: []string{"spec.initializer"},
		PythonLacks: []string{"spec.initializer", "spec.suspend", "readOnly of claims"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
