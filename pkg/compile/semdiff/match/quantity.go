package match

import "k8s.io/apimachinery/pkg/api/resource"

// ParseQuantities reads two amounts; ok is false where one of them is none.
func ParseQuantities(x, y string) (a, b resource.Quantity, ok bool) {
	a, err := resource.ParseQuantity(x)
	if err != nil {
		return a, b, false
	}
	b, err = resource.ParseQuantity(y)
	return a, b, err == nil
}

// SameQuantity reports whether two texts are the same amount.
func SameQuantity(a, b string) bool {
	x, y, ok := ParseQuantities(a, b)
	return ok && x.Cmp(y) == 0
}
