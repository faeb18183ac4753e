// Package render writes reports of semdiff: for people in a terminal (Text), in a pull request (Markdown) and in a browser (HTML); for
// programs (JSON), code scanning (SARIF) and GitHub Actions (GitHub).
//
// A renderer says nothing that is not in the report, and leaves out nothing without saying how much. The texts of a report hold what
// authors of pull requests wrote: harmless takes from them what steers terminals and readers, and each renderer escapes the rest for its
// format. The same report gives the same bytes.
package render

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// ComparedStates names the two sides, as they were asked for, and the commits behind them; a folder has no commit.
type ComparedStates struct {
	From, FromHash string
	To, ToHash     string
}

// sideText is how a side is shown: `main (1a2b3c4d5e6f)`.
func sideText(name, hash string) string {
	if hash == "" || strings.HasPrefix(hash, name) {
		return name
	}
	return name + " (" + hash[:min(12, len(hash))] + ")"
}

// String says which sides are compared.
func (c ComparedStates) String() string {
	return sideText(c.From, c.FromHash) + " → " + sideText(c.To, c.ToHash)
}

// width is how long a line of the terminal becomes.
const width = 120

// Text writes a report for people in a terminal: the verdict, then an entry each.
func Text(w io.Writer, r *semdiff.Report, compared ComparedStates, p diag.Palette) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", escapeControl(compared.String()), wrapText(escapeControl(r.Verdict), "", width))
	t := textWriter{Builder: &b, palette: p}
	if room := yamlRoom(maxAllCompiled); r.YAML {
		t.yaml = &room
	}
	for i := range r.Entries {
		t.writeEntry(&r.Entries[i])
	}
	t.writeFindings(&r.Findings)
	fmt.Fprintf(&b, "\n%s\n", totalsLine(r))
	_, err := io.WriteString(w, b.String())
	return err
}

type textWriter struct {
	*strings.Builder
	palette diag.Palette
	// yaml is nil if no YAML was asked for.
	yaml *yamlRoom
}

func (t *textWriter) colour(s rule.Severity) string {
	switch s {
	case rule.Critical:
		return t.palette.Error
	case rule.Warning:
		return t.palette.Warning
	}
	return t.palette.Help
}

func (t *textWriter) writeEntry(e *group.Entry) {
	fmt.Fprintf(t, "\n%s%s%s %s [%s]\n", t.colour(e.Severity), e.Severity, t.resetColour(), escapeControl(e.Title), e.Consequence)
	if who := affectedText(&e.Affected); who != "" {
		fmt.Fprintf(t, "  for %s\n", escapeControl(who))
	}
	if jobs := jobsMeaning(e.Jobs); jobs != "" {
		fmt.Fprintf(t, "  running jobs%s: %s\n", whoseJobs(e), jobs)
	}
	for _, place := range placeLines(e) {
		fmt.Fprintf(t, "  %s%s%s\n", t.palette.Place, escapeControl(place), t.resetColour())
	}
	for _, line := range sampleLines(e) {
		fmt.Fprintf(t, "  - %s\n", wrapText(line, "    ", width))
	}
	if more := e.Count - len(e.Samples); more > 0 {
		fmt.Fprintf(t, "  - and %s more\n", groupThousands(more))
	}
	for _, waived := range e.Waived {
		fmt.Fprintf(t, "  waived until %s: %s (%s)\n", escapeControl(waived.Until), escapeControl(waived.Reason), waived.Code)
	}
	if e.Help != "" {
		fmt.Fprintf(t, "  %shelp%s: %s\n", t.palette.Help, t.resetColour(), wrapText(escapeControl(e.Help), "        ", width))
	}
	if t.yaml != nil {
		for line := range strings.Lines(yamlText(t.yaml.compiledYAML(e, maxCompiledWanted))) {
			fmt.Fprintf(t, "    %s", line)
		}
	}
}

// resetColour ends a colour, where there are any.
func (t *textWriter) resetColour() string { return t.palette.Reset }

// toldSeverities is how many findings of each kind are written; the others are counted.
const toldSeverities = 10

