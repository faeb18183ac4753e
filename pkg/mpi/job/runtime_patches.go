package job

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// patchedTemplate merges spec.runtimePatches into the template of a runtime, in the order in which they stand, by strategic
// merge as upstream does (kubeflow/trainer pkg/runtime/core). Kueue places jobs through them.
func patchedTemplate(template trainer.JobSetTemplateSpec, patches []trainer.RuntimePatch) (trainer.JobSetTemplateSpec, error) {
	result := *template.DeepCopy()
	for _, patch := range patches {
		if patch.TrainingRuntimeSpec == nil || patch.TrainingRuntimeSpec.Template == nil {
			continue
		}
		if meta := patch.TrainingRuntimeSpec.Template.Metadata; meta != nil {
			result.Labels = MergeMaps(result.Labels, meta.Labels)
			result.Annotations = MergeMaps(result.Annotations, meta.Annotations)
		}
		if patch.TrainingRuntimeSpec.Template.Spec == nil {
			continue
		}
		spec, err := mergeSpec(result.Spec, *patch.TrainingRuntimeSpec.Template.Spec)
		if err != nil {
			return trainer.JobSetTemplateSpec{}, newRefusal(diagnose.InvalidPatch, "the patch of manager `%s` in spec.runtimePatches does not fit the runtime: %s", patch.Manager, err)
		}
		result.Spec = spec
	}
	return result, nil
}

// mergeSpec keeps the order of the replicated jobs, which a strategic merge may change. It refuses what does not change
// anything that is there, as upstream's webhook does: a merge would add a container without an image.
func mergeSpec(spec jobset.JobSetSpec, patch trainer.JobSetSpecPatch) (jobset.JobSetSpec, error) {
	order := map[string]int{}
	for i, rj := range spec.ReplicatedJobs {
		order[rj.Name] = i
	}
	for _, rj := range patch.ReplicatedJobs {
		if err := missingPartError(rj, ReplicatedJob(spec, rj.Name)); err != nil {
			return spec, err
		}
	}
	source, err := json.Marshal(spec)
	if err != nil {
		return spec, err
	}
	change, err := json.Marshal(patch)
	if err != nil {
		return spec, err
	}
	text, err := strategicpatch.StrategicMergePatch(source, change, jobset.JobSetSpec{})
	if err != nil {
		return spec, err
	}
	var result jobset.JobSetSpec
	if err := json.Unmarshal(text, &result); err != nil {
		return spec, err
	}
	slices.SortStableFunc(result.ReplicatedJobs, func(a, b jobset.ReplicatedJob) int {
		return cmp.Compare(order[a.Name], order[b.Name])
	})
	return result, nil
}

// missingPartError says which part of a patch the replicated job, nil if there is none, does not have.
func missingPartError(patch trainer.ReplicatedJobPatch, rj *jobset.ReplicatedJob) error {
	if rj == nil {
		return fmt.Errorf("there is no replicated job `%s`", patch.Name)
	}
	spec, pod := podSpecPatch(patch), rj.Template.Spec.Template.Spec
	for _, list := range []struct {
		kind   string
		wanted []trainer.ContainerPatch
		there  []corev1.Container
	}{{"container", spec.Containers, pod.Containers}, {"init container", spec.InitContainers, pod.InitContainers}} {
		for _, wanted := range list.wanted {
			if !slices.ContainsFunc(list.there, func(c corev1.Container) bool { return c.Name == wanted.Name }) {
				return fmt.Errorf("the replicated job `%s` has no %s `%s`", patch.Name, list.kind, wanted.Name)
			}
		}
	}
	return nil
}

// podSpecPatch returns what a patch says about the pods of a replicated job.
func podSpecPatch(rj trainer.ReplicatedJobPatch) trainer.PodSpecPatch {
	if rj.Template == nil || rj.Template.Spec == nil || rj.Template.Spec.Template == nil || rj.Template.Spec.Template.Spec == nil {
		return trainer.PodSpecPatch{}
	}
	return *rj.Template.Spec.Template.Spec
}

func jobSetPatches(patches []trainer.RuntimePatch) []trainer.JobSetSpecPatch {
	var specs []trainer.JobSetSpecPatch
	for _, patch := range patches {
		if patch.TrainingRuntimeSpec != nil && patch.TrainingRuntimeSpec.Template != nil && patch.TrainingRuntimeSpec.Template.Spec != nil {
			specs = append(specs, *patch.TrainingRuntimeSpec.Template.Spec)
		}
	}
	return specs
}

// MergeMaps returns both maps in a new one; over wins.
func MergeMaps(base, over map[string]string) map[string]string {
	result := make(map[string]string, len(base)+len(over))
	maps.Copy(result, base)
	maps.Copy(result, over)
	return result
}
