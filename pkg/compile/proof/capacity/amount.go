package capacity

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/compile/origin"
)

// amount is a number of a resource as Kueue counts it: thousandths of CPU, whole units of everything else.
type amount struct {
	name  string
	value int64
	from  *origin.Origin
}

// amounts are sorted by name.
type amounts []amount

func (a amounts) get(name string) (amount, bool) {
	for i := range a {
		if a[i].name == name {
			return a[i], true
		}
	}
	return amount{}, false
}

func (a amounts) value(name string) int64 {
	found, _ := a.get(name)
	return found.value
}

// addAmounts returns a sum; neither argument is changed.
func addAmounts(whole, part amounts, n int64) amounts {
	whole = slices.Clone(whole)
	for _, p := range part {
		i, found := slices.BinarySearchFunc(whole, p.name, func(a amount, name string) int { return strings.Compare(a.name, name) })
		if !found {
			whole = slices.Insert(whole, i, amount{name: p.name, from: p.from})
		}
		whole[i].value = addBounded(whole[i].value, multiplyBounded(p.value, n))
	}
	return whole
}

// maxAmounts returns the larger amount of each resource.
func maxAmounts(a, b amounts) amounts {
	missing := make(amounts, 0, len(b))
	for _, least := range b {
		if have := a.value(least.name); have < least.value {
			missing = append(missing, amount{name: least.name, value: least.value - have, from: least.from})
		}
	}
	return addAmounts(a, missing, 1)
}

// parseAmount returns an amount as Kueue counts it. What cannot be read counts as nothing; the schema proof reports it.
func parseAmount(name, text string) int64 {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return 0
	}
	return boundedAmount(q, isCPU(name))
}

func isCPU(name string) bool {
	return name == string(corev1.ResourceCPU) || name == "requests.cpu" || name == "limits.cpu"
}

// amountText returns an amount as people write it.
func amountText(name string, value int64) string {
	if isCPU(name) {
		return resource.NewMilliQuantity(value, resource.DecimalSI).String()
	}
	format := resource.DecimalSI
	if value%(1<<20) == 0 {
		format = resource.BinarySI
	}
	return resource.NewQuantity(value, format).String()
}
