package overlay

import (
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
)

// readReplacementEntry copies a value of one object to others. Objects are compiled in parts that do not see each other, so that the source
// must be one of the overlay's own resources, or a `sourceValue`.
func (r *overlayReader) readReplacementEntry(entry *object.Node) {
	if named := entry.Get("path"); named != nil {
		if name := r.localPath(named); name != "" {
			if file := r.loadFile(name, named.From.At); file != nil {
				r.readReplacements(r.readDocuments(file, file))
			}
		}
		return
	}
	r.readReplacements([]object.Node{*entry})
}

func (r *overlayReader) readReplacements(entries []object.Node) {
	for i := range entries {
		entry := &entries[i]
		if entry.Kind == object.ListNode {
			r.readReplacements(entry.Children)
			continue
		}
		var wanted types.Replacement
		if err := yaml.UnmarshalStrict(encodeJSON(entry), &wanted); err != nil {
			r.list.Errorf(diag.PatchFile, entry.From.At, "the replacement cannot be read: %s", strings.Join(strings.Fields(err.Error()), " "))
			continue
		}
		r.addReplacement(entry, &wanted)
	}
}

// addReplacement adds a step that copies from the source to the targets of a replacement.
func (r *overlayReader) addReplacement(entry *object.Node, wanted *types.Replacement) {
	s := step{what: "the replacement", at: entry.From.At, target: placeOf(entry, "targets"), field: "replacements", entry: []any{entry.Value()}}
	if wanted.Source != nil {
		id := object.ID{Group: wanted.Source.Group, Kind: wanted.Source.Kind, Namespace: wanted.Source.Namespace, Name: wanted.Source.Name}
		for _, o := range r.overlay.resources {
			if matchesID(id, o.ID) {
				s.sources = append(s.sources, o)
			}
		}
		if len(s.sources) == 0 {
			r.list.Errorf(diag.PatchMatchesNothing, placeOf(entry, "source"), "the source of the replacement is none of the overlay's `resources`").
				Helpf("write an object with the value into a file of this folder and name it in `resources`, or use `sourceValue`")
			return
		}
	}
	var targets []targetSelector
	for _, t := range wanted.Targets {
		one, err := newTargetSelector(t)
		if err != nil {
			r.list.Errorf(diag.PatchFile, s.target, "the target cannot be read: %s", strings.Join(strings.Fields(err.Error()), " "))
			return
		}
		targets = append(targets, one)
	}
	s.selects = func(o *object.Object) bool {
		for i := range targets {
			if targets[i].matches(o) {
				return true
			}
		}
		return false
	}
	r.addStep(s)
}

// matchesID reports whether an identity has all that a wanted one names.
func matchesID(wanted, id object.ID) bool {
	return (wanted.Group == "" || wanted.Group == id.Group) && (wanted.Kind == "" || wanted.Kind == id.Kind) &&
		(wanted.Namespace == "" || wanted.Namespace == id.Namespace) && (wanted.Name == "" || wanted.Name == id.Name)
}

// targetSelector picks what a replacement changes.
type targetSelector struct {
	objectSelector
	reject []objectSelector
}

func newTargetSelector(t *types.TargetSelector) (result targetSelector, err error) {
	if t.Select != nil {
		if result.objectSelector, err = newSelector(t.Select); err != nil {
			return result, err
		}
	}
	for _, rejected := range t.Reject {
		s, err := newSelector(rejected)
		if err != nil {
			return result, err
		}
		result.reject = append(result.reject, s)
	}
	return result, nil
}

func (t *targetSelector) matches(o *object.Object) bool {
	for i := range t.reject {
		if t.reject[i].matches(o) {
			return false
		}
	}
	return t.objectSelector.matches(o)
}
