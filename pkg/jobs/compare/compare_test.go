package compare

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/template"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func run(nodes int32, env []corev1.EnvVar, end *metav1.Condition) Run {
	job := &trainer.TrainJob{
		ObjectMeta: metav1.ObjectMeta{Name: "train", CreationTimestamp: metav1.NewTime(noon)},
		Spec: trainer.TrainJobSpec{
			RuntimeRef: trainer.RuntimeRef{Name: "r"},
			Trainer:    &trainer.Trainer{NumNodes: &nodes, Command: []string{"mpirun", "train"}, Env: env},
		},
	}
	if end != nil {
		job.Status.Conditions = []metav1.Condition{*end}
	}
	return Run{TrainJob: job, Now: noon.Add(time.Hour)}
}

func ended(kind, reason string, after time.Duration) *metav1.Condition {
	return &metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.NewTime(noon.Add(after))}
}

func TestAsAsked(t *testing.T) {
	left := run(4, []corev1.EnvVar{{Name: "LR", Value: "0.1"}, {Name: "API_TOKEN", Value: "one-secret"}, {Name: "OLD", Value: "x"}}, ended(trainer.TrainJobFailed, "OOMKilled", time.Minute))
	right := run(8, []corev1.EnvVar{
		{Name: "LR", Value: "0.01"}, {Name: "API_TOKEN", Value: "another"},
		{Name: "FROM", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Key: "k"}}},
		{Name: "MAP", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}, Key: "k"}}},
		{Name: "POD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
		{Name: "ODD", ValueFrom: &corev1.EnvVarSource{}},
	}, nil)
	right.TrainJob.Spec.Trainer.ResourcesPerNode = &corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"memory": resource.MustParse("2Gi")}, Limits: corev1.ResourceList{"memory": resource.MustParse("4Gi")},
	}
	right.TrainJob.Spec.Trainer.Image = ptr.To("r/i:2")
	want := []Difference{
		{"nodes", "4", "8"}, {"image", "the runtime's", "r/i:2"}, {"env LR", "0.1", "0.01"}, {"env API_TOKEN", "***", "***"},
		{"env FROM", "", "from Secret s, k"}, {"env MAP", "", "from ConfigMap c, k"}, {"env POD", "", "from metadata.name"}, {"env ODD", "", "from elsewhere"},
		{"requests memory", "", "2Gi"}, {"limit memory", "", "4Gi"}, {"env OLD", "x", ""},
		{"took", "1m0s", "1h0m0s"}, {"result", "Failed OOMKilled", "not over"},
	}
	got := Runs(left, right)
	if diff := cmp.Diff(want, got.Differences); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"runtime", "queue", "slots", "command", "created"}, got.Equal); diff != "" {
		t.Error(diff)
	}
	if len(got.Unknown) != 1 {
		t.Errorf("unknown: %v", got.Unknown)
	}
}

func built(t *testing.T, version string) *mpijob.Runtime {
	t.Helper()
	r := template.Runtime{Name: "r", Implementation: "MPICH", Version: version}
	r.World.Nodes, r.World.SlotsPerNode = 2, 2
	object, err := r.Build()
	if err != nil {
		t.Fatal(err)
	}
	return &mpijob.Runtime{Labels: object.Labels, Spec: object.Spec}
}

func TestAsItRan(t *testing.T) {
	left, right := run(2, nil, ended(trainer.TrainJobComplete, "", time.Minute)), run(2, nil, ended(trainer.TrainJobComplete, "", time.Minute))
	for i, r := range []*Run{&left, &right} {
		version := []string{"4.2", "4.3"}[i]
		r.Snapshot = built(t, version)
		r.Digest = mpijob.Digest(version)
		r.JobSet = &jobset.JobSet{}
		for _, name := range []string{"launcher", "node", "odd"} {
			container := "node"
			if name == "odd" {
				container = "other"
			}
			part := jobset.ReplicatedJob{Name: name}
			part.Template.Spec.Template.Spec = corev1.PodSpec{
				Containers: []corev1.Container{{
					Name: container, Image: "image:" + version, Env: []corev1.EnvVar{{Name: "A", Value: "b"}},
					Resources:    corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}},
					VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/" + version}},
				}},
				Volumes: []corev1.Volume{
					{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
					{Name: "unused", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "unused"}}},
				},
			}
			r.JobSet.Spec.ReplicatedJobs = append(r.JobSet.Spec.ReplicatedJobs, part)
		}
	}
	got := Runs(left, right)
	want := []Difference{
		{"runtime as it was", shortDigest(left.Digest), shortDigest(right.Digest)}, {"MPI", "MPICH 4.2", "MPICH 4.3"},
		{"launcher image", "image:4.2", "image:4.3"}, {"launcher volume data", "/4.2", "/4.3"},
		{"node image", "image:4.2", "image:4.3"}, {"node volume data", "/4.2", "/4.3"},
	}
	if diff := cmp.Diff(want, got.Differences); diff != "" || got.Unknown != nil {
		t.Errorf("-want +got:\n%s, unknown %v", diff, got.Unknown)
	}
}

func TestSameRun(t *testing.T) {
	one := run(2, nil, nil)
	one.TrainJob.Spec.Trainer = nil
	if got := Runs(one, one); got.Differences != nil {
		t.Errorf("%v", got.Differences)
	}
}
