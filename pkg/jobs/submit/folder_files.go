package submit

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
)

// Files are texts by their path below a folder.
//
// They travel in annotations of the pods, out of which kubelet makes files (a downwardAPI volume). A ConfigMap would hold more, but
// an editor of a tenant may not make one; annotations go where the job goes, into a clone too, and are gone with it.
type Files map[string]string

const (
	// FilesDir is where the files are in all pods.
	FilesDir = mpi.FilesDir
	// MaxFilesBytes is how much they may have together. An object has at most 256 KiB of annotations (k8s.io/apimachinery
	// pkg/api/validation, TotalAnnotationSizeLimitB), of which half is left to others, and the TrainJob holds them twice.
	MaxFilesBytes = 128 << 10
	// MaxFiles is how many there may be: a folder of more is rarely what somebody meant.
	MaxFiles = 256

	filesVolume = "files"
)

// MaxAppliedBytes is how much the JSON of a TrainJob may have that is written to a file. `kubectl apply` keeps a copy
// of it in an annotation, and the annotations of a TrainJob may have 128 KiB together (docs/admission.md).
const MaxAppliedBytes = 96 << 10

// CheckApplied returns an error for a manifest that `kubectl apply` could not apply.
func CheckApplied(manifest any) error {
	text, err := json.Marshal(manifest)
	if err != nil {
		return fmt.Errorf("encode TrainJob: %w", err)
	}
	if len(text) > MaxAppliedBytes {
		return fmt.Errorf("the manifest has %d KiB, and `kubectl apply`, which keeps a copy in an annotation, has room for "+
			"%d KiB; the files of a folder are in it twice: submit the job without --dry-run=client, take a smaller folder "+
			"along, or put the files into a volume (--pvc) or the image", len(text)>>10, MaxAppliedBytes>>10)
	}
	return nil
}

// TakeFiles reads the files of a folder. Hidden ones, whose name begins with a dot, stay out, as does `__pycache__`. A file that is not UTF-8, and more than is
// possible, is an error.
func TakeFiles(folder fs.FS) (Files, error) {
	files := Files{}
	total := 0
	err := fs.WalkDir(folder, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "__pycache__"):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		case !entry.Type().IsRegular():
			return fmt.Errorf("`%s` is not a plain file: only these are taken along; put what it stands for into a volume (--pvc) or the image", path)
		}
		text, err := readFile(folder, path)
		if err != nil {
			return err
		}
		if total += len(path) + len(text); total > MaxFilesBytes || len(files) == MaxFiles {
			return fmt.Errorf("with `%s` the folder has more than %d KiB or %d files: take a smaller folder along, or put the files into a volume (--pvc) or the image", path, MaxFilesBytes>>10, MaxFiles)
		}
		files[path] = text
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case len(files) == 0:
		return nil, fmt.Errorf("the folder has no files to take along: hidden ones stay out")
	}
	return files, nil
}

func readFile(folder fs.FS, path string) (string, error) {
	info, err := fs.Stat(folder, path)
	if err != nil {
		return "", err
	}
	if info.Size() > MaxFilesBytes {
		return "", fmt.Errorf("`%s` has %d KiB, the files of a folder may have %d KiB together: put it into a volume (--pvc) or the image", path, info.Size()>>10, MaxFilesBytes>>10)
	}
	text, err := fs.ReadFile(folder, path)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(text) {
		return "", fmt.Errorf("`%s` is not a text in UTF-8, and only text is taken along: put it into a volume (--pvc) or the image", path)
	}
	return string(text), nil
}

// annotationName is the name of the one that holds a file. Policies of tenants admit names without domain and dot (docs/admission.md).
func annotationName(i int) string { return fmt.Sprintf("file-%d", i) }

func (f Files) annotations() map[string]string {
	all := map[string]string{}
	for i, path := range f.sortedPaths() {
		all[annotationName(i)] = f[path]
	}
	return all
}

func (f Files) sortedPaths() []string { return slices.Sorted(maps.Keys(f)) }

