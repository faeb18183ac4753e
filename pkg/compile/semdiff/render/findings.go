package render

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// finding is what the compiler says in one place, for however many tenants.
type finding struct {
	severity, code, message string
	at                      source.Span
	// more is how many others have the code and the place.
	more   int
	secret bool
}

// findingPlace is what findings are told together by.
type findingPlace struct{ code, at string }

// findingsOf puts those of one code and one place together, in the order of the first.
func findingsOf(list []*diag.Diagnostic) []finding {
	var all []finding
	known := map[findingPlace]int{}
	for _, d := range list {
		k := findingPlace{string(d.Code), d.Span.String()}
		if i, found := known[k]; found && !d.Span.IsZero() {
			all[i].more++
			continue
		}
		known[k] = len(all)
		all = append(all, finding{severity: string(d.Severity), code: string(d.Code), message: d.Message, at: d.Span, secret: d.Secret})
	}
	return all
}

// waiver is what a spec accepts, for however many findings.
type waiver struct {
	group.Waived
	more int
}

// joinWaivers puts those together that have one reason, the new ones first.
func joinWaivers(list []group.Waived) []waiver {
	var all []waiver
	known := map[group.Waived]int{}
	for _, w := range list {
		k := group.Waived{Code: w.Code, Reason: w.Reason, Until: w.Until, New: w.New}
		if i, found := known[k]; found {
			all[i].more++
			continue
		}
		known[k] = len(all)
		all = append(all, waiver{Waived: w})
	}
	slices.SortStableFunc(all, func(a, b waiver) int {
		switch {
		case a.New == b.New:
			return 0
		case a.New:
			return -1
		}
		return 1
	})
	return all
}

// moreLikeIt says how many others there are: ` (and 999 more like it)`.
func moreLikeIt(more int) string {
	if more == 0 {
		return ""
	}
	return " (and " + groupThousands(more) + " more like it)"
}
