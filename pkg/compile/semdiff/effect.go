package semdiff

import "lockstep.dev/lockstep/pkg/compile/source"

// Effect is what a rule says about one or more changes of one object, namespace, tenant or cluster.
type Effect struct {
	// Rule is the name of the rule, and of its page.
	Rule        string
	Consequence Consequence
	Severity    Severity
	Jobs        Jobs
	// Subject is whom it happens to.
	Subject Subject
	// Title says what happens without the subject, the same for all that it happens to: "egress opens to TCP 443 at 0.0.0.0/0".
	Title string
	// Detail is what holds for this subject only: "8 nvidia.com/gpu were guaranteed, now 4"; it may be empty.
	Detail string
	// Gist is the clause of the verdict; the zero Gist is none.
	Gist Gist
	// Before and After are the places of the specs that are responsible; nowhere where a side has none.
	Before, After source.Span
	// Help is what to do, where something must be done.
	Help string
	// Changes are its causes, never none.
	Changes []*Change

	// aspect keeps effects apart that one line brings about and that are not alike, though the rule and the consequence are the same.
	aspect aspect
}

// Subject is whom an effect happens to. Fields that say nothing are empty.
type Subject struct {
	Cluster   string `json:"cluster"`
	Tenant    string `json:"tenant,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Runtime   string `json:"runtime,omitempty"`
	// Object is the object that changes, as `Kind.group namespace/name`; with Path it is the value.
	Object string `json:"object,omitempty"`
	Path   string `json:"path,omitempty"`
}

// Gist is a clause of the verdict: a verb, and what follows it. The subject, and with it singular or plural, is added when the
// clauses of all entries are put together: "team-vision" + "lose" + "8 guaranteed nvidia.com/gpu".
type Gist struct {
	Verb, Rest string
	// Of is the subject where it is neither tenants nor runtimes nor clusters: a group of people, an object.
	Of string
}

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
