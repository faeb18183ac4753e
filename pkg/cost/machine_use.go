package cost

import (
	"cmp"
	"slices"
	"time"
)

// MachineUse is a span of time in which a job had machines.
type MachineUse struct {
	Namespace, Job, Person string
	Runtime, Queue         string
	// Nodes is 0 for as many as the runtime has.
	Nodes int64
	// Made is when the job was created, From and To when it had its machines.
	Made, From, To time.Time
}

// Steps that begin and end a span. A job has its machines from the moment its command runs, also while it is started again, until it is suspended or over.
var (
	begins = []string{"Running"}
	ends   = []string{"suspend", "Suspended", "Complete", "Failed", "deleted"}
)

// MachineUses returns the spans of all jobs, by their beginning. A job that still runs ends with the last step, because no more is known.
func MachineUses(steps []JobStep) []MachineUse {
	var uses []MachineUse
	open, made := map[string]*MachineUse{}, map[string]JobStep{}
	for _, s := range steps {
		key := s.Namespace + "/" + s.Job
		switch {
		case s.What == "created":
			made[key] = s
		case slices.Contains(begins, s.What) && open[key] == nil:
			m := made[key]
			open[key] = &MachineUse{Namespace: s.Namespace, Job: s.Job, Person: m.By, Runtime: m.Runtime, Queue: m.Queue, Nodes: m.Nodes, Made: m.Time, From: s.Time}
		case slices.Contains(ends, s.What) && open[key] != nil:
			open[key].To = s.Time
			uses = append(uses, *open[key])
			delete(open, key)
		}
	}
	for _, use := range open {
		use.To = steps[len(steps)-1].Time
		uses = append(uses, *use)
	}
	slices.SortFunc(uses, func(a, b MachineUse) int {
		return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Job, b.Job))
	})
	return uses
}
