// Package object holds compiled Kubernetes objects as trees of nodes. Every node knows where its value comes from; every object
// knows the file that it goes to and the spec behind it.
package object

import (
	"cmp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Object is one Kubernetes object.
type Object struct {
	// ID is the identity that Root has.
	ID   ID
	Root Node
	Place
	// Rule is the origin of what has none of its own: the rule that makes such objects.
	Rule *origin.Origin
	// Patched is what patches changed since the object was made.
	Patched PatchTrace
}

// Place says where objects are written, and the spec that they come from.
type Place struct {
	// Folder is relative to the cluster's folder; File has no extension.
	Folder, File string
	// Origin is the name of the spec.
	Origin source.Span
}

// New returns an object with the identity that its content has.
func New(root Node, place Place, rule *origin.Origin) Object {
	return Object{ID: root.ID(), Root: root, Place: place, Rule: rule}
}

// Leaves calls visit for every leaf with its path and its origin.
func (o *Object) Leaves(visit func(path []string, leaf *Node, from *origin.Origin)) {
	o.Root.Leaves(o.Rule, visit)
}

// ID is what the API server tells objects apart by.
type ID struct {
	Group, Kind, Namespace, Name string
}

// ID returns the identity of an object's content.
func (n *Node) ID() ID {
	group, _, found := strings.Cut(n.StringAt("apiVersion"), "/")
	if !found {
		group = ""
	}
	id := ID{Group: group, Kind: n.StringAt("kind")}
	if metadata := n.Get("metadata"); metadata != nil {
		id.Namespace, id.Name = metadata.StringAt("namespace"), metadata.StringAt("name")
	}
	return id
}

// String returns Kind.group namespace/name.
func (id ID) String() string {
	kind := id.Kind
	if id.Group != "" {
		kind += "." + id.Group
	}
	if id.Namespace != "" {
		return kind + " " + id.Namespace + "/" + id.Name
	}
	return kind + " " + id.Name
}

// Set is a collection of objects with different identities. The zero Set is empty and ready.
type Set struct {
	byID map[ID]Object
}

// Add adds an object, or returns the one that has its identity already.
func (s *Set) Add(o Object) (taken Object, ok bool) {
	if s.byID == nil {
		s.byID = map[ID]Object{}
	}
	if taken, found := s.byID[o.ID]; found {
		return taken, false
	}
	s.byID[o.ID] = o
	return Object{}, true
}

// Len returns the number of objects.
func (s *Set) Len() int { return len(s.byID) }

// Sorted returns the objects by folder and file, within a file in the order in which they can be applied.
func (s *Set) Sorted() []Object {
	objects := make([]Object, 0, len(s.byID))
	for _, o := range s.byID {
		objects = append(objects, o)
	}
	Sort(objects)
	return objects
}

// Sort sorts objects by folder and file, within a file in the order in which they can be applied.
func Sort(objects []Object) {
	slices.SortFunc(objects, func(a, b Object) int {
		if place := cmp.Or(strings.Compare(a.Folder, b.Folder), strings.Compare(a.File, b.File)); place != 0 {
			return place
		}
		return cmp.Or(cmp.Compare(a.Rank(), b.Rank()), a.ID.compare(&b.ID))
	})
}

func (id *ID) compare(other *ID) int {
	return cmp.Or(
		strings.Compare(id.Kind, other.Kind),
		strings.Compare(id.Group, other.Group),
		strings.Compare(id.Namespace, other.Namespace),
		strings.Compare(id.Name, other.Name),
	)
}
