package group

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
)

// maxClauses is how many clauses a verdict has; what is left is counted.
const maxClauses = 6

// verdictClause is a part of the verdict: what happens, and to whom.
type verdictClause struct {
	clause   rule.Clause
	severity rule.Severity
	affected AffectedNames
	// ofRuntime reports whether the gist speaks of runtimes: an entry about a tenant may have runtimes, too.
	ofRuntime bool
	// others counts clauses like it about other tenants or runtimes.
	others int
}

// Verdict puts the gists of the entries together, the most severe first, and ends with what becomes of running jobs and waivers. Values is how
// many values differ. A state that check refuses, and one that accepts more, never has a verdict that nothing changes.
func Verdict(entries []Entry, findings *Findings, all *rule.AllClusters, values int) string {
	return verdictText(entries, findings, all, values) + findings.waiversText()
}

// Clause is a part of the verdict: what somebody loses, gains or must do.
type Clause struct {
	Severity rule.Severity
	Text     string
}

// Clauses are the parts of the verdict about changes, the most severe first, and at the end how many are left, what becomes of running jobs, and
// what else a reviewer must look at.
func Clauses(entries []Entry, findings *Findings, all *rule.AllClusters) []Clause {
	found, left := clausesOf(entries)
	if len(found) == 0 {
		return nil
	}
	var clauses []Clause
	for i := range found {
		clauses = append(clauses, Clause{found[i].severity, found[i].clauseText(all)})
	}
	if left > 0 {
		clauses = append(clauses, Clause{rule.Info, rule.Plural(left, "smaller change")})
	}
	clauses = append(clauses, Clause{severityForJobs(entries), jobsText(entries)})
	if beside := strings.TrimSpace(findings.waiversText()); beside != "" {
		clauses = append(clauses, Clause{rule.Warning, beside})
	}
	return clauses
}

func verdictText(entries []Entry, findings *Findings, all *rule.AllClusters, values int) string {
	errors, withoutFindings := findings.Errors, findings.NothingToAccept()
	switch {
	case errors > 0 && findings.Uncompiled:
		return "The specs do not compile: " + rule.Plural(errors, "error") + "."
	case findings.Uncompiled:
		return "The specs before the change do not compile, so that nothing could be compared."
	case errors > 0 && len(entries) == 0:
		return "check refuses it with " + rule.Plural(errors, "error") + "; no object differs."
	case len(entries) == 0 && !withoutFindings:
		return "No object changes" + findings.acceptsText() + "."
	case len(entries) == 0:
		return "Nothing changes: both sides compile to the same objects."
	}
	var parts []string
	if errors > 0 {
		parts = append(parts, "check refuses it with "+rule.Plural(errors, "error"))
	}
	clauses, left := clausesOf(entries)
	for i := range clauses {
		parts = append(parts, clauses[i].clauseText(all))
	}
	if left > 0 {
		parts = append(parts, "there "+singularOrPlural(left, "is", "are")+" "+rule.Plural(left, "smaller change"))
	}
	if len(parts) > 0 {
		return strings.Join(append(parts, jobsText(entries)), "; ") + "."
	}
	if n := countSpecsOnlyValues(entries); n == values && !withoutFindings {
		return "No object changes" + findings.acceptsText() + "; " + rule.Plural(n, "value") + " of the specs " + singularOrPlural(n, "changes", "change") + ", too."
	} else if n == values {
		return "Nothing changes on the clusters: " + rule.Plural(n, "value") + " of the specs " + singularOrPlural(n, "changes", "change") + ", in no object. Running jobs are not touched."
	}
	if !withoutFindings {
		return "What is different in objects means the same" + findings.acceptsText() + "."
	}
	return "Nothing changes for anybody: what is different means the same. Running jobs are not touched."
}

// countSpecsOnlyValues counts the values of specs that differ in no object.
func countSpecsOnlyValues(entries []Entry) int {
	n := 0
	for i := range entries {
		if entries[i].Consequence == rule.SpecsOnly {
			n += entries[i].Values
		}
	}
	return n
}

// singularOrPlural is the word for one thing, or that for several.
func singularOrPlural(n int, singular, several string) string {
	if n == 1 {
		return singular
	}
	return several
}

// clausesOf joins entries with one gist. Entries that no user notices are left out, unless there are no others.
func clausesOf(entries []Entry) ([]verdictClause, int) {
	least := rule.Notice
	if WorstSeverity(entries) == rule.Info {
		least = rule.Info
	}
	var all []verdictClause
	at := map[rule.Clause]int{}
	left := 0
	for i := range entries {
		e := &entries[i]
		if e.Severity < least || e.Consequence == rule.NoEffect || e.Consequence == rule.SpecsOnly {
			continue
		}
		known, found := at[e.Clause]
		switch {
		case found:
			all[known].affected = all[known].affected.join(&e.speaksOf)
			all[known].others += e.otherClauses
		case e.Clause == (rule.Clause{}) || len(all) == maxClauses:
			left++
		default:
			at[e.Clause] = len(all)
			ofRuntime := len(e.Samples) > 0 && e.Samples[0].Subject.Runtime != ""
			all = append(all, verdictClause{e.Clause, e.Severity, e.speaksOf, ofRuntime, e.otherClauses})
		}
	}
	return all, left
}

func (b AffectedNames) join(other *AffectedNames) AffectedNames {
	return AffectedNames{
		Clusters: sortedUnion(b.Clusters, other.Clusters), Tenants: sortedUnion(b.Tenants, other.Tenants),
		Namespaces: sortedUnion(b.Namespaces, other.Namespaces), Runtimes: sortedUnion(b.Runtimes, other.Runtimes),
	}
}

func sortedUnion(a, b []string) []string {
	both := slices.Concat(a, b)
	slices.Sort(both)
	return slices.Compact(both)
}