func (f Files) volume() corev1.Volume {
	// Scripts may be called by their name.
	source := &corev1.DownwardAPIVolumeSource{DefaultMode: ptr.To[int32](0o555)}
	for i, path := range f.sortedPaths() {
		source.Items = append(source.Items, corev1.DownwardAPIVolumeFile{
			Path: path, FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: fmt.Sprintf("metadata.annotations['%s']", annotationName(i))},
		})
	}
	return corev1.Volume{Name: filesVolume, VolumeSource: corev1.VolumeSource{DownwardAPI: source}}
}

// FilesOf returns the files that travel with a job, nil where there are none.
func FilesOf(job *trainer.TrainJob) Files {
	for _, patch := range job.Spec.RuntimePatches {
		if pod := launcherPatch(patch); pod != nil && patch.Manager == Manager {
			return filesIn(pod)
		}
	}
	return nil
}

// SetFiles replaces the files that travel with a job, or adds them. Its command runs among them.
func SetFiles(job *trainer.TrainJob, files Files) error {
	o := Options{Files: files}
	at := slices.IndexFunc(job.Spec.RuntimePatches, func(p trainer.RuntimePatch) bool {
		return p.Manager == Manager && launcherPatch(p) != nil
	})
	if at < 0 {
		at = len(job.Spec.RuntimePatches)
		job.Spec.RuntimePatches = append(job.Spec.RuntimePatches, trainer.RuntimePatch{})
	} else {
		o.Claims = claimsIn(launcherPatch(job.Spec.RuntimePatches[at]).Spec)
	}
	if err := o.checkCombination(); err != nil {
		return err
	}
	job.Spec.RuntimePatches[at] = *o.volumePatch()
	if t := trainerOf(job); len(t.Command) > 0 {
		t.Command = mpi.WrapInFilesDir(mpi.UnwrapFilesDir(t.Command))
	}
	return nil
}

// claimsIn returns the claims that a patch of this package mounts.
func claimsIn(pod *trainer.PodSpecPatch) []VolumeClaim {
	var claims []VolumeClaim
	for _, volume := range pod.Volumes {
		for _, container := range pod.Containers {
			for _, mount := range container.VolumeMounts {
				if c := volume.PersistentVolumeClaim; c != nil && mount.Name == volume.Name {
					claims = append(claims, VolumeClaim{Name: c.ClaimName, Path: mount.MountPath, ReadOnly: mount.ReadOnly})
				}
			}
		}
	}
	return claims
}

// launcherPatch returns what a patch says of the launcher's pod, or nil.
func launcherPatch(p trainer.RuntimePatch) *trainer.PodTemplatePatch {
	if p.TrainingRuntimeSpec == nil || p.TrainingRuntimeSpec.Template == nil || p.TrainingRuntimeSpec.Template.Spec == nil {
		return nil
	}
	for _, rj := range p.TrainingRuntimeSpec.Template.Spec.ReplicatedJobs {
		if rj.Name == mpi.LauncherJob && rj.Template != nil && rj.Template.Spec != nil && rj.Template.Spec.Template != nil && rj.Template.Spec.Template.Spec != nil {
			return rj.Template.Spec.Template
		}
	}
	return nil
}

// annotationIn finds the annotation in the path of a field.
var annotationIn = regexp.MustCompile(`^metadata\.annotations\['(.*)'\]$`)

func filesIn(pod *trainer.PodTemplatePatch) Files {
	var files Files
	for _, volume := range pod.Spec.Volumes {
		if volume.Name != filesVolume || volume.DownwardAPI == nil || pod.Metadata == nil {
			continue
		}
		files = Files{}
		for _, item := range volume.DownwardAPI.Items {
			if item.FieldRef == nil {
				continue
			}
			if found := annotationIn.FindStringSubmatch(item.FieldRef.FieldPath); found != nil {
				files[item.Path] = pod.Metadata.Annotations[found[1]]
			}
		}
	}
	return files
}
