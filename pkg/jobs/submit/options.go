package submit

import (
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/validate"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
)

// Manager is under what name the patches of a TrainJob stand that this package makes.
const Manager = "lockstep.dev/kubectl-mpi"

// Options are what a user asks for. What is left empty is the runtime's.
type Options struct {
	Name, Namespace string
	Runtime         Runtime
	// Nodes is how many pods run ranks, Slots how many ranks each has room for; 0 for the runtime's numbers.
	Nodes, Slots int32
	Image        string
	// Queue is a LocalQueue of Kueue, empty where nothing queues.
	Queue   string
	Command []string
	Env     []corev1.EnvVar
	Claims  []VolumeClaim
	// Resources are what each node requests; see LimitsWithoutCPU.
	Resources corev1.ResourceList
	// Files are put into FilesDir of all pods, where the command then runs.
	Files Files
	// Trace is what is recorded of its run, in the words of mpi.TraceAnnotation; empty for nothing.
	Trace string
	// Artifacts are a folder that outlives the pods, as ArtifactsText writes them; empty for none.
	Artifacts string
	// Suspend makes a job that does not start before it is resumed.
	Suspend bool
}

// VolumeClaim is a PersistentVolumeClaim with the folder at which it is mounted, in all pods.
type VolumeClaim struct {
	Name, Path string
	ReadOnly   bool
}

// TrainJob returns the job.
func TrainJob(o Options) (*trainer.TrainJob, error) {
	if err := validate.CheckName(o.Name); err != nil {
		return nil, err
	}
	if err := o.checkCombination(); err != nil {
		return nil, err
	}
	job := &trainer.TrainJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: trainer.GroupVersion.String(), Kind: "TrainJob"},
		ObjectMeta: metav1.ObjectMeta{Name: o.Name, Namespace: o.Namespace},
		Spec: trainer.TrainJobSpec{
			RuntimeRef: trainer.RuntimeRef{Name: o.Runtime.Name, Kind: ptr.To(o.Runtime.Kind), APIGroup: ptr.To(trainer.GroupVersion.Group)},
			Trainer:    o.trainerSpec(),
		},
	}
	if o.Queue != "" {
		job.Labels = map[string]string{kueue.QueueLabel: o.Queue}
	}
	if err := setTrace(job, o.Trace); err != nil {
		return nil, fmt.Errorf("--trace: %w", err)
	}
	if err := setArtifacts(job, o.Artifacts); err != nil {
		return nil, fmt.Errorf("--artifacts: %w", err)
	}
	if o.Suspend {
		job.Spec.Suspend = ptr.To(true)
	}
	if patch := o.volumePatch(); patch != nil {
		job.Spec.RuntimePatches = []trainer.RuntimePatch{*patch}
	}
	return job, nil
}

// Manifest returns a job as a user writes it, without a status.
func Manifest(job *trainer.TrainJob) map[string]any {
	metadata := map[string]any{"name": job.Name, "namespace": job.Namespace}
	if len(job.Labels) > 0 {
		metadata["labels"] = job.Labels
	}
	if len(job.Annotations) > 0 {
		metadata["annotations"] = job.Annotations
	}
	return map[string]any{"apiVersion": job.APIVersion, "kind": job.Kind, "metadata": metadata, "spec": job.Spec}
}

// setTrace says what is recorded of the run of a job, nothing for an empty text.
func setTrace(job *trainer.TrainJob, text string) error {
	if text == "" {
		delete(job.Annotations, mpi.TraceAnnotation)
		return nil
	}
	if _, err := mpi.ParseTraces(text); err != nil {
		return err
	}
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, mpi.TraceAnnotation, text)
	return nil
}

