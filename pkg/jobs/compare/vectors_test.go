package compare

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/submit"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/test/vectors"
)

// state is a Run in JSON.
type state struct {
	Now      metav1.Time       `json:"now"`
	TrainJob *trainer.TrainJob `json:"trainJob"`
	JobSet   *jobset.JobSet    `json:"jobSet"`
	Snapshot *mpijob.Runtime   `json:"snapshot"`
	Digest   string            `json:"digest"`
}

type vector struct {
	Name  string     `json:"name"`
	Left  state      `json:"left"`
	Right state      `json:"right"`
	Want  Comparison `json:"want"`
}

// TestVectors: the Python package compares runs as this one does.
func TestVectors(t *testing.T) {
	complete, failed := ended(trainer.TrainJobComplete, "Completed", 90*time.Second), ended(trainer.TrainJobFailed, "OOMKilled", 2*time.Hour)
	asked := run(8, []corev1.EnvVar{
		{Name: "LR", Value: "0.01"}, {Name: "API_TOKEN", Value: "another"}, {Name: "URL", Value: "https://jane:pw@host/"},
		{Name: "FROM", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Key: "k"}}},
		{Name: "MAP", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}, Key: "k"}}},
		{Name: "POD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}, {Name: "ODD", ValueFrom: &corev1.EnvVarSource{}},
	}, failed)
	asked.TrainJob.Name = "again"
	asked.TrainJob.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "jobs"}
	asked.TrainJob.Spec.Trainer.Image = ptr.To("r/i:2")
	asked.TrainJob.Spec.Trainer.Command = []string{"train", "--api-key", "hidden", "HF_TOKEN=hf_0123456789abcdef0", "--lr", "1"}
	asked.TrainJob.Spec.Trainer.ResourcesPerNode = &corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("2048Mi")}, Limits: corev1.ResourceList{"memory": resource.MustParse("4Gi")},
	}
	before := []corev1.EnvVar{{Name: "LR", Value: "0.1"}, {Name: "API_TOKEN", Value: "one"}, {Name: "URL", Value: "https://host/"}, {Name: "OLD", Value: "x"}}
	list := []vector{
		{Name: "AsAsked", Left: stateOf(run(4, before, complete)), Right: stateOf(asked)},
		{Name: "AsItRan", Left: ran(t, "4.2", complete), Right: ran(t, "4.3", nil)},
		{Name: "Same", Left: ran(t, "4.2", complete), Right: ran(t, "4.2", complete)},
		{Name: "OneIsGone", Left: ran(t, "4.2", complete), Right: stateOf(run(2, nil, complete))},
	}
	list = append(list,
		vector{
			Name: "Files", Left: stateOf(withFiles(t, submit.Files{"run.sh": "set -e\nmpirun ä\n", "old": "x", "same": "y", "empty": "", "a.env": "API_TOKEN=one\n"})),
			Right: stateOf(withFiles(t, submit.Files{"run.sh": "set -e\nmpirun ö\nmore\n", "same": "y", "new/a.py": "print()\n", "a.env": "API_TOKEN=two\n"})),
		},
		vector{
			Name: "Functions", Left: stateOf(calling("def train(lr):\n    print(lr, \\\"\\\"\\\"\\\\n\\\"\\\"\\\")\n", `'lr': 0.1, 'name': "it's, {", 'price': '5\x24', 'api_key': 'one', 'same': [1, (2,)]`)),
			Right: stateOf(calling("def train(lr):\n    exit(lr)\n", `'lr': 0.3, 'name': "it's", 'price': '6\x24', 'api_key': 'two', 'same': [1, (2,)], 'more': {'a': None}`)),
		},
	)
	for i := range list {
		list[i].Want = Runs(list[i].Left.run(), list[i].Right.run())
	}
	vectors.Hold(t, "../../../test/vectors/diffs.json", list)
}

func stateOf(r Run) state {
	return state{metav1.NewTime(r.Now), r.TrainJob, r.JobSet, r.Snapshot, r.Digest}
}

func (s state) run() Run { return Run{s.TrainJob, s.JobSet, s.Snapshot, s.Digest, s.Now.Time} }

// ran is a run of which everything is left, with an MPI of a version.
func ran(t *testing.T, version string, end *metav1.Condition) state {
	t.Helper()
	r := run(2, nil, end)
	r.Snapshot, r.Digest, r.JobSet = built(t, version), mpijob.Digest(version), &jobset.JobSet{}
	for _, name := range []string{"launcher", "node", "odd"} {
		container := map[string]string{"odd": "other"}[name]
		if container == "" {
			container = "node"
		}
		part := jobset.ReplicatedJob{Name: name}
		part.Template.Spec.Template.Spec = corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: container, Image: "image:" + version, Env: []corev1.EnvVar{{Name: "A", Value: version}},
				Resources:    corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi")}},
				VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/" + version}},
			}},
			Volumes: []corev1.Volume{
				{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
				{Name: "unused", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "unused"}}},
			},
		}
		r.JobSet.Spec.ReplicatedJobs = append(r.JobSet.Spec.ReplicatedJobs, part)
	}
	return stateOf(r)
}
