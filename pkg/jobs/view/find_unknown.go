package view

import (
	"time"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
)

// PickUpTime is how long a new job may be without a trace of an mpi-controller before that is reported: a new leader
// needs some of it.
const PickUpTime = 30 * time.Second

// findUnknown says what cannot be known of a job, and why.
func (s *jobView) findUnknown(j Job) []Withheld {
	list := append([]Withheld(nil), s.Withheld...)
	isNew := s.Now.Sub(s.TrainJob.CreationTimestamp.Time) < PickUpTime && !j.IsFinished()
	if s.executor == jobv1.Stock && (s.runsMPI() || s.Runtime == nil) && j.Phase != jobv1.Complete && !isNew {
		list = append(list, Withheld{What: "diagnosis", Why: "no mpi-controller looks after this job: whether its nodes answer, and what its ranks did, is not known"})
	}
	if j.Runtime.Framework == "" && s.Runtime == nil {
		list = append(list, Withheld{What: "runtime", Why: "the runtime `" + j.Runtime.Name + "` cannot be read, or is gone: slots and limits are not known"})
	}
	return list
}
