// Package begun proves that compiled runtimes take the jobs that users begin with. It looks at runtimes as they are
// emitted: bounds and containers may come from a patch.
package begun

import (
	"encoding/json"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/jobtemplate"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// Prove reports each template that its runtime does not take.
func Prove(objects []object.Object, templates []*jobtemplate.Template, list *diag.List) {
	for _, t := range templates {
		kind := "ClusterTrainingRuntime"
		if t.OfTenant() {
			kind = "TrainingRuntime"
		}
		for i := range objects {
			if o := &objects[i]; o.ID.Kind == kind && o.ID.Name == t.Runtime() {
				proveOne(o, t, list)
			}
		}
	}
}

func proveOne(o *object.Object, t *jobtemplate.Template, list *diag.List) {
	var runtime struct {
		Metadata struct {
			Labels, Annotations map[string]string
		}
		job.Runtime
	}
	text, err := json.Marshal(o.Root.Value())
	if err == nil {
		err = json.Unmarshal(text, &runtime)
	}
	if err != nil {
		return // the proof about schemas reports it
	}
	runtime.Labels, runtime.Annotations = runtime.Metadata.Labels, runtime.Metadata.Annotations
	t.Check(runtime.Runtime, list)
}
