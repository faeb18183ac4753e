package submit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
)

// OptionsOf returns the options that make a job, and the paths of fields that no option can express. Without such paths
// TrainJob(options) returns the job again.
func OptionsOf(job *trainer.TrainJob) (Options, []string) {
	ref := job.Spec.RuntimeRef
	o := Options{
		Name: job.Name, Namespace: job.Namespace, Queue: job.Labels[kueue.QueueLabel],
		Runtime: Runtime{Name: ref.Name, Kind: ptr.Deref(ref.Kind, ClusterTrainingRuntime)},
		Trace:   job.Annotations[mpi.TraceAnnotation], Suspend: ptr.Deref(job.Spec.Suspend, false),
	}
	if wanted, err := mpijob.ArtifactsOf(job); err == nil && wanted != nil {
		o.Artifacts = artifactsText(job.Annotations[mpi.ArtifactsAnnotation])
	}
	for _, patch := range job.Spec.RuntimePatches {
		if pod := launcherPatch(patch); pod != nil && patch.Manager == Manager {
			o.Claims, o.Files = claimsIn(pod.Spec), filesIn(pod)
		}
	}
	if t := job.Spec.Trainer; t != nil {
		o.Image, o.Nodes, o.Slots = ptr.Deref(t.Image, ""), ptr.Deref(t.NumNodes, 0), ptr.Deref(t.NumProcPerNode, 0)
		o.Command = t.Command
		if len(o.Files) > 0 {
			o.Command = mpi.UnwrapFilesDir(t.Command)
		}
		for _, v := range t.Env {
			if v.ValueFrom == nil {
				o.Env = append(o.Env, v)
			}
		}
		if t.ResourcesPerNode != nil {
			o.Resources = t.ResourcesPerNode.Requests
		}
	}
	again, err := TrainJob(o)
	if err != nil {
		return o, []string{err.Error()}
	}
	return o, differingPaths(job, again)
}

// differingPaths returns the fields of a job that another one has not, or has otherwise.
func differingPaths(job, other *trainer.TrainJob) []string {
	var paths []string
	var walk func(path string, left, right any)
	walk = func(path string, left, right any) {
		l, isObject := left.(map[string]any)
		r, other := right.(map[string]any)
		switch {
		case apiequality.Semantic.DeepEqual(left, right):
		case isObject && (other || right == nil):
			names := slices.AppendSeq(slices.Collect(maps.Keys(l)), maps.Keys(r))
			slices.Sort(names)
			for _, name := range slices.Compact(names) {
				walk(path+"."+name, l[name], r[name])
			}
		default:
			paths = append(paths, path[1:])
		}
	}
	walk("", treeOf(job), treeOf(other))
	return paths
}

// treeOf returns what a user wrote of a job.
func treeOf(job *trainer.TrainJob) map[string]any {
	written := &trainer.TrainJob{Spec: job.Spec}
	text, err := json.Marshal(written)
	if err != nil {
		panic(fmt.Sprintf("encode a TrainJob: %v", err)) // it was decoded
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		panic(fmt.Sprintf("decode a TrainJob: %v", err))
	}
	delete(tree, "status")
	delete(tree, "metadata")
	if spec, is := tree["spec"].(map[string]any); is {
		fillDefaults(spec)
	}
	for group, values := range map[string]map[string]string{
		"labels": job.Labels, "annotations": job.Annotations,
	} {
		for name, value := range values {
			tree["metadata."+group+"["+name+"]"] = value
		}
	}
	return tree
}

// fillDefaults writes what the API server would write, so that a job with it and one without it are equal.
func fillDefaults(spec map[string]any) {
	if spec["suspend"] == false {
		delete(spec, "suspend")
	}
	if own, is := spec["trainer"].(map[string]any); is && len(own) == 0 {
		delete(spec, "trainer")
	}
	if ref, is := spec["runtimeRef"].(map[string]any); is {
		for name, value := range map[string]string{"kind": ClusterTrainingRuntime, "apiGroup": trainer.GroupVersion.Group} {
			if ref[name] == nil {
				ref[name] = value
			}
		}
	}
}
