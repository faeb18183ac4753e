package rule

import (
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Effect is what a rule says about one or more changes of one object, namespace, tenant or cluster.
type Effect struct {
	// Rule is the name of the rule, and of its page.
	Rule        string
	Consequence Consequence
	Severity    Severity
	Jobs        JobsImpact
	// Subject is whom it happens to.
	Subject Subject
	// Title says what happens without the subject, the same for all that it happens to: "egress opens to TCP 443 at 0.0.0.0/0".
	Title string
	// Detail is what holds for this subject only: "8 nvidia.com/gpu were guaranteed, now 4"; it may be empty.
	Detail string
	// Clause is the clause of the verdict; the zero Gist is none.
	Clause Clause
	// Before and After are the places of the specs that are responsible; nowhere where a side has none.
	Before, After source.Span
	// Help is what to do, where something must be done.
	Help string
	// Changes are its causes, never none.
	Changes []*match.Change
	// Users are the tenants who share what it happens to, where it does not happen to one of them.
	Users []string
	// JobsOf is the tenant whose running jobs are meant, where it is another one than the subject.
	JobsOf string
	// Aspect keeps effects apart that one line brings about and that are not alike, though the rule and the consequence are the same.
	Aspect Aspect
}

// Aspect is what of an object changes; "" where a rule does not tell any apart.
type Aspect string

// effect returns what some changes of one object with one cause mean. Its detail is the changes themselves, where a rule has nothing better.
func (c *Cluster) effect(changes []*match.Change, consequence Consequence, severity Severity, title string) Effect {
	e := Effect{Consequence: consequence, Severity: severity, Subject: c.subjectOf(changes[0]), Title: title, Detail: changesText(changes), Changes: changes}
	e.Before, e.After = changes[0].Spans()
	return e
}

// withDetail returns the effect with what holds for its subject only.
func (e Effect) withDetail(detail string) Effect {
	e.Detail = detail
	return e
}

// withClause returns the effect with a clause for the verdict.
func (e Effect) withClause(verb, rest string) Effect {
	e.Clause = Clause{Verb: verb, Rest: rest}
	return e
}

// withClauseOf returns the effect with a clause for the verdict about a subject of its own.
func (e Effect) withClauseOf(of, verb, rest string) Effect {
	e.Clause = Clause{Of: of, Verb: verb, Rest: rest}
	return e
}

// withJobs returns the effect with what becomes of running jobs.
func (e Effect) withJobs(jobs JobsImpact) Effect {
	e.Jobs = jobs
	return e
}

// withAspect returns the effect with what keeps it apart from others.
func (e Effect) withAspect(aspect Aspect) Effect {
	e.Aspect = aspect
	return e
}

// withHelp returns the effect with what to do.
func (e Effect) withHelp(help string) Effect {
	e.Help = help
	return e
}

// withNamespaceSubject names the namespace where no tenant owns it.
func (e Effect) withNamespaceSubject() Effect {
	if e.Subject.Tenant == "" && e.Clause != (Clause{}) {
		e.Clause.Of = "namespace " + e.Subject.Namespace
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

// Clause is a clause of the verdict: a verb, and what follows it. The subject, and with it singular or plural, is added when the
// clauses of all entries are put together: "team-vision" + "lose" + "8 guaranteed nvidia.com/gpu".
type Clause struct {
	Verb, Rest string
	// Of is the subject where it is neither tenants nor runtimes nor clusters: a group of people, an object.
	Of string
}
