// Package object holds compiled Kubernetes objects as plain JSON values, each with the file it goes to and the spec it
// comes from.
package object

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// Object is one Kubernetes object.
type Object struct {
	// Content is JSON: maps, slices, strings, json.Number, booleans; no nil in maps.
	Content map[string]any
	// Folder and File say where it is written: Folder relative to the cluster's folder, File without extension.
	Folder, File string
	// Origin is the spec that the object comes from.
	Origin source.Span
}

// ID is what the API server tells objects apart by.
type ID struct {
	Group, Kind, Namespace, Name string
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

// ID returns the object's identity.
func (o Object) ID() ID {
	version := o.text("apiVersion")
	group, _, found := strings.Cut(version, "/")
	if !found {
		group = ""
	}
	metadata, _ := o.Content["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	name, _ := metadata["name"].(string)
	return ID{Group: group, Kind: o.text("kind"), Namespace: namespace, Name: name}
}

func (o Object) text(key string) string {
	value, _ := o.Content[key].(string)
	return value
}

// FromTyped returns a typed object without the noise of Go's zero values: no null, no `status`, no empty `metadata` or
// `resources`, no empty `spec` of the object itself. Other empty values stay, because they have a meaning: `emptyDir: {}`, `podSelector: {}`.
func FromTyped(typed any) (map[string]any, error) {
	data, err := json.Marshal(typed)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", typed, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var content map[string]any
	if err := decoder.Decode(&content); err != nil {
		return nil, fmt.Errorf("decode %T: %w", typed, err)
	}
	delete(content, "status")
	prune(content)
	if spec, isMap := content["spec"].(map[string]any); isMap && len(spec) == 0 {
		delete(content, "spec")
	}
	return content, nil
}

func prune(value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, child := range value {
			prune(child)
			if child == nil || isNoise(key, child) {
				delete(value, key)
			}
		}
	case []any:
		for _, child := range value {
			prune(child)
		}
	}
}

func isNoise(key string, child any) bool {
	empty, isMap := child.(map[string]any)
	return isMap && len(empty) == 0 && (key == "status" || key == "metadata" || key == "resources")
}

// Set is a collection of objects with different identities.
type Set struct {
	byID map[ID]Object
}

// Add adds an object, or returns the one that has its identity already.
func (s *Set) Add(o Object) (taken Object, ok bool) {
	if s.byID == nil {
		s.byID = map[ID]Object{}
	}
	id := o.ID()
	if taken, found := s.byID[id]; found {
		return taken, false
	}
	s.byID[id] = o
	return Object{}, true
}

// Len returns the number of objects.
func (s *Set) Len() int { return len(s.byID) }

// Sorted returns the objects by folder and file, within a file in the order in which they can be applied.
func (s *Set) Sorted() []Object {
	sorted := make([]Object, 0, len(s.byID))
	for _, o := range s.byID {
		sorted = append(sorted, o)
	}
	sort.Slice(sorted, func(i, j int) bool { return less(sorted[i], sorted[j]) })
	return sorted
}

func less(a, b Object) bool {
	if a.Folder != b.Folder {
		return a.Folder < b.Folder
	}
	if a.File != b.File {
		return a.File < b.File
	}
	x, y := a.ID(), b.ID()
	if rank(x.Kind) != rank(y.Kind) {
		return rank(x.Kind) < rank(y.Kind)
	}
	return key(x) < key(y)
}

func key(id ID) string {
	return strings.Join([]string{id.Kind, id.Group, id.Namespace, id.Name}, "\x00")
}
