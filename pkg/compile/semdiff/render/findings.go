package render

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// groupedFinding is what the compiler says in one place, for however many tenants.
type groupedFinding struct {
	Severity, Code, Message string
	At                      source.Span
	// More is how many others have the code and the place.
	More int
}

// findingPlace is what findings are told together by.
type findingPlace struct{ code, at string }

// findingsOf puts those of one code and one place together, in the order of the first.
func findingsOf(list []*diag.Diagnostic) []groupedFinding {
	var all []groupedFinding
	known := map[findingPlace]int{}
	for _, d := range list {
		k := findingPlace{string(d.Code), d.Span.String()}
		if i, found := known[k]; found && !d.Span.IsZero() {
			all[i].More++
			continue
		}
		known[k] = len(all)
		all = append(all, groupedFinding{Severity: string(d.Severity), Code: string(d.Code), Message: d.Message, At: d.Span})
	}
	return all
}

// joinedWaiver is what a spec accepts, for however many findings.
type joinedWaiver struct {
	group.Waived
	More int
}

// joinWaivers puts those together that have one reason, the new ones first.
func joinWaivers(list []group.Waived) []joinedWaiver {
	var all []joinedWaiver
	known := map[group.Waived]int{}
	for _, w := range list {
		k := group.Waived{Code: w.Code, Reason: w.Reason, Until: w.Until, New: w.New}
		if i, found := known[k]; found {
			all[i].More++
			continue
		}
		known[k] = len(all)
		all = append(all, joinedWaiver{Waived: w})
	}
	slices.SortStableFunc(all, func(a, b joinedWaiver) int {
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
