package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/job/phase"
)

// PatchOperation is one of a JSON patch (RFC 6902).
type PatchOperation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

const (
	conditionsPath = "/status/conditions"
	jobsPath       = "/status/jobsStatus"
)

// unchangedTests binds a patch to what the decision was made from: this TrainJob and its spec. It does not bind it to
// the version: annotations and labels decide nothing, and a user who writes them all the time must not keep a job from
// its end.
func unchangedTests(trainJob *trainer.TrainJob) []PatchOperation {
	return []PatchOperation{
		{"test", "/metadata/uid", trainJob.UID},
		{"test", "/metadata/generation", trainJob.Generation},
	}
}

// shownTest binds a patch of the status to the conditions that it showed, or to none: by now it may show an end.
func shownTest(shown trainer.TrainJobStatus) PatchOperation {
	switch {
	case isEmptyStatus(shown):
		return PatchOperation{"test", "/status", null}
	case len(shown.Conditions) == 0:
		return PatchOperation{"test", conditionsPath, null}
	}
	return PatchOperation{"test", conditionsPath, shown.Conditions}
}

// isEmptyStatus reports whether a TrainJob has no status at all, so that there is nothing to add to.
func isEmptyStatus(status trainer.TrainJobStatus) bool {
	return apiequality.Semantic.DeepEqual(status, trainer.TrainJobStatus{})
}

// statusChanges set conditions and counts. Conditions are a list whose order matters, so it is replaced as a whole; what
// others report in the status (trainerStatus) is not touched.
func statusChanges(before, after trainer.TrainJobStatus) []PatchOperation {
	switch {
	case isEmptyStatus(before) && isEmptyStatus(after):
		return nil
	case isEmptyStatus(before):
		return []PatchOperation{{"add", "/status", after}}
	case isEmptyStatus(after): // the API server takes no status without properties
		return []PatchOperation{{Op: "remove", Path: "/status"}}
	}
	var changes []PatchOperation
	switch {
	case apiequality.Semantic.DeepEqual(before.Conditions, after.Conditions):
	case len(after.Conditions) == 0:
		changes = append(changes, PatchOperation{Op: "remove", Path: conditionsPath})
	default:
		changes = append(changes, PatchOperation{"add", conditionsPath, after.Conditions})
	}
	if !apiequality.Semantic.DeepEqual(before.JobsStatus, after.JobsStatus) {
		changes = append(changes, PatchOperation{"add", jobsPath, after.JobsStatus})
	}
	return changes
}

// null is what a test finds where nothing is.
var null = json.RawMessage("null")

// setMapEntry gives a label or an annotation of a TrainJob its value, and takes it away where the value is empty. Where a TrainJob has none yet the
// whole map is made, unless somebody else has made it meanwhile, whose keys would be lost.
func setMapEntry(field string, before map[string]string, key, value string) []PatchOperation {
	all := "/metadata/" + field
	one := all + "/" + strings.ReplaceAll(key, "/", "~1") // RFC 6901
	switch {
	case before[key] == value:
		return nil
	case value == "":
		return []PatchOperation{{Op: "remove", Path: one}}
	case before == nil:
		return []PatchOperation{{"test", all, null}, {"add", all, map[string]string{key: value}}}
	}
	return []PatchOperation{{"add", one, value}}
}

// hasJobLabel reports whether a TrainJob has the label by which people find those that we run.
func hasJobLabel(trainJob *trainer.TrainJob) bool {
	return trainJob.Labels[mpi.TrainJobLabel] == trainJob.Name
}

// patchRecord writes jobv1.Annotation, or takes it away, and the label with it. Both are ours, whatever a user has written there.
func (r *Reconciler) patchRecord(ctx context.Context, trainJob *trainer.TrainJob, record string) error {
	changes := slices.Concat(unchangedTests(trainJob),
		setMapEntry("annotations", trainJob.Annotations, jobv1.Annotation, record), setMapEntry("labels", trainJob.Labels, mpi.TrainJobLabel, trainJob.Name))
	return r.sendPatch(trainJob, changes, func(target *trainer.TrainJob, patch client.Patch) error {
		return r.Client.Patch(ctx, target, patch, client.FieldOwner(mpi.ControllerName))
	})
}

// patchStatus carries changes of the status out.
func (r *Reconciler) patchStatus(ctx context.Context, f *phase.Facts, changes []PatchOperation) error {
	changes = append(append(unchangedTests(f.TrainJob), shownTest(shownStatus(f))), changes...)
	return r.sendPatch(f.TrainJob, changes, func(target *trainer.TrainJob, patch client.Patch) error {
		return r.Client.Status().Patch(ctx, target, patch, client.FieldOwner(mpi.ControllerName))
	})
}

// sendPatch carries changes out, if the TrainJob is what the decision was made from; otherwise the error is a conflict.
func (r *Reconciler) sendPatch(trainJob *trainer.TrainJob, changes []PatchOperation, send func(*trainer.TrainJob, client.Patch) error) error {
	text, err := json.Marshal(changes)
	if err != nil {
		return fmt.Errorf("encode patch of TrainJob: %w", err)
	}
	target := &trainer.TrainJob{ObjectMeta: metav1.ObjectMeta{Namespace: trainJob.Namespace, Name: trainJob.Name}}
	err = send(target, client.RawPatch(types.JSONPatchType, text))
	switch {
	case isFailedPatchTest(err):
		return apierrors.NewConflict(trainer.GroupVersion.WithResource("trainjobs").GroupResource(), trainJob.Name, err)
	case err != nil:
		return fmt.Errorf("patch TrainJob: %w", err)
	}
	r.cache.noteWritten(client.ObjectKeyFromObject(trainJob), target.ResourceVersion)
	return nil
}

// isFailedPatchTest reports whether a test of a JSON patch failed. The API server calls that invalid too, and names neither object nor
// cause (k8s.io/apiserver pkg/endpoints/handlers/patch.go, applyJSPatch); validation and admission name what they refuse.
func isFailedPatchTest(err error) bool {
	var refused apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &refused) {
		return false
	}
	details := refused.Status().Details
	return details != nil && apiequality.Semantic.DeepEqual(*details, metav1.StatusDetails{})
}
