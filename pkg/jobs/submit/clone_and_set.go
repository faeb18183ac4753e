package submit

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/validate"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job/desired"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
)

// CloneJob returns a job like another one, under a new name, that has not run. What others wrote into the old one stays behind: status,
// annotations but what the user asked for by them, where Kueue placed it, and whether it was suspended.
func CloneJob(old *trainer.TrainJob, name string) (*trainer.TrainJob, error) {
	if err := validate.CheckName(name); err != nil {
		return nil, err
	}
	job := &trainer.TrainJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: trainer.GroupVersion.String(), Kind: "TrainJob"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: old.Namespace, Labels: maps.Clone(old.Labels)},
		Spec:       *old.Spec.DeepCopy(),
	}
	delete(job.Labels, mpi.TrainJobLabel)
	for _, name := range []string{mpi.TraceAnnotation, mpi.ArtifactsAnnotation} {
		if asked, is := old.Annotations[name]; is {
			metav1.SetMetaDataAnnotation(&job.ObjectMeta, name, asked)
		}
	}
	job.Spec.Suspend, job.Spec.ManagedBy = nil, nil
	job.Spec.RuntimePatches = slices.DeleteFunc(job.Spec.RuntimePatches, func(p trainer.RuntimePatch) bool {
		return strings.Contains(p.Manager, "kueue.x-k8s.io")
	})
	for i := range job.Spec.RuntimePatches {
		job.Spec.RuntimePatches[i].Time = nil
	}
	return job, nil
}

var numbered = regexp.MustCompile(`^(.*)-(\d{1,6})$`)

// NextName returns a name for a clone that is not taken: `train-2` after `train`, `train-3` after `train-2`.
func NextName(name string, taken []string) string {
	stem, n := name, 1
	if found := numbered.FindStringSubmatch(name); found != nil {
		stem = found[1]
		n, _ = strconv.Atoi(found[2])
	}
	for {
		n++
		if next := fmt.Sprintf("%s-%d", stem, n); !slices.Contains(taken, next) {
			return next
		}
	}
}

// settings are what --set may change.
var settings = map[string]func(*trainer.TrainJob, string) error{
	"nodes": func(j *trainer.TrainJob, v string) error { return setCount(&trainerOf(j).NumNodes, v) },
	"slots": func(j *trainer.TrainJob, v string) error { return setCount(&trainerOf(j).NumProcPerNode, v) },
	"image": func(j *trainer.TrainJob, v string) error {
		trainerOf(j).Image = &v
		if v == "" {
			trainerOf(j).Image = nil // that of the runtime
		}
		return nil
	},
	"runtime": func(j *trainer.TrainJob, v string) error {
		if v == "" {
			return fmt.Errorf("a runtime has a name")
		}
		j.Spec.RuntimeRef.Name = v
		return nil
	},
	"trace":     setTrace,
	"artifacts": setArtifacts,
	"queue": func(j *trainer.TrainJob, v string) error {
		if v == "" {
			delete(j.Labels, kueue.QueueLabel)
			return nil
		}
		metav1.SetMetaDataLabel(&j.ObjectMeta, kueue.QueueLabel, v)
		return nil
	},
}

// SettingNames are the names that SetField knows, and the beginnings of others.
func SettingNames() []string { return append(slices.Sorted(maps.Keys(settings)), "env.", "resources.") }

// SetField changes a job: nodes=8, slots=2, image=…, queue=…, runtime=…, trace=…, env.NAME=…, or resources.NAME=…. An empty image is the runtime's.
func SetField(job *trainer.TrainJob, assignment string) error {
	name, value, found := strings.Cut(assignment, "=")
	if !found {
		return fmt.Errorf("`%s` is not NAME=VALUE, such as `nodes=8`", assignment)
	}
	if variable, is := strings.CutPrefix(name, "env."); is {
		return setEnv(trainerOf(job), variable+"="+value)
	}
	if resource, is := strings.CutPrefix(name, "resources."); is {
		return setResource(trainerOf(job), resource+"="+value)
	}
	set, known := settings[name]
	if !known {
		return fmt.Errorf("`%s` cannot be set: it is one of %s, env.NAME, resources.NAME", name, strings.Join(slices.Sorted(maps.Keys(settings)), ", "))
	}
	if err := set(job, value); err != nil {
		return fmt.Errorf("`%s`: %w", assignment, err)
	}
	return nil
}

// SetCommand replaces the command. Where files were taken along it runs among them, as before.
func SetCommand(job *trainer.TrainJob, command []string) {
	t := trainerOf(job)
	if FilesOf(job) != nil {
		command = mpi.WrapInFilesDir(command)
	}
	t.Command, t.Args = command, nil
}

func trainerOf(job *trainer.TrainJob) *trainer.Trainer {
	if job.Spec.Trainer == nil {
		job.Spec.Trainer = &trainer.Trainer{}
	}
	return job.Spec.Trainer
}

func setCount(field **int32, value string) error {
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n < 1 {
		return fmt.Errorf("must be a number of at least 1")
	}
	number := int32(n)
	*field = &number
	return nil
}

func setEnv(t *trainer.Trainer, assignment string) error {
	v, err := ParseEnv(assignment)
	if err != nil {
		return err
	}
	t.Env = append(slices.DeleteFunc(t.Env, func(e corev1.EnvVar) bool { return e.Name == v.Name }), v)
	return nil
}

func setResource(t *trainer.Trainer, assignment string) error {
	list, err := ParseResources([]string{assignment})
	if err != nil {
		return err
	}
	if t.ResourcesPerNode == nil {
		t.ResourcesPerNode = &corev1.ResourceRequirements{}
	}
	r := t.ResourcesPerNode
	r.Requests, r.Limits = desired.OverlayResources(r.Requests, list), desired.OverlayResources(r.Limits, LimitsWithoutCPU(list))
	return nil
}