// clauseText is for example `2 tenants gain internet egress`.
func (c *verdictClause) clauseText(all *rule.AllClusters) string {
	who, many := c.subjectText()
	verb := c.clause.Verb
	if !many {
		verb = thirdPerson(verb)
	}
	text := strings.TrimSpace(who+" "+verb+" "+c.clause.Rest) + c.eachText() + c.clustersText(all)
	if c.others > 0 {
		text += ", and " + rule.Plural(c.others, "change") + " like it"
	}
	return text
}

// eachText ends a clause about an amount that several tenants gain or lose, or one on several clusters.
func (c *verdictClause) eachText() string {
	switch {
	case c.clause.Of != "" || c.clause.Rest == "" || c.clause.Rest[0] < '0' || c.clause.Rest[0] > '9':
		return ""
	case len(c.affected.Tenants) > 1:
		return " each"
	case len(c.affected.Tenants) == 1 && len(c.affected.Clusters) > 1:
		return " on each of " + strconv.Itoa(len(c.affected.Clusters)) + " clusters"
	}
	return ""
}

// clustersText names the clusters of a clause where its tenant, or its runtime, is on others, too.
func (c *verdictClause) clustersText(all *rule.AllClusters) string {
	homes := 0
	switch b := &c.affected; {
	case c.clause.Of != "" || len(b.Clusters) == 0:
		return ""
	case c.ofRuntime && len(b.Runtimes) == 1:
		homes = len(all.ClustersOfRuntime(b.Runtimes[0]))
	case !c.ofRuntime && len(b.Tenants) == 1:
		homes = len(all.ClustersOfTenant(b.Tenants[0]))
	}
	if homes <= len(c.affected.Clusters) || strings.Contains(c.clause.Rest, "cluster ") {
		return ""
	}
	who, _ := countedNames(c.affected.Clusters, "cluster")
	return " on " + who
}

func (c *verdictClause) subjectText() (who string, many bool) {
	b := &c.affected
	switch {
	case c.clause.Of != "":
		return c.clause.Of, false
	case c.ofRuntime:
		return countedNames(b.Runtimes, "runtime")
	case len(b.Tenants) > 0:
		return countedNames(b.Tenants, "tenant")
	}
	return countedNames(b.Clusters, "cluster")
}

func countedNames(names []string, noun string) (string, bool) {
	switch len(names) {
	case 1:
		if noun == "tenant" {
			return names[0], false
		}
		return noun + " " + names[0], false
	case 2:
		return names[0] + " and " + names[1], true
	}
	return rule.Plural(len(names), noun), true
}

// thirdPerson is the third person of a verb.
func thirdPerson(verb string) string {
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

// severityForJobs is the severity of what becomes of running jobs: that of the most severe entry that stops or hampers them.
func severityForJobs(entries []Entry) rule.Severity {
	worst := rule.Info
	for i := range entries {
		if e := &entries[i]; e.Jobs >= rule.JobsHampered {
			worst = max(worst, e.Severity)
		}
	}
	return worst
}

// jobsText says what becomes of running jobs, as the most severe entry has it.
func jobsText(entries []Entry) string {
	worst, everybody := rule.JobsUntouched, false
	var tenants []string
	for i := range entries {
		switch e := &entries[i]; {
		case e.Jobs > worst:
			worst, tenants, everybody = e.Jobs, e.JobsOf, e.AllJobs
		case e.Jobs == worst:
			tenants, everybody = sortedUnion(tenants, e.JobsOf), everybody || e.AllJobs
		}
	}
	if everybody {
		tenants = nil
	}
	return fmt.Sprintf(jobsClauses[worst], ofTenants(tenants))
}

// jobsClauses are the last words of a verdict. Each has one verb for whose jobs they are.
var jobsClauses = [...]string{
	rule.JobsUntouched:   "running jobs are not touched%.0s",
	rule.JobsIncluded:    "running jobs go on, and it holds for them at once%.0s",
	rule.JobsHampered:    "running jobs%s go on, but may fail for it",
	rule.JobsPreemptible: "running jobs may be stopped%.0s",
	rule.JobsStopped:     "running jobs%s are stopped",
}

func ofTenants(tenants []string) string {
	if len(tenants) == 0 {
		return ""
	}
	who, _ := countedNames(tenants, "tenant")
	return " of " + who
}

// acceptsText ends a sentence about objects that do not change, where waivers accept more.
func (f *Findings) acceptsText() string {
	if slices.ContainsFunc(f.Waivers, func(w WaiverChange) bool { return w.Accepts() }) {
		return ", but check accepts more than before"
	}
	return ""
}

// waiversText counts the changes of waivers and names the files that decide about reviews: `Waivers: 1 added, 2 removed.`, "" for none.
func (f *Findings) waiversText() string { return f.waiverCountsText() + f.decidingFilesText() }

// maxFiles is how many files that decide about reviews a verdict names.
const maxFiles = 3

func (f *Findings) decidingFilesText() string {
	if len(f.Deciding) == 0 {
		return ""
	}
	var names []string
	for _, file := range f.Deciding[:min(maxFiles, len(f.Deciding))] {
		names = append(names, file.Path)
	}
	if more := len(f.Deciding) - len(names); more > 0 {
		names = append(names, strconv.Itoa(more)+" more")
	}
	return " What decides about reviews differs: " + strings.Join(names, ", ") + "."
}

func (f *Findings) waiverCountsText() string {
	var parts []string
	for _, how := range WaiverChangeKinds() {
		n := 0
		for i := range f.Waivers {
			if f.Waivers[i].How == how {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, strconv.Itoa(n)+" "+string(how))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " Waivers: " + strings.Join(parts, ", ") + "."
}
