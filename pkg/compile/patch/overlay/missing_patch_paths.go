package overlay

import (
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
)

// patchPathsExist reports whether an object has what a JSON patch names. It returns false, with an error in the list, where an operation of a JSON patch replaces or removes what an object does not have, or
// adds to it. RFC 6902 (section 4) makes that an error; kustomize's library adds the value instead when only the last key is missing. What an earlier
// operation adds counts as there.
func (s *step) patchPathsExist(o *object.Object, list *diag.List) bool {
	var added []string
	for i := range s.patch.Children {
		operation := &s.patch.Children[i]
		name, path := operation.Scalar("op"), operation.Get("path")
		if s.patch.Kind != object.ListNode || path == nil {
			return true
		}
		var missing string
		if name == "add" && !isAddedBefore(path.Text, added) {
			missing = missingAbove(&o.Root, path.Text)
		}
		switch {
		case missing != "":
			parent := path.Text[:strings.LastIndexByte(path.Text, '/')]
			report := list.Errorf(diag.PatchFails, path.From.At,
				"%s cannot be applied: %s has no `%s` to which something could be added", s.what, o.ID, missing)
			if meant := nearestPointer(&o.Root, parent); meant != "" {
				report.Meant(path.Text, meant+path.Text[len(parent):])
			} else {
				report.Helpf("add `%s` itself, with all that shall be in it", missing)
			}
			return false
		case name == "add" || name == "move" || name == "copy":
			added = append(added, path.Text)
		case (name == "replace" || name == "remove") && !isAddedBefore(path.Text, added) && !pointerExists(&o.Root, path.Text):
			report := list.Errorf(diag.PatchFails, path.From.At, "%s cannot be applied: %s has no `%s`", s.what, o.ID, path.Text)
			if meant := nearestPointer(&o.Root, path.Text); meant != "" {
				report.Meant(path.Text, meant)
			} else {
				report.Helpf("correct the path, or `add` the value")
			}
			return false
		}
	}
	return true
}

// missingAbove is the first place above that of a JSON pointer which is not there, or "". Annotations are there: kustomize keeps notes of its own in
// them while it works.
func missingAbove(n *object.Node, pointer string) string {
	for i, c := range pointer {
		if c == '/' && i > 0 && pointer[:i] != "/metadata/annotations" && !pointerExists(n, pointer[:i]) {
			return pointer[:i]
		}
	}
	return ""
}

func isAddedBefore(pointer string, added []string) bool {
	for _, prefix := range added {
		if pointer == prefix || strings.HasPrefix(pointer, prefix+"/") || strings.HasSuffix(prefix, "/-") {
			return true
		}
	}
	return false
}

// nearestPointer returns the JSON pointer to a value with nearly the same keys, or "".
func nearestPointer(n *object.Node, pointer string) (meant string) {
	for _, token := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		if !pointerExists(n, token) {
			var keys []string
			for i := range n.Children {
				keys = append(keys, escape.Replace(n.Children[i].Key))
			}
			nearest, found := diag.Nearest(token, keys)
			if !found {
				return ""
			}
			token = nearest
		}
		n, meant = childAt(n, token), meant+"/"+token
	}
	return meant
}

// childAt returns the value to which a token of a JSON pointer leads, or nil.
func childAt(n *object.Node, token string) *object.Node {
	if n.Kind != object.ListNode {
		return n.Get(unescape.Replace(token))
	}
	index, err := strconv.Atoi(token)
	if err != nil || index < 0 || index >= len(n.Children) {
		return nil
	}
	return &n.Children[index]
}

// pointerExists reports whether a JSON pointer leads to a value.
func pointerExists(n *object.Node, pointer string) bool {
	for _, token := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		if n = childAt(n, token); n == nil {
			return false
		}
	}
	return true
}