func (t *textWriter) writeFindings(f *group.Findings) {
	for _, part := range []struct {
		heading string
		all     []groupedFinding
	}{{"New findings of the compiler", findingsOf(f.New)}, {"Findings that are gone", findingsOf(f.Fixed)}} {
		if len(part.all) > 0 {
			fmt.Fprintf(t, "\n%s:\n", part.heading)
		}
		for _, found := range part.all[:min(toldSeverities, len(part.all))] {
			fmt.Fprintf(t, "  %s[%s] %s%s\n    %s%s%s\n", found.Severity, found.Code, escapeControl(found.Message), moreLikeIt(found.More), t.palette.Place, escapeControl(found.At.String()), t.resetColour())
		}
		if left := len(part.all) - toldSeverities; left > 0 {
			fmt.Fprintf(t, "  and %s in other places: the format json has them all\n", plural(left, "finding"))
		}
	}
	t.writeWaivers(joinWaivers(f.Waived))
	t.writeWaiverChanges(f.Waivers)
	t.writeDecidingFiles(f.Deciding)
}

func (t *textWriter) writeDecidingFiles(files []group.DecidingFile) {
	if len(files) > 0 {
		fmt.Fprint(t, "\nFiles that decide about reviews:\n")
	}
	for _, file := range files[:min(toldSeverities, len(files))] {
		fmt.Fprintf(t, "  %swarning%s %s\n", t.palette.Warning, t.resetColour(), decidingText(file))
	}
	if left := len(files) - toldSeverities; left > 0 {
		fmt.Fprintf(t, "  and %s: the format json has them all\n", plural(left, "file"))
	}
}

func (t *textWriter) writeWaiverChanges(all []group.WaiverChange) {
	if len(all) > 0 {
		fmt.Fprint(t, "\nWaivers that change:\n")
	}
	for i := range all[:min(toldSeverities, len(all))] {
		w := &all[i]
		fmt.Fprintf(t, "  %s%s\n    %s\n    %s%s%s\n", t.warningMark(w), waiverText(w), escapeControl(w.Reason), t.palette.Place, escapeControl(w.At.String()), t.resetColour())
	}
	if left := len(all) - toldSeverities; left > 0 {
		fmt.Fprintf(t, "  and %s: the format json has them all\n", plural(left, "waiver"))
	}
}

// warningMark marks a waiver that accepts more than before.
func (t *textWriter) warningMark(w *group.WaiverChange) string {
	if !w.Accepts() {
		return ""
	}
	return t.palette.Warning + "warning" + t.resetColour() + " "
}

func (t *textWriter) writeWaivers(all []joinedWaiver) {
	if len(all) > 0 {
		fmt.Fprint(t, "\nAccepted by waivers:\n")
	}
	for _, w := range all[:min(toldSeverities, len(all))] {
		fmt.Fprintf(t, "  %s until %s%s: %s%s\n", w.Code, escapeControl(w.Until), newMark(w.New), escapeControl(w.Reason), moreLikeIt(w.More))
	}
	if left := len(all) - toldSeverities; left > 0 {
		fmt.Fprintf(t, "  and %s: the format json has them all\n", plural(left, "waiver"))
	}
}

// newMark marks waivers that a pull request brings.
func newMark(isNew bool) string {
	if isNew {
		return " (new)"
	}
	return ""
}

// placeLines are the lines that are responsible, the one afterwards first.
func placeLines(e *group.Entry) []string {
	switch {
	case e.Before.IsZero() && e.After.IsZero():
		return nil
	case e.After.IsZero():
		return []string{e.Before.String() + " (before)"}
	case e.Before.IsZero() || samePlace(e.Before, e.After):
		return []string{e.After.String()}
	}
	return []string{e.After.String(), e.Before.String() + " (before)"}
}

func samePlace(a, b source.Span) bool { return a.String() == b.String() }

// whoseJobs says whose running jobs are meant, where they are not those of the tenants of the entry.
func whoseJobs(e *group.Entry) string {
	if e.AllJobs || len(e.JobsOf) == 0 || slices.Equal(e.JobsOf, e.Affected.Tenants) {
		return ""
	}
	return " of " + escapeControl(strings.TrimPrefix(countedNames("tenant", e.JobsOf), "tenant "))
}

// jobsMeaning says what running jobs notice, "" for nothing.
func jobsMeaning(j rule.JobsImpact) string {
	switch j {
	case rule.JobsIncluded:
		return "go on, and it holds for them at once"
	case rule.JobsHampered:
		return "go on, and may fail for it"
	case rule.JobsPreemptible:
		return "may be stopped"
	case rule.JobsStopped:
		return "are stopped"
	}
	return ""
}
