package convert

import (
	"cmp"
	"slices"
	"time"
)

// RemainingJobs is what a namespace still has of MPIJobs.
type RemainingJobs struct {
	Namespace string `json:"namespace"`
	// Jobs is how many there are, Unfinished how many of them have not ended.
	Jobs       int `json:"jobs"`
	Unfinished int `json:"unfinished"`
	// NeedHands is how many have values that are not possible.
	NeedHands int `json:"needHands"`
	// Newest is when the last one was made; zero where nobody knows.
	Newest time.Time `json:"newest,omitzero"`
}

// CountRemaining counts MPIJobs by namespace: first those with the most jobs.
func CountRemaining(results []*Result) []RemainingJobs {
	counts := map[string]*RemainingJobs{}
	for _, r := range results {
		namespace := r.Job.Namespace()
		count := counts[namespace]
		if count == nil {
			count = &RemainingJobs{Namespace: namespace}
			counts[namespace] = count
		}
		count.Jobs++
		if !r.Job.isFinished() {
			count.Unfinished++
		}
		if r.CountToReview() > 0 {
			count.NeedHands++
		}
		if made := r.Job.spec.CreationTimestamp.Time; made.After(count.Newest) {
			count.Newest = made
		}
	}
	all := make([]RemainingJobs, 0, len(counts))
	for _, count := range counts {
		all = append(all, *count)
	}
	slices.SortFunc(all, func(a, b RemainingJobs) int {
		return cmp.Or(cmp.Compare(b.Jobs, a.Jobs), cmp.Compare(a.Namespace, b.Namespace))
	})
	return all
}

// isFinished reports whether the operator says that the job has ended.
func (j *MPIJob) isFinished() bool {
	for _, c := range j.spec.Status.Conditions {
		if (c.Type == "Succeeded" || c.Type == "Failed") && c.Status == "True" {
			return true
		}
	}
	return false
}
