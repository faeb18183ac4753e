package render

import (
	"bufio"
	"io"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
)

// commands are how loud GitHub Actions says a severity.
var commands = map[rule.Severity]string{rule.Critical: "error", rule.Warning: "warning", rule.Notice: "notice", rule.Info: "notice"}

// GitHub writes workflow commands, one per entry, which GitHub shows beside the line of the spec in a pull request. Entries of which only
// the line before is known have no place: GitHub shows the files as they are afterwards. Those that no user notices are left out.
func GitHub(w io.Writer, r *semdiff.Report, locate func(string) string) error {
	out := bufio.NewWriter(w)
	var places diag.Places
	for i := range r.Entries {
		e := &r.Entries[i]
		if e.Severity > rule.Info {
			diag.Annotate(out, commands[e.Severity], places.PlaceOf(e.After), string(e.Consequence), entryText(e, r.YAML), locate)
		}
	}
	for i := range r.Findings.Waivers {
		if w := &r.Findings.Waivers[i]; w.Accepts() {
			diag.Annotate(out, commands[rule.Warning], places.PlaceOf(w.At), "waiver", waiverText(w)+"\n"+escapeControl(w.Reason), locate)
		}
	}
	for _, file := range r.Findings.Deciding {
		diag.Annotate(out, commands[rule.Warning], diag.Place{}, group.OnPipelines, decidingText(file), locate)
	}
	return out.Flush()
}
