package status

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
)

func TestStoppedJobsHaveNothingActive(t *testing.T) {
	got := countsAfterDeletion([]trainer.JobStatus{{Name: "node", Active: ptr.To[int32](1), Ready: ptr.To[int32](1), Failed: ptr.To[int32](0)}})
	want := []trainer.JobStatus{{Name: "node", Active: ptr.To[int32](0), Ready: ptr.To[int32](0), Failed: ptr.To[int32](1)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dashboards take a job with something active for a running one: -want, +got:\n%s", diff)
	}
}
