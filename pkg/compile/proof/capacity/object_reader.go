package capacity

import (
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// objectReader walks through an object and knows the origin of where it is. The reader of what is not there has no node.
type objectReader struct {
	node *object.Node
	from *origin.Origin
}

func readerOf(o *object.Object) objectReader { return objectReader{&o.Root, o.Rule} }

func (r objectReader) at(path ...string) objectReader {
	for _, key := range path {
		if r.node == nil {
			return r
		}
		if r.node = r.node.Get(key); r.node != nil && r.node.From != nil {
			r.from = r.node.From
		}
	}
	return r
}

// text returns the scalar at a path, or "".
func (r objectReader) text(path ...string) string {
	if found := r.at(path...); found.node != nil {
		return found.node.Text
	}
	return ""
}

// span returns where the value is decided.
func (r objectReader) span() source.Span {
	if r.from == nil {
		return source.Span{}
	}
	return r.from.At
}

// items returns the items of a list, or the entries of a map.
func (r objectReader) items() []objectReader {
	if r.node == nil {
		return nil
	}
	result := make([]objectReader, len(r.node.Children))
	for i := range r.node.Children {
		result[i] = objectReader{&r.node.Children[i], r.from}
		if own := r.node.Children[i].From; own != nil {
			result[i].from = own
		}
	}
	return result
}

// amounts returns the entries of a map of amounts, which are sorted by name as all maps are.
func (r objectReader) amounts() amounts {
	items := r.items()
	if len(items) == 0 {
		return nil
	}
	result := make(amounts, len(items))
	for i, item := range items {
		result[i] = amount{name: item.node.Key, value: parseAmount(item.node.Key, item.node.Text), from: item.from}
	}
	return result
}
