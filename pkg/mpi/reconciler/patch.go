package reconciler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// operation is one of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

const (
	conditionsPath = "/status/conditions"
	jobsPath       = "/status/jobsStatus"
)

// unchanged binds a patch to what the decision was made from: this TrainJob, its spec and its conditions. It is not bound to
// the version, because annotations and labels decide nothing: somebody who writes them all the time must not keep a job from
// its end.
func unchanged(trainJob *trainer.TrainJob) []operation {
	tests := []operation{
		{"test", "/metadata/uid", trainJob.UID},
		{"test", "/metadata/generation", trainJob.Generation},
	}
	if len(trainJob.Status.Conditions) > 0 {
		tests = append(tests, operation{"test", conditionsPath, trainJob.Status.Conditions})
	}
	return tests
}

// empty says whether a TrainJob has no status at all, so that there is nothing to add to.
func empty(status trainer.TrainJobStatus) bool {
	return apiequality.Semantic.DeepEqual(status, trainer.TrainJobStatus{})
}

// statusChanges set conditions and counts. Conditions are a list whose order matters, so it is replaced as a whole; what
// others report in the status (trainerStatus) is not touched.
func statusChanges(before, after trainer.TrainJobStatus) []operation {
	if empty(before) {
		return []operation{{"add", "/status", after}}
	}
	var changes []operation
	if !apiequality.Semantic.DeepEqual(before.Conditions, after.Conditions) {
		changes = append(changes, operation{"add", conditionsPath, after.Conditions})
	}
	if !apiequality.Semantic.DeepEqual(before.JobsStatus, after.JobsStatus) {
		changes = append(changes, operation{"add", jobsPath, after.JobsStatus})
	}
	return changes
}

// conditionChanges set our conditions one by one, before those of others.
func conditionChanges(before trainer.TrainJobStatus, ours []metav1.Condition) []operation {
	var changes []operation
	var added []metav1.Condition
	for _, condition := range ours {
		i := indexOf(before.Conditions, condition.Type)
		switch {
		case i < 0:
			added = append(added, condition)
		case !same(before.Conditions[i], condition):
			changes = append(changes, operation{"replace", fmt.Sprintf("%s/%d", conditionsPath, i), condition})
		}
	}
	switch {
	case len(added) == 0:
		return changes
	case empty(before):
		return []operation{{"add", "/status", map[string]any{"conditions": added}}}
	case len(before.Conditions) == 0:
		return []operation{{"add", conditionsPath, added}}
	}
	for i, condition := range added {
		changes = append(changes, operation{"add", fmt.Sprintf("%s/%d", conditionsPath, i), condition})
	}
	return changes
}

// patchStatus carries changes out, if the TrainJob is what the decision was made from; otherwise the error is a conflict.
func (r *Reconciler) patchStatus(ctx context.Context, trainJob *trainer.TrainJob, changes []operation) error {
	text, err := json.Marshal(append(unchanged(trainJob), changes...))
	if err != nil {
		return fmt.Errorf("encode status: %w", err)
	}
	target := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: trainJob.Namespace, Name: trainJob.Name}}
	err = r.client.Status().Patch(ctx, target, client.RawPatch(types.JSONPatchType, text), client.FieldOwner(FieldOwner))
	switch {
	case outdated(err):
		return apierrors.NewConflict(trainer.GroupVersion.WithResource("trainjobs").GroupResource(), trainJob.Name, err)
	case err != nil:
		return fmt.Errorf("write status: %w", err)
	}
	r.memory.wrote(client.ObjectKeyFromObject(trainJob), target.ResourceVersion)
	return nil
}

// outdated says whether a test of a JSON patch failed. The API server calls that invalid too, and names neither object nor
// cause (k8s.io/apiserver pkg/endpoints/handlers/patch.go, applyJSPatch); validation and admission name what they refuse.
func outdated(err error) bool {
	var refused apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &refused) {
		return false
	}
	details := refused.Status().Details
	return details != nil && apiequality.Semantic.DeepEqual(*details, metav1.StatusDetails{})
}

func indexOf(conditions []metav1.Condition, kind string) int {
	for i := range conditions {
		if conditions[i].Type == kind {
			return i
		}
	}
	return -1
}

func same(a, b metav1.Condition) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message
}
