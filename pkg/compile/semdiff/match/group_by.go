package match

// GroupBy parts a list by what a key says of each item, in the order in which the keys first come.
func GroupBy[T any, K comparable](list []T, key func(T) K) [][]T {
	at := map[K]int{}
	var parts [][]T
	for _, item := range list {
		k := key(item)
		i, known := at[k]
		if !known {
			i = len(parts)
			at[k] = i
			parts = append(parts, nil)
		}
		parts[i] = append(parts[i], item)
	}
	return parts
}

// changeCause is an object and the lines that are responsible for a change of it.
type changeCause struct {
	object        string
	before, after Position
}

// ByCause divides changes by object and by the lines that are responsible, in their order.
func ByCause(changes []*Change) [][]*Change {
	return GroupBy(changes, func(c *Change) changeCause {
		before, after := c.Spans()
		return changeCause{c.Object().ID.String(), PositionOf(before), PositionOf(after)}
	})
}

// ByObject divides changes by object, in their order.
func ByObject(changes []*Change) [][]*Change {
	return GroupBy(changes, func(c *Change) string { return c.Object().ID.String() })
}
