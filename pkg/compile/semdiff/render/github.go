package render

import (
	"bufio"
	"io"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
)

// commands are how loud GitHub Actions says a severity.
var commands = map[semdiff.Severity]string{semdiff.Critical: "error", semdiff.Warning: "warning", semdiff.Notice: "notice", semdiff.Info: "notice"}

// GitHub writes workflow commands, one per entry, which GitHub shows beside the line of the spec in a pull request. Entries of which only
// the line before is known have no place: GitHub shows the files as they are afterwards. Those that nobody notices are left out.
func GitHub(w io.Writer, r *semdiff.Report, locate func(string) string) error {
	out := bufio.NewWriter(w)
	var places diag.Places
	for i := range r.Entries {
		e := &r.Entries[i]
		if e.Severity > semdiff.Info {
			diag.Annotate(out, commands[e.Severity], places.Of(e.After), string(e.Consequence), explained(e), locate)
		}
	}
	for i := range r.Findings.Waivers {
		if w := &r.Findings.Waivers[i]; accepts(w) {
			diag.Annotate(out, commands[semdiff.Notice], places.Of(w.At), "waiver", waiverText(w)+"\n"+harmless(w.Reason), locate)
		}
	}
	return out.Flush()
}
