package rule

// Jobs says what a change does to jobs that run when it is applied. The list is closed.
type Jobs uint8

// What happens to running jobs, from nothing to the gravest.
const (
	// Untouched jobs do not notice.
	Untouched Jobs = iota
	// Included jobs go on, and what opens or grows is open to them at once.
	Included
	// Hampered jobs go on, and may fail: traffic is closed, a right is taken away, a pod that must be replaced is refused.
	Hampered
	// Preemptible jobs may be stopped, so that others get their machines.
	Preemptible
	// Stopped jobs end.
	Stopped
)

var jobsNames = [...]string{Untouched: "untouched", Included: "included", Hampered: "hampered", Preemptible: "preemptible", Stopped: "stopped"}

// JobsList returns all, the gravest first.
func JobsList() []Jobs { return []Jobs{Stopped, Preemptible, Hampered, Included, Untouched} }

// Meaning is a sentence about it.
func (j Jobs) Meaning() string {
	return [...]string{
		Untouched:   "Running jobs do not notice.",
		Included:    "Running jobs go on, and what opens or grows is open to them at once.",
		Hampered:    "Running jobs go on, and may fail: traffic is closed, a right is taken away, a pod that must be replaced is refused.",
		Preemptible: "Running jobs may be stopped, so that others get their machines.",
		Stopped:     "Running jobs end.",
	}[j]
}

// String returns the name.
func (j Jobs) String() string { return jobsNames[j] }

// MarshalText returns the name.
func (j Jobs) MarshalText() ([]byte, error) { return []byte(j.String()), nil }
