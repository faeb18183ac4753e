package overview

import (
	"slices"
	"strconv"
	"time"

	"lockstep.dev/lockstep/pkg/cost"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
)

// bill adds up the month until now by the rules of `runtime-compiler cost`, from the controller's record of each job.
// The shares of tenants are in the specs alone, so that no machine counts as borrowed here.
func (in *Input) bill(jobs []view.Job) cost.Bill {
	known := cost.Cluster{
		Tenants: in.Tenants, Runtimes: map[string]cost.Runtime{}, Prices: map[string]float64{},
	}
	for name, runtime := range in.Runtimes {
		profile := runtime.Labels[ProfileLabel]
		known.Runtimes[name] = cost.Runtime{Profile: profile}
		if price, err := strconv.ParseFloat(runtime.Annotations[mpi.PriceAnnotation], 64); err == nil && price > 0 {
			known.Prices[profile] = price
		}
	}
	var uses []cost.MachineUse
	for i := range jobs {
		uses = append(uses, usesOf(&jobs[i], in.Now)...)
	}
	slices.SortStableFunc(uses, func(a, b cost.MachineUse) int { return a.From.Compare(b.From) })
	now := in.Now.UTC()
	return cost.NewBill(uses, &known, time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC), now)
}

// usesOf returns the spans in which a job had its machines. The record has the sum of all that are over, here one span
// at their end: some hours of a job that was suspended for a while may count in the wrong month.
func usesOf(j *view.Job, now time.Time) []cost.MachineUse {
	if j.Usage == nil || j.World == nil || j.World.Nodes == 0 {
		return nil
	}
	use := cost.MachineUse{
		Namespace: j.Namespace, Job: j.Name, Person: j.User, Made: j.Times.Created.Time, Runtime: j.Runtime.Name,
		Nodes: int64(j.World.Nodes),
	}
	if j.Queue != nil {
		use.Queue = j.Queue.Name
	}
	var uses []cost.MachineUse
	end := now
	switch {
	case !j.Usage.Since.IsZero():
		use.From, use.To = j.Usage.Since.Time, now
		uses, end = append(uses, use), j.Usage.Since.Time
	case j.Times.Ended != nil:
		end = j.Times.Ended.Time
	case j.Since != nil: // it was suspended then
		end = j.Since.Time
	}
	if over := j.Usage.MachineSeconds / int64(j.World.Nodes); over > 0 {
		use.From, use.To = end.Add(-time.Duration(over)*time.Second), end
		uses = append(uses, use)
	}
	return uses
}
