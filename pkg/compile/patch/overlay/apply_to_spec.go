package overlay

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// A repository has thousands of specs, and a patch of specs may be for each of them, on each cluster. A build of kustomize takes
// milliseconds, and what it does to a spec is little: kinds that are in no schema of Kubernetes have no lists with keys, so that a patch
// is merged map by map. That little is done here, as kustomize does it; whatever is not plainly so is left to kustomize, and every error
// too, whose words are its own. TestAsKustomize compares the two.

// applyToSpec returns what the step makes of a spec, or false where kustomize must say it.
func (s *step) applyToSpec(spec *object.Object) (object.Node, bool) {
	if s.field != "patches" || s.function != nil || spec.ID.Group != specGroup || !isPlainSpec(&spec.Root) {
		return object.Node{}, false
	}
	switch s.patch.Kind {
	case object.MapNode:
		return s.mergedSpec(&spec.Root)
	case object.ListNode:
		return s.specAfterOperations(&spec.Root)
	}
	return object.Node{}, false
}

// mergedSpec is a spec after a strategic merge.
func (s *step) mergedSpec(spec *object.Node) (object.Node, bool) {
	if !isPlainSpec(&s.patch) || len(s.patch.Get("metadata").Children) > 1 { // kustomize writes labels of a patch anew
		return object.Node{}, false
	}
	for _, key := range []string{"apiVersion", "kind"} {
		if s.patch.Get(key).Text != spec.Get(key).Text {
			return object.Node{}, false
		}
	}
	root, ok := mergeMap(spec, &s.patch)
	if ok {
		// A target may be for many, and the patch names any.
		root.Put(object.Node{Key: "metadata", Kind: object.MapNode, Children: slices.Clone(root.Get("metadata").Children)})
		root.Get("metadata").Put(*spec.At("metadata", "name"))
	}
	return root, ok
}

// mergeMap puts a patch over a map. What the patch does not have is shared with the old value.
func mergeMap(old, patch *object.Node) (object.Node, bool) {
	fresh := *old
	fresh.Children = slices.Clone(old.Children)
	for i := range patch.Children {
		over := patch.Children[i]
		before := old.Get(over.Key)
		switch {
		case before == nil:
		case before.Kind != over.Kind: // an error of kustomize, or else the new value gets the quotes of the old one
			return object.Node{}, false
		case over.Kind == object.MapNode:
			var ok bool
			if over, ok = mergeMap(before, &over); !ok {
				return object.Node{}, false
			}
		}
		fresh.Put(withoutOrigins(&over, before))
	}
	return fresh, true
}

// withoutOrigins is a value of the patch as one of the spec, which gets its origins later.
func withoutOrigins(over, before *object.Node) object.Node {
	if over.Kind == object.MapNode && before != nil {
		return *over // merged, and mostly that of the spec
	}
	fresh := *over
	fresh.From, fresh.Children = nil, make([]object.Node, len(over.Children))
	for i := range over.Children {
		fresh.Children[i] = withoutOrigins(&over.Children[i], nil)
	}
	return fresh
}

// specAfterOperations is a spec after a JSON patch, by the library that kustomize takes for it.
func (s *step) specAfterOperations(spec *object.Node) (object.Node, bool) {
	if !isPlainValue(&s.patch) {
		return object.Node{}, false
	}
	for i := range s.patch.Children {
		for _, key := range []string{"path", "from"} {
			// Kustomize has marks of its own in the metadata.
			if pointer := s.patch.Children[i].Get(key); pointer != nil && !strings.HasPrefix(pointer.Text, "/spec/") {
				return object.Node{}, false
			}
		}
	}
	operations, err := jsonpatch.DecodePatch(encodeJSON(&s.patch))
	if err != nil {
		return object.Node{}, false
	}
	data, err := operations.Apply(encodeJSON(spec))
	if err != nil {
		return object.Node{}, false
	}
	root, err := fromJSON(data)
	return root, err == nil && isPlainValue(&root)
}

// isPlainSpec reports whether a spec, or a patch of one, has nothing about which kustomize has rules of its own: marks of its own in
// annotations, other metadata, or values that are not plain.
func isPlainSpec(root *object.Node) bool {
	metadata := root.Get("metadata")
	if !isPlainValue(root) || root.StringAt("apiVersion") == "" || root.StringAt("kind") == "" || metadata.StringAt("name") == "" {
		return false
	}
	for i := range metadata.Children {
		field := &metadata.Children[i]
		if field.Key != "name" && (field.Key != "labels" || field.Kind != object.MapNode || !hasOnlyTexts(field)) {
			return false
		}
	}
	return true
}

func hasOnlyTexts(n *object.Node) bool {
	for i := range n.Children {
		if n.Children[i].Kind != object.TextNode {
			return false
		}
	}
	return len(n.Children) > 0
}

// isPlainValue reports whether a value is the same to everybody who reads YAML and JSON, and no directive, which begins with a dollar.
func isPlainValue(n *object.Node) bool {
	switch n.Kind {
	case object.TextNode:
		return isPlainText(n.Text)
	case object.NumberNode:
		number, err := strconv.ParseInt(n.Text, 10, 64)
		return err == nil && strconv.FormatInt(number, 10) == n.Text
	case object.BoolNode:
		return true
	case object.MapNode, object.ListNode:
		for i := range n.Children {
			child := &n.Children[i]
			if !isPlainKey(child.Key) || !isPlainValue(child) || child.Get("apiVersion") != nil {
				return false
			}
		}
		return true
	}
	return false
}

func isPlainKey(key string) bool {
	const longest = 200 // YAML's limit is 1024
	return len(key) < longest && !strings.HasPrefix(key, "$") && key != "<<" && isPlainText(key)
}

func isPlainText(text string) bool {
	for _, r := range text {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) && r != '\n' {
			return false
		}
	}
	return true
}
