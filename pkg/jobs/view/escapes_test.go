package view

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
)

// What users write into the record of a job neither moves the cursor of a terminal nor replaces the cause of an
// executor.
func TestForgedConditions(t *testing.T) {
	text, err := os.ReadFile("../../../test/vectors/escapes.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Name string `json:"name"`
		In   struct {
			TrainJob *trainer.TrainJob `json:"trainJob"`
			JobSet   *jobset.JobSet    `json:"jobSet"`
		} `json:"in"`
		Want struct {
			Reason, Text string
			Types        []string
		} `json:"want"`
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		j := JobOf(JobObjects{TrainJob: v.In.TrainJob, JobSet: v.In.JobSet})
		got := v.Want
		got.Reason, got.Text, got.Types = "", "", nil
		if j.Cause != nil {
			got.Reason, got.Text = j.Cause.Reason, j.Cause.Text
		}
		for _, c := range j.Conditions {
			got.Types = append(got.Types, c.Type)
		}
		if diff := cmp.Diff(v.Want, got); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", v.Name, diff)
		}
	}
}
