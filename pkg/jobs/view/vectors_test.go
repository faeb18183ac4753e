package view

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi/job"
)

// TestVectors: what test/vectors wants is shown of the objects as they are there, after a way through JSON. The test that writes them, with all
// lives of jobs, is in pkg/mpi/job.
func TestVectors(t *testing.T) {
	text, err := os.ReadFile("../../../test/vectors/jobs.json")
	if err != nil {
		t.Fatal(err)
	}
	type shown struct {
		Phase    jobv1.Phase    `json:"phase"`
		State    string         `json:"state"`
		Executor jobv1.Executor `json:"executor"`
		Cause    *Cause         `json:"cause"`
		Message  string         `json:"message"`
		Queue    *jobv1.Queue   `json:"queue"`
		LogsURL  string         `json:"logsURL"`
		Columns  ListColumns    `json:"columns"`
	}
	var vectors []struct {
		Name string    `json:"name"`
		Now  time.Time `json:"now"`
		In   struct {
			TrainJob *trainer.TrainJob `json:"trainJob"`
			Runtime  *job.Runtime      `json:"runtime"`
			JobSet   *jobset.JobSet    `json:"jobSet"`
			Pods     []corev1.Pod      `json:"pods"`
		} `json:"in"`
		Want shown `json:"want"`
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		j := JobOf(JobObjects{Now: v.Now, TrainJob: v.In.TrainJob, Runtime: v.In.Runtime, JobSet: v.In.JobSet, Pods: v.In.Pods, PodsRead: true})
		got := shown{j.Phase, j.State, j.Executor, j.Cause, j.Message, j.Queue, j.LogsURL, j.Columns(v.Now)}
		if diff := cmp.Diff(v.Want, got); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", v.Name, diff)
		}
	}
}
