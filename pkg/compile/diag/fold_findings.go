package diag

import (
	"fmt"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// few is how many findings of one cause stand for themselves; where there are more, one stands for all.
const few = 5

// samples is how many of the others it tells of.
const samples = 2

// foldByCause replaces many findings of one cause by the first of them with a note about the others. The order stays, and nothing that is
// passed changes.
func foldByCause[K comparable](items []*Diagnostic, cause func(*Diagnostic) K, note func(others []*Diagnostic) string) []*Diagnostic {
	if len(items) <= few {
		return items
	}
	groups := map[K][]*Diagnostic{}
	for _, d := range items {
		groups[cause(d)] = append(groups[cause(d)], d)
	}
	var kept []*Diagnostic
	for _, d := range items {
		switch group := groups[cause(d)]; {
		case len(group) <= few:
			kept = append(kept, d)
		case group[0] == d:
			first := *d
			first.Notes = append(slices.Clip(d.Notes), note(group[1:]))
			kept = append(kept, &first)
		}
	}
	return kept
}

// placeCause is the cause of findings that differ in the words only: a patch that changes the objects of all tenants.
type placeCause struct {
	span   source.Span
	code   Code
	waived bool
}

func placeCauseOf(d *Diagnostic) placeCause { return placeCause{d.Span, d.Code, d.Waived != nil} }

// otherWordsNote tells of findings at one place.
func otherWordsNote(others []*Diagnostic) string {
	var words []string
	for _, d := range others[:samples] {
		words = append(words, d.Message)
	}
	return fmt.Sprintf("the same is found %d more times, for example: %s", len(others), strings.Join(words, "; "))
}

// messageCause is the cause of findings that differ in the place: they are about one other place, or say the same.
type messageCause struct {
	code    Code
	waived  bool
	message string
	related source.Span
}

func messageCauseOf(d *Diagnostic) messageCause {
	r := messageCause{code: d.Code, waived: d.Waived != nil, message: d.Message}
	if len(d.Related) > 0 && !d.Related[0].Span.IsZero() {
		r.message, r.related = "", d.Related[0].Span
	}
	return r
}

// otherPlacesNote tells of findings at other places.
func otherPlacesNote(others []*Diagnostic) string {
	var places []string
	for _, d := range others[:samples] {
		places = append(places, d.Span.String())
	}
	return fmt.Sprintf("the same is found at %d more places, for example %s; the format json has them all", len(others), strings.Join(places, " and "))
}
