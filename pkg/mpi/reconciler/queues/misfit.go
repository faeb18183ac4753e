package queues

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/client-go/openapi"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
)

// misfitText returns the reason why Kueue does not resume a job that it has admitted. Kueue places jobs by
// spec.runtimePatches (sigs.k8s.io/kueue pkg/controller/jobs/trainjob), a field of Kubeflow Trainer since 2.2: with older
// CRDs the API server drops it, and Kueue tries again without end (kueue#11931).
func (g *queuePoll) misfitText() string {
	has, err := g.hasPatches()
	switch {
	case err != nil:
		return "; the fields of a TrainJob cannot be read: " + err.Error()
	case !has:
		return ": the TrainJobs of this cluster have no field spec.runtimePatches, which Kueue sets. " +
			"The platform team installs the CRDs of Kubeflow Trainer 2.2 or later"
	}
	return ": the log of Kueue's controller has the reason"
}

// hasRuntimePatches asks the API server whether TrainJobs have the field by which Kueue places them.
func hasRuntimePatches(served openapi.Client) (bool, error) {
	paths, err := served.Paths()
	if err != nil {
		return false, fmt.Errorf("read the API server's OpenAPI document: %w", err)
	}
	path := "apis/" + trainer.GroupVersion.String()
	if paths[path] == nil {
		return false, fmt.Errorf("the API server's OpenAPI document has no %s", path)
	}
	text, err := paths[path].Schema("application/json")
	if err != nil {
		return false, fmt.Errorf("read the API server's OpenAPI document of %s: %w", path, err)
	}
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct {
					Properties map[string]json.RawMessage `json:"properties"`
				} `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return false, fmt.Errorf("read the API server's OpenAPI document of %s: %w", path, err)
	}
	for name, schema := range document.Components.Schemas {
		if strings.HasSuffix(name, "."+trainer.TrainJobKind) {
			return schema.Properties["spec"].Properties["runtimePatches"] != nil, nil
		}
	}
	return false, fmt.Errorf("the API server's OpenAPI document of %s has no %s", path, trainer.TrainJobKind)
}
