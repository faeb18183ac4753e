package view

import (
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
)

// Queue is the local queue that a job names.
type Queue struct {
	Name string `json:"name"`
	// Position counts from 1, and Length is how many jobs wait there; 0 where nobody says, and for a job that does not wait.
	Position int `json:"position,omitempty"`
	Length   int `json:"length,omitempty"`
	// Text is what is known of the wait: position, what is missing, an estimate. Empty for a job that does not wait.
	Text string `json:"text,omitempty"`
}

// queueOf takes the words of the condition, which the controller keeps up to date. Without them the Workloads say what they can.
func queueOf(o JobObjects) *Queue {
	name := queueName(o.TrainJob)
	if name == "" {
		return nil
	}
	q := &Queue{Name: name}
	if !ptr.Deref(o.TrainJob.Spec.Suspend, false) {
		return q
	}
	if c := apimeta.FindStatusCondition(o.TrainJob.Status.Conditions, trainer.TrainJobSuspended); c != nil {
		q.Text = kueue.ParseWait(c.Message)
	}
	if q.Text == "" && len(o.Workloads) > 0 {
		wait, _ := kueue.NewLocalQueue(name, o.Workloads, nil).WaitOf(o.TrainJob, o.Now)
		q.Text = kueue.ParseWait(wait.Text)
	}
	q.Position, q.Length = kueue.ParsePosition(q.Text)
	return q
}
