package check

import (
	"fmt"
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// MoveToPatches returns findings with those moved to a patch that are there because of it: a finding at a spec that names a value that a patch
// wrote. All that one value of a patch breaks by one rule is one finding, with the specs that suffer. A waived finding stays.
func MoveToPatches(found []*diag.Diagnostic, patched func(source.Span) bool) []*diag.Diagnostic {
	type cause struct {
		code diag.Code
		at   source.Span
	}
	moved := map[cause]*diag.Diagnostic{}
	suffer := map[cause]int{}
	var result []*diag.Diagnostic
	for _, d := range found {
		i := slices.IndexFunc(d.Related, func(r diag.Related) bool { return patched(r.Span) })
		if d.Waived != nil || i < 0 || patched(d.Span) {
			result = append(result, d)
			continue
		}
		by := cause{d.Code, d.Related[i].Span}
		first := moved[by]
		if first == nil {
			own := *d
			first = &own
			first.Span, first.Related, first.Edit = by.at, slices.Delete(slices.Clone(d.Related), i, i+1), nil
			first.Notes = append(slices.Clone(d.Notes), "a patch writes this value")
			first.Help = []string{"change what the patch writes"}
			for _, help := range d.Help {
				first.Help = append(first.Help, "or change the spec: "+help)
			}
			moved[by] = first
			result = append(result, first)
		}
		first.Also(d.Span, "%s", d.Message)
		suffer[by]++
	}
	for by, n := range suffer {
		if n > 1 {
			moved[by].Message = fmt.Sprintf("what the patch writes breaks %d values of specs: %s", n, moved[by].Message)
		}
	}
	return result
}
