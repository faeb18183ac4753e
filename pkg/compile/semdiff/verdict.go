package semdiff

import (
	"fmt"
	"strings"
)

// mostClauses is how many clauses a verdict has; what is left is counted.
const mostClauses = 6

// clause is a part of the verdict: what happens, and to whom.
type clause struct {
	gist     Gist
	severity Severity
	blast    Blast
}

// verdict puts the gists of the entries together, the gravest first, and ends with what becomes of running jobs.
func (r *Report) verdict() string {
	if r.Findings.Errors > 0 && len(r.Entries) == 0 {
		return "The specs do not compile: " + plural(r.Findings.Errors, "error") + "."
	}
	clauses, left := r.clauses()
	var parts []string
	if n := r.Findings.Errors; n > 0 {
		parts = append(parts, "check refuses it with "+plural(n, "error"))
	}
	for i := range clauses {
		parts = append(parts, clauses[i].String())
	}
	if left > 0 {
		parts = append(parts, "there "+are(left)+" "+plural(left, "smaller change"))
	}
	switch {
	case len(r.Entries) == 0:
		return "Nothing changes: both sides compile to the same objects."
	case len(parts) == 0 && r.specsOnly() == r.Totals.Values:
		return "Nothing changes on the clusters: " + plural(r.specsOnly(), "value") + " of the specs " + change(r.specsOnly()) + ", in no object. Running jobs are not touched."
	case len(parts) == 0:
		return "Nothing changes for anybody: what is different means the same. Running jobs are not touched."
	}
	return strings.Join(append(parts, r.jobs()), "; ") + "."
}

// specsOnly is how many values of specs differ in no object.
func (r *Report) specsOnly() int {
	n := 0
	for i := range r.Entries {
		if r.Entries[i].Consequence == SpecsOnly {
			n += r.Entries[i].Values
		}
	}
	return n
}

func change(n int) string {
	if n == 1 {
		return "changes"
	}
	return "change"
}

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// clauses joins entries with one gist. Entries that nobody notices are left out, unless there are no others.
func (r *Report) clauses() ([]clause, int) {
	least := Notice
	if r.Worst() == Info {
		least = Info
	}
	var all []clause
	at := map[Gist]int{}
	left := 0
	for i := range r.Entries {
		e := &r.Entries[i]
		if e.Severity < least || e.Consequence == NoEffect || e.Consequence == SpecsOnly {
			continue
		}
		known, found := at[e.Gist]
		switch {
		case found:
			all[known].blast = all[known].blast.join(&e.Blast)
		case e.Gist == (Gist{}) || len(all) == mostClauses:
			left++
		default:
			at[e.Gist] = len(all)
			all = append(all, clause{e.Gist, e.Severity, e.Blast})
		}
	}
	return all, left
}

func (b Blast) join(other *Blast) Blast {
	return Blast{
		Clusters: distinct(append(b.Clusters[:len(b.Clusters):len(b.Clusters)], other.Clusters...)), Tenants: distinct(append(b.Tenants[:len(b.Tenants):len(b.Tenants)], other.Tenants...)),
		Namespaces: distinct(append(b.Namespaces[:len(b.Namespaces):len(b.Namespaces)], other.Namespaces...)), Runtimes: distinct(append(b.Runtimes[:len(b.Runtimes):len(b.Runtimes)], other.Runtimes...)),
	}
}

// String returns for example `2 tenants gain internet egress`.
func (c *clause) String() string {
	who, many := c.subject()
	verb := c.gist.Verb
	if !many {
		verb = singular(verb)
	}
	return strings.TrimSpace(who + " " + verb + " " + c.gist.Rest)
}

func (c *clause) subject() (who string, many bool) {
	b := &c.blast
	switch {
	case c.gist.Of != "":
		return c.gist.Of, false
	case len(b.Runtimes) > 0:
		return counted(b.Runtimes, "runtime")
	case len(b.Tenants) > 0:
		return counted(b.Tenants, "tenant")
	}
	return counted(b.Clusters, "cluster")
}

func counted(names []string, noun string) (string, bool) {
	switch len(names) {
	case 1:
		if noun == "tenant" {
			return names[0], false
		}
		return noun + " " + names[0], false
	case 2:
		return names[0] + " and " + names[1], true
	}
	return plural(len(names), noun), true
}

// singular is the third person of a verb.
func singular(verb string) string {
	first, rest, _ := strings.Cut(verb, " ")
	switch {
	case first == "are":
		first = "is"
	case first == "have":
		first = "has"
	case first == "may" || first == "must" || first == "can" || first == "will":
	case strings.HasSuffix(first, "sh") || strings.HasSuffix(first, "ch") || strings.HasSuffix(first, "s") || strings.HasSuffix(first, "o"):
		first += "es"
	default:
		first += "s"
	}
	return strings.TrimSpace(first + " " + rest)
}

// jobs says what becomes of running jobs, as the gravest entry has it.
func (r *Report) jobs() string {
	worst := Untouched
	var blast Blast
	for i := range r.Entries {
		switch e := &r.Entries[i]; {
		case e.Jobs > worst:
			worst, blast = e.Jobs, e.Blast
		case e.Jobs == worst:
			blast = blast.join(&e.Blast)
		}
	}
	return fmt.Sprintf(jobsClauses[worst], of(&blast))
}

// jobsClauses are the last words of a verdict. Each has one verb for whose jobs they are.
var jobsClauses = [...]string{
	Untouched:   "running jobs are not touched%.0s",
	Included:    "running jobs go on, and it holds for them at once%.0s",
	Hampered:    "running jobs%s go on, but may fail for it",
	Preemptible: "running jobs may be stopped for others%.0s",
	Stopped:     "running jobs%s are stopped",
}

func of(b *Blast) string {
	if len(b.Tenants) == 0 {
		return ""
	}
	who, _ := counted(b.Tenants, "tenant")
	return " of " + who
}
