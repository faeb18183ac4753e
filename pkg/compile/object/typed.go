package object

import (
	"bytes"
	"encoding/json"
	"fmt"

	"lockstep.dev/lockstep/pkg/compile/origin"
)

// FromTyped returns a typed object without the noise of Go's zero values: no null, no `status`, no empty `metadata` or
// `resources`, no empty `spec` of the object itself. Other empty values stay, because they have a meaning: `emptyDir: {}`,
// `podSelector: {}`. The table says where its values come from; nil is an empty one.
func FromTyped(typed any, table *Table) (Node, error) {
	data, err := json.Marshal(typed)
	if err != nil {
		return Node{}, fmt.Errorf("encode %T: %w", typed, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var content map[string]any
	if err := decoder.Decode(&content); err != nil {
		return Node{}, fmt.Errorf("decode %T: %w", typed, err)
	}
	delete(content, "status")
	prune(content)
	if spec, isMap := content["spec"].(map[string]any); isMap && len(spec) == 0 {
		delete(content, "spec")
	}
	root := FromValue("", content, nil)
	if table != nil {
		table.apply(&root)
	}
	return root, nil
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

// Table says where the values of a typed object come from. The zero Table is empty and ready.
type Table struct {
	root entry
}

// entry is what a Table knows about one path.
type entry struct {
	from *origin.Origin
	next map[string]*entry
}

// Set gives the values at a path and below it an origin. A path has the segments of Node.Segment; the segment `*` stands for all
// keys or items for which the table has no path of their own.
func (t *Table) Set(from *origin.Origin, path ...string) {
	e := &t.root
	for _, segment := range path {
		if e.next == nil {
			e.next = map[string]*entry{}
		}
		if e.next[segment] == nil {
			e.next[segment] = &entry{}
		}
		e = e.next[segment]
	}
	e.from = from
}

func (t *Table) apply(root *Node) { root.from([]*entry{&t.root}) }

// from gives a node the origin of the entries for its path, the most exact first.
func (n *Node) from(entries []*entry) {
	for _, e := range entries {
		if e.from != nil {
			n.From = e.from
			break
		}
	}
	for i := range n.Children {
		if below := after(entries, n.Segment(i)); len(below) > 0 {
			n.Children[i].from(below)
		}
	}
}

// after returns the entries for a path that is one segment longer.
func after(entries []*entry, segment string) []*entry {
	var below []*entry
	for _, name := range []string{segment, "*"} {
		for _, e := range entries {
			if next := e.next[name]; next != nil {
				below = append(below, next)
			}
		}
	}
	return below
}
