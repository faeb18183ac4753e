package rule

// JobsImpact says what a change does to jobs that run when it is applied. The list is closed.
type JobsImpact uint8

// What happens to running jobs, from nothing to the most severe.
const (
	// JobsUntouched jobs do not notice.
	JobsUntouched JobsImpact = iota
	// JobsIncluded jobs go on, and what opens or grows is open to them at once.
	JobsIncluded
	// JobsHampered jobs go on, and may fail: traffic is closed, a right is taken away, a pod that must be replaced is refused.
	JobsHampered
	// JobsPreemptible jobs may be stopped: others get their machines, the GitOps engine deletes what they run in, or Kueue
	// stops them, to begin again.
	JobsPreemptible
	// JobsStopped jobs end.
	JobsStopped
)

var jobsNames = [...]string{JobsUntouched: "untouched", JobsIncluded: "included", JobsHampered: "hampered", JobsPreemptible: "preemptible", JobsStopped: "stopped"}

// JobsImpacts returns all, the most severe first.
func JobsImpacts() []JobsImpact {
	return []JobsImpact{JobsStopped, JobsPreemptible, JobsHampered, JobsIncluded, JobsUntouched}
}

// Meaning is a sentence about it.
func (j JobsImpact) Meaning() string {
	return [...]string{
		JobsUntouched: "Running jobs do not notice.",
		JobsIncluded:  "Running jobs go on, and what opens or grows is open to them at once.",
		JobsHampered:  "Running jobs go on, and may fail: traffic is closed, a right is taken away, a pod that must be replaced is refused.",
		JobsPreemptible: "Running jobs may be stopped: others get their machines, the GitOps engine deletes what they run in, " +
			"or Kueue stops jobs whose runtime has other containers, to begin again.",
		JobsStopped: "Running jobs end.",
	}[j]
}

// String returns the name.
func (j JobsImpact) String() string { return jobsNames[j] }

// MarshalText returns the name.
func (j JobsImpact) MarshalText() ([]byte, error) { return []byte(j.String()), nil }
