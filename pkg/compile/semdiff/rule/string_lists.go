package rule

import (
	"cmp"
	"slices"
	"strings"
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
