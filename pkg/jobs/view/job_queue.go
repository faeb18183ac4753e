package view

import (
	"strings"

	"k8s.io/utils/ptr"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
)

// findQueue takes the queue from the record, which the controller keeps up to date. Without one the Workloads tell of
// the wait.
func (s *jobView) findQueue() *jobv1.Queue {
	name := queueName(s.TrainJob)
	if name == "" {
		return nil
	}
	q, suspended := &jobv1.Queue{Name: name}, ptr.Deref(s.TrainJob.Spec.Suspend, false)
	switch {
	case !suspended:
	case s.record.Queue != nil && s.record.Queue.Name == name && s.record.Queue.Text != "":
		return s.record.Queue
	case len(s.Workloads) > 0:
		wait, _ := kueue.NewLocalQueue(name, s.Workloads, nil).WaitOf(s.TrainJob, s.Now)
		q.Position, q.Length, q.Text = wait.Position, wait.Length, strings.TrimPrefix(wait.Text, "; ")
	}
	return q
}
