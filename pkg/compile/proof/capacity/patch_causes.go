package capacity

import (
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// RemovedFacts returns the facts that patches removed objects: where something is missing, they are the cause.
func RemovedFacts(objects object.Removals) Facts { return Facts{removed: objects} }

// reportAtPatch reports what is not as the spec at a place says: at the first of some patches that is one, else at the spec.
func (p *proof) reportAtPatch(code diag.Code, spec source.Span, patches []source.Span, format string, args ...any) *diag.Diagnostic {
	for _, patch := range patches {
		if !patch.IsZero() && patch != spec {
			return p.list.Errorf(code, patch, format, args...).Also(spec, "the spec behind it").Helpf("correct the patch")
		}
	}
	return p.list.Errorf(code, spec, format, args...)
}

// removalPlaces is the place of the patch that removed an object; an empty name stands for any.
func (p *proof) removalPlaces(kind, namespace, name string) []source.Span {
	return []source.Span{p.gone.SpanOf(kind, namespace, name)}
}

// patchPlace returns the place of a patch that a value comes from, or nowhere.
func patchPlace(from *origin.Origin) source.Span {
	if from == nil || from.Kind != origin.Patched {
		return source.Span{}
	}
	return from.At
}
