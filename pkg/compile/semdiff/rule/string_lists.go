package rule

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// sortedDistinct sorts names and drops those that are there twice, and the empty one.
func sortedDistinct[T cmp.Ordered](list []T) []T {
	var none T
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(item T) bool { return item == none })
}

// missingFrom are the items of a list that another one does not have.
func missingFrom[T comparable](list, other []T) []T {
	var found []T
	for _, item := range list {
		if !slices.Contains(other, item) {
			found = append(found, item)
		}
	}
	return found
}

// splitList returns the items of a list in an annotation.
func splitList(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// items are the items of a list, or the entries of a map; none of a value that is not there.
func items(n *object.Node) iter.Seq[*object.Node] {
	return func(yield func(*object.Node) bool) {
		for i := 0; n != nil && i < len(n.Children); i++ {
			if !yield(&n.Children[i]) {
				return
			}
		}
	}
}
