package schema

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
)

func (c *check) limitRange() {
	limits := c.root.At("spec", "limits")
	for i := range children(limits) {
		limit := &limits.Children[i]
		c.limitRangeItem(limit)
		for j := range i {
			if limits.Children[j].StringAt("type") == limit.StringAt("type") {
				c.refuse(limit, "type", "limits of the type %s are there already", limit.StringAt("type"))
			}
		}
	}
}

// limitFields in their order: no value of one may be greater than that of a later one. Only max and default have no order
// between defaultRequest and them.
var limitFields = []string{"min", "defaultRequest", "default", "max"}

func (c *check) limitRangeItem(n *object.Node) {
	kind := n.Get("type")
	if kind == nil || kind.Text == "" {
		c.refuse(n, "type", "required, but missing")
		return
	}
	if !strings.Contains(kind.Text, "/") {
		c.oneOf(kind, "Pod", "Container", "PersistentVolumeClaim")
	}
	for _, field := range append([]string{"maxLimitRequestRatio"}, limitFields...) {
		c.limitField(n, field)
	}
	storage := n.At("min", "storage") != nil || n.At("max", "storage") != nil
	if kind.Text == "PersistentVolumeClaim" && !storage {
		c.refuse(n, "max", "required, but missing: limits of claims need a min or a max of storage")
	}
	c.limitOrder(n)
}

func (c *check) limitField(n *object.Node, field string) {
	amounts, kind := n.Get(field), n.StringAt("type")
	known := computeResources
	if kind == "PersistentVolumeClaim" {
		known = append([]string{"storage"}, quotaResources...)
	}
	if kind == "Pod" && strings.HasPrefix(field, "default") && len(children(amounts)) > 0 {
		c.refuse(amounts, "", "not allowed with the type Pod")
		return
	}
	for i := range children(amounts) {
		c.resourceName(&amounts.Children[i], known)
		if field == "maxLimitRequestRatio" && amountOf(&amounts.Children[i]).CmpInt64(1) < 0 {
			c.refuse(&amounts.Children[i], "", "found `%s`, the least allowed is 1", amounts.Children[i].Text)
		}
	}
}

func (c *check) limitOrder(n *object.Node) {
	for i, lower := range limitFields {
		for _, upper := range limitFields[i+1:] {
			c.notAbove(n, lower, upper)
		}
	}
	c.limitRatios(n)
	requests := n.Get("defaultRequest")
	for i := range children(requests) {
		request := &requests.Children[i]
		limit := n.At("default", request.Key)
		if limit != nil && !mayOvercommit(request.Key) && compareAmounts(limit, request) != 0 {
			c.refuse(request, "", "found `%s`, but the default limit is `%s`: of %s both must be equal", request.Text, limit.Text, request.Key)
		}
	}
}

// mayOvercommit reports whether pods may request less of a resource than they may use.
func mayOvercommit(name string) bool {
	return !strings.Contains(name, "/") && !strings.HasPrefix(name, "hugepages-")
}

func (c *check) notAbove(n *object.Node, lower, upper string) {
	low := n.Get(lower)
	for i := range children(low) {
		a := &low.Children[i]
		if b := n.At(upper, a.Key); b != nil && compareAmounts(a, b) > 0 {
			c.refuse(a, "", "found `%s`, but %s is `%s`, which is less", a.Text, upper, b.Text)
		}
	}
}

// limitRatios checks that a limit may be as many times a request as max is of min, at most.
func (c *check) limitRatios(n *object.Node) {
	ratios := n.Get("maxLimitRequestRatio")
	for i := range children(ratios) {
		ratio := &ratios.Children[i]
		least, most := n.At("min", ratio.Key), n.At("max", ratio.Key)
		if least == nil || most == nil {
			continue
		}
		if limit := approximateAmount(most) / approximateAmount(least); approximateAmount(ratio) > limit {
			c.refuse(ratio, "", "found `%s`, but max is only %v times min", ratio.Text, limit)
		}
	}
}

func approximateAmount(n *object.Node) float64 { return amountOf(n).AsApproximateFloat64() }
