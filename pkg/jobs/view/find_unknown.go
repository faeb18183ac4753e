package view

import "lockstep.dev/lockstep/pkg/mpi/job/phase"

// findUnknown says what cannot be known of a job, and why.
func (s *jobView) findUnknown(j Job) []Withheld {
	list := append([]Withheld(nil), s.Withheld...)
	if s.executor == Stock && (s.runsMPI() || s.Runtime == nil) && j.Phase != phase.Complete {
		list = append(list, Withheld{What: "diagnosis", Why: "no mpi-controller looks after this job: whether its nodes answer, and what its ranks did, is not known"})
	}
	if j.Runtime.Framework == "" && s.Runtime == nil {
		list = append(list, Withheld{What: "runtime", Why: "the runtime `" + j.Runtime.Name + "` cannot be read, or is gone: slots and limits are not known"})
	}
	return list
}
