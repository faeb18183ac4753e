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

// effect returns what some changes of one object with one cause mean.
func (c *cluster) effect(changes []*Change, consequence Consequence, severity Severity, title, detail string) Effect {
	e := Effect{Consequence: consequence, Severity: severity, Subject: c.subject(changes[0]), Title: title, Detail: detail, Changes: changes}
	e.Before, e.After = changes[0].Spans()
	return e
}

// with returns the effect with a clause for the verdict.
func (e Effect) with(verb, rest string) Effect {
	e.Gist = Gist{Verb: verb, Rest: rest}
	return e
}

// withOf returns the effect with a clause for the verdict about somebody of its own.
func (e Effect) withOf(of, verb, rest string) Effect {
	e.Gist = Gist{Of: of, Verb: verb, Rest: rest}
	return e
}

// to returns the effect with what becomes of running jobs.
func (e Effect) to(jobs Jobs) Effect {
	e.Jobs = jobs
	return e
}

// helped returns the effect with what to do.
func (e Effect) helped(help string) Effect {
	e.Help = help
	return e
}

// inPlatform names the namespace where no tenant owns it.
func (e Effect) inPlatform() Effect {
	if e.Subject.Tenant == "" && e.Gist != (Gist{}) {
		e.Gist.Of = "namespace " + e.Subject.Namespace
	}
	return e
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
