// Package render writes reports of semdiff: for people in a terminal (Text), for programs (JSON). The same report gives the same bytes.
package render

import (
	"fmt"
	"io"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Compared names the two sides, as they were asked for, and the commits behind them; a folder has no commit.
type Compared struct {
	From, FromHash string
	To, ToHash     string
}

// side is how a side is shown: `main (1a2b3c4d5e6f)`.
func side(name, hash string) string {
	if hash == "" || strings.HasPrefix(hash, name) {
		return name
	}
	return name + " (" + hash[:min(12, len(hash))] + ")"
}

// String says which sides are compared.
func (c Compared) String() string { return side(c.From, c.FromHash) + " → " + side(c.To, c.ToHash) }

// width is how long a line of the terminal becomes.
const width = 120

// Text writes a report for people in a terminal: the verdict, then an entry each.
func Text(w io.Writer, r *semdiff.Report, compared Compared, p diag.Palette) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", compared, wrapped(r.Verdict, "", width))
	t := text{&b, p}
	for i := range r.Entries {
		t.entry(&r.Entries[i])
	}
	t.findings(&r.Findings)
	fmt.Fprintf(&b, "\n%s\n", totals(r))
	_, err := io.WriteString(w, b.String())
	return err
}

type text struct {
	*strings.Builder
	palette diag.Palette
}

func (t *text) colour(s semdiff.Severity) string {
	switch s {
	case semdiff.Critical:
		return t.palette.Error
	case semdiff.Warning:
		return t.palette.Warning
	}
	return t.palette.Help
}

func (t *text) entry(e *semdiff.Entry) {
	fmt.Fprintf(t, "\n%s%s%s %s [%s]\n", t.colour(e.Severity), e.Severity, t.reset(), e.Title, e.Consequence)
	if who := blast(&e.Blast); who != "" {
		fmt.Fprintf(t, "  for %s\n", who)
	}
	if jobs := jobsMeaning(e.Jobs); jobs != "" {
		fmt.Fprintf(t, "  running jobs: %s\n", jobs)
	}
	for _, place := range places(e) {
		fmt.Fprintf(t, "  %s%s%s\n", t.palette.Place, place, t.reset())
	}
	for i := range e.Samples {
		if line := sample(&e.Samples[i]); line != "" {
			fmt.Fprintf(t, "  - %s\n", wrapped(line, "    ", width))
		}
	}
	if more := e.Count - len(e.Samples); more > 0 {
		fmt.Fprintf(t, "  - and %s more\n", number(more))
	}
	for _, waived := range e.Waived {
		fmt.Fprintf(t, "  waived until %s: %s (%s)\n", waived.Until, waived.Reason, waived.Code)
	}
	if e.Help != "" {
		fmt.Fprintf(t, "  %shelp%s: %s\n", t.palette.Help, t.reset(), wrapped(e.Help, "        ", width))
	}
}

// reset ends a colour, where there are any.
func (t *text) reset() string { return t.palette.Reset }

func (t *text) findings(f *semdiff.Findings) {
	for _, part := range []struct {
		heading string
		list    []*diag.Diagnostic
	}{{"New findings of the compiler", f.New}, {"Findings that are gone", f.Fixed}} {
		if len(part.list) > 0 {
			fmt.Fprintf(t, "\n%s:\n", part.heading)
		}
		for _, d := range part.list {
			fmt.Fprintf(t, "  %s[%s] %s\n    %s%s%s\n", d.Severity, d.Code, d.Message, t.palette.Place, d.Span, t.reset())
		}
	}
}

// places are the lines that are responsible, the one afterwards first.
func places(e *semdiff.Entry) []string {
	switch {
	case e.Before.IsZero() && e.After.IsZero():
		return nil
	case e.After.IsZero():
		return []string{e.Before.String() + " (before)"}
	case e.Before.IsZero() || same(e.Before, e.After):
		return []string{e.After.String()}
	}
	return []string{e.After.String(), e.Before.String() + " (before)"}
}

func same(a, b source.Span) bool { return a.String() == b.String() }

// sample says whom one effect happens to, and how.
func sample(e *semdiff.Effect) string {
	who := subject(&e.Subject)
	switch {
	case e.Detail == "":
		return who
	case who == "":
		return e.Detail
	}
	return who + ": " + e.Detail
}

func subject(s *semdiff.Subject) string {
	var parts []string
	for _, part := range []string{s.Tenant, s.Namespace, s.Runtime} {
		if part != "" && (len(parts) == 0 || parts[len(parts)-1] != part) {
			parts = append(parts, part)
		}
	}
	if s.Object != "" {
		object := s.Object
		if s.Path != "" {
			object += " " + s.Path
		}
		parts = append(parts, object)
	}
	if s.Cluster != "" {
		parts = append(parts, "on "+s.Cluster)
	}
	return strings.Join(parts, " ")
}

// jobsMeaning says what running jobs notice, "" for nothing.
func jobsMeaning(j semdiff.Jobs) string {
	switch j {
	case semdiff.Included:
		return "go on, and it holds for them at once"
	case semdiff.Hampered:
		return "go on, and may fail for it"
	case semdiff.Preemptible:
		return "may be stopped so that others get their machines"
	case semdiff.Stopped:
		return "are stopped"
	}
	return ""
}