// checkCombination refuses what cannot be together.
func (o Options) checkCombination() error {
	variables := map[string]bool{}
	for _, v := range o.Env {
		if variables[v.Name] {
			return fmt.Errorf("the variable `%s` is given twice (--env): give it once", v.Name)
		}
		variables[v.Name] = true
	}
	folders, claims := map[string]string{}, map[string]bool{}
	for _, c := range o.Claims {
		if claims[c.Name] {
			return fmt.Errorf("the claim `%s` is given twice (--pvc): mount it once", c.Name)
		}
		claims[c.Name] = true
		if other, taken := folders[c.Path]; taken {
			return fmt.Errorf("the claims `%s` and `%s` cannot both be at %s (--pvc): give each a folder of its own", other, c.Name, c.Path)
		}
		folders[c.Path] = c.Name
		if len(o.Files) > 0 && (c.Path == FilesDir || strings.HasPrefix(c.Path, FilesDir+"/")) {
			return fmt.Errorf("the claim `%s` cannot be at %s (--pvc): the files of the folder (--files) are in %s, which is only read", c.Name, c.Path, FilesDir)
		}
	}
	return nil
}

func (o Options) trainerSpec() *trainer.Trainer {
	t := &trainer.Trainer{Command: o.Command, Env: o.Env}
	if len(o.Files) > 0 && len(o.Command) > 0 {
		t.Command = mpi.WrapInFilesDir(o.Command)
	}
	if o.Image != "" {
		t.Image = &o.Image
	}
	if o.Nodes > 0 {
		t.NumNodes = &o.Nodes
	}
	if o.Slots > 0 {
		t.NumProcPerNode = &o.Slots
	}
	if len(o.Resources) > 0 {
		t.ResourcesPerNode = &corev1.ResourceRequirements{Requests: o.Resources, Limits: LimitsWithoutCPU(o.Resources)}
	}
	return t
}

// volumePatch brings volumes into all pods, nil where there are none. A TrainJob has no field for volumes.
func (o Options) volumePatch() *trainer.RuntimePatch {
	var volumes []corev1.Volume
	var mounts []corev1.VolumeMount
	for i, c := range o.Claims {
		name := fmt.Sprintf("claim-%d", i)
		volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c.Name, ReadOnly: c.ReadOnly},
		}})
		mounts = append(mounts, corev1.VolumeMount{Name: name, MountPath: c.Path, ReadOnly: c.ReadOnly})
	}
	var annotations map[string]string
	if len(o.Files) > 0 {
		volumes, annotations = append(volumes, o.Files.volume()), o.Files.annotations()
		mounts = append(mounts, corev1.VolumeMount{Name: filesVolume, MountPath: FilesDir, ReadOnly: true})
	}
	if len(volumes) == 0 {
		return nil
	}
	spec := &trainer.JobSetSpecPatch{}
	for _, name := range []string{mpi.LauncherJob, mpi.NodeJob} {
		pod := &trainer.PodTemplatePatch{Spec: &trainer.PodSpecPatch{
			Volumes: volumes, Containers: []trainer.ContainerPatch{{Name: mpi.Container, VolumeMounts: mounts}},
		}}
		if annotations != nil {
			pod.Metadata = &metav1.ObjectMeta{Annotations: annotations}
		}
		spec.ReplicatedJobs = append(spec.ReplicatedJobs, trainer.ReplicatedJobPatch{
			Name: name, Template: &trainer.JobTemplatePatch{Spec: &trainer.JobSpecPatch{Template: pod}},
		})
	}
	return &trainer.RuntimePatch{Manager: Manager, TrainingRuntimeSpec: &trainer.TrainingRuntimeSpecPatch{Template: &trainer.JobSetTemplatePatch{Spec: spec}}}
}

// LimitsWithoutCPU are those of a node that requests something: the same, but no CPU. Ranks that wait for each other spin, and a limit of CPU
// stops them in the middle of it; memory and devices cannot be taken back.
func LimitsWithoutCPU(requests corev1.ResourceList) corev1.ResourceList {
	limits := maps.Clone(requests)
	delete(limits, corev1.ResourceCPU)
	return limits
}
