package overlay

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// A cluster has thousands of objects, and a patch may be for each of them. A build of kustomize takes milliseconds, and
// most patches are plain: they write keys of maps, or do operations of RFC 6902. These are done here, as kustomize does
// them. Whatever is not plainly so is left to kustomize, and every error too, whose words are its own. Lists of objects
// have keys in schemas of Kubernetes, so that only specs, whose kinds are in none, get lists from a patch here.
// TestAsKustomize compares the two.

// applyDirectly returns what the step makes of an object, or false if kustomize must do it.
func (s *step) applyDirectly(o *object.Object) (object.Node, bool) {
	if s.field != "patches" || s.function != nil || !isPlainObject(&o.Root) {
		return object.Node{}, false
	}
	switch s.patch.Kind {
	case object.MapNode:
		return s.merged(o)
	case object.ListNode:
		return s.afterOperations(&o.Root)
	}
	return object.Node{}, false
}

// merged is an object after a strategic merge.
func (s *step) merged(o *object.Object) (object.Node, bool) {
	isSpec := o.ID.Group == specGroup
	if !isPlainObject(&s.patch) || isSpec && len(s.patch.Get("metadata").Children) > 1 || !isSpec && hasList(&s.patch) {
		return object.Node{}, false
	}
	for _, key := range []string{"apiVersion", "kind"} {
		if s.patch.Get(key).Text != o.Root.Get(key).Text {
			return object.Node{}, false
		}
	}
	root, ok := mergeMap(&o.Root, &s.patch)
	if ok {
		// A target may be for many, and the patch names any.
		root.Put(object.Node{Key: "metadata", Kind: object.MapNode, Children: slices.Clone(root.Get("metadata").Children)})
		metadata := root.Get("metadata")
		for _, key := range []string{"name", "namespace"} {
			if own := o.Root.At("metadata", key); own != nil {
				metadata.Put(*own)
			} else {
				metadata.Children = slices.DeleteFunc(metadata.Children, func(n object.Node) bool { return n.Key == key })
			}
		}
	}
	return root, ok
}

func hasList(n *object.Node) bool {
	return n.Kind == object.ListNode ||
		slices.ContainsFunc(n.Children, func(child object.Node) bool { return hasList(&child) })
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
		return *over // merged, and mostly the value of the spec
	}
	fresh := *over
	fresh.From, fresh.Children = nil, make([]object.Node, len(over.Children))
	for i := range over.Children {
		fresh.Children[i] = withoutOrigins(&over.Children[i], nil)
	}
	return fresh
}

// afterOperations is an object after a JSON patch. What no operation writes is shared with the old value.
func (s *step) afterOperations(old *object.Node) (object.Node, bool) {
	if !isPlainValue(&s.patch) {
		return object.Node{}, false
	}
	fresh := *old
	for i := range s.patch.Children {
		o := operation{name: s.patch.Children[i].Scalar("op"), value: s.patch.Children[i].Get("value")}
		path := s.patch.Children[i].Scalar("path")
		// Kustomize keeps marks in the metadata, and refers to objects by the names there.
		if !strings.HasPrefix(path, "/") || isIdentity(path) {
			return object.Node{}, false
		}
		after, ok := o.apply(&fresh, strings.Split(path[1:], "/"))
		if !ok {
			return object.Node{}, false
		}
		fresh = after
	}
	return fresh, true
}

// isIdentity reports whether a JSON pointer leads to what kustomize knows an object by, or keeps notes in.
func isIdentity(pointer string) bool {
	first, below, _ := strings.Cut(pointer[1:], "/")
	return first == "apiVersion" || first == "kind" || first == "metadata" && !strings.HasPrefix(below, "labels/")
}

// operation is one of a JSON patch.
type operation struct {
	name  string
	value *object.Node
}

// apply returns a copy of a value after the operation at a path, or false if kustomize must do it.
func (o operation) apply(old *object.Node, path []string) (object.Node, bool) {
	fresh := *old
	fresh.Children = slices.Clone(old.Children)
	if len(path) == 1 {
		ok := o.applyToEntry(&fresh, path[0])
		return fresh, ok
	}
	at := childAt(&fresh, path[0])
	if at == nil {
		return fresh, false
	}
	below, ok := o.apply(at, path[1:])
	*at = below
	return fresh, ok
}

// applyToEntry does the operation in the container around the value.
func (o operation) applyToEntry(in *object.Node, token string) bool {
	present := childAt(in, token)
	switch {
	case o.name == "remove" && present != nil && o.value == nil:
		at := slices.IndexFunc(in.Children, func(n object.Node) bool { return n.Key == present.Key })
		if in.Kind == object.ListNode {
			at, _ = strconv.Atoi(token)
		}
		in.Children = slices.Delete(in.Children, at, at+1)
		return true
	case o.value == nil:
		return false
	case o.name == "test":
		return present != nil && string(encodeJSON(present)) == string(encodeJSON(o.value))
	case o.name == "replace" && present == nil, o.name != "add" && o.name != "replace":
		return false
	case present != nil && present.Kind != o.value.Kind && !present.Leaf(): // kustomize looks for names below
		return false
	}
	value := withoutOrigins(o.value, nil)
	switch {
	case in.Kind == object.MapNode:
		in.Put(value.Named(unescape.Replace(token)))
	case in.Kind != object.ListNode:
		return false
	case o.name == "replace":
		*present = value.Named("")
	case token == "-":
		in.Children = append(in.Children, value.Named(""))
	default:
		at, err := strconv.Atoi(token)
		if err != nil || at < 0 || at > len(in.Children) {
			return false
		}
		in.Children = slices.Insert(in.Children, at, value.Named(""))
	}
	return true
}

// isPlainObject reports whether an object, or a patch of one, has nothing that kustomize treats specially: its marks in
// annotations, other metadata, or values that are not plain.
func isPlainObject(root *object.Node) bool {
	metadata := root.Get("metadata")
	named := root.StringAt("apiVersion") != "" && root.StringAt("kind") != "" && metadata.StringAt("name") != ""
	if !named || !isPlainValue(root) {
		return false
	}
	for i := range metadata.Children {
		field := &metadata.Children[i]
		switch field.Key {
		case "name":
		case "namespace":
			if field.Kind != object.TextNode || field.Text == "" {
				return false
			}
		case "labels", "annotations":
			if field.Kind != object.MapNode || !hasOnlyTexts(field) || hasMarks(field) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// hasMarks reports whether annotations or labels have keys that mean something to kustomize.
func hasMarks(n *object.Node) bool {
	return slices.ContainsFunc(n.Children, func(mark object.Node) bool {
		return strings.Contains(mark.Key, "config.k") || strings.Contains(mark.Key, "kustomize") ||
			!isPlainMark(mark.Key)
	})
}

// isPlainMark reports whether YAML takes the key of a label or annotation for a text in any version.
func isPlainMark(key string) bool {
	for i, c := range []byte(key) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || (c < '0' || c > '9') && !strings.ContainsRune("_./-", rune(c))) {
			return false
		}
	}
	const longestWord = len("false")
	return len(key) > longestWord || !yamlWord.MatchString(key)
}

// yamlWord is a key that some version of YAML takes for something else than a text.
var yamlWord = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|true|false|null|)$`)

func hasOnlyTexts(n *object.Node) bool {
	for i := range n.Children {
		if n.Children[i].Kind != object.TextNode {
			return false
		}
	}
	return len(n.Children) > 0
}

// isPlainValue reports whether a value is the same in YAML and JSON, and no directive, which begins with a dollar.
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
