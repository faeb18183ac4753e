package schema

import (
	"net/netip"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation"

	"lockstep.dev/lockstep/pkg/compile/object"
)

var protocols = []string{"TCP", "UDP", "SCTP"}

func (c *check) networkPolicy() {
	spec := c.root.Get("spec")
	if spec == nil {
		return
	}
	types := spec.Get("policyTypes")
	if len(children(types)) > 2 {
		c.refuse(types, "", "found %d types, at most 2 are allowed", len(types.Children))
	}
	for i := range children(types) {
		c.oneOf(&types.Children[i], "Ingress", "Egress")
	}
	c.policyRules(spec.Get("ingress"), "from")
	c.policyRules(spec.Get("egress"), "to")
}

func (c *check) policyRules(rules *object.Node, peers string) {
	for i := range children(rules) {
		rule := &rules.Children[i]
		for j := range children(rule.Get("ports")) {
			c.policyPort(&rule.Get("ports").Children[j])
		}
		for j := range children(rule.Get(peers)) {
			c.policyPeer(&rule.Get(peers).Children[j])
		}
	}
}

func (c *check) policyPort(n *object.Node) {
	c.oneOf(n.Get("protocol"), protocols...)
	port, end := n.Get("port"), n.Get("endPort")
	c.portNumberOrName(port)
	switch {
	case end == nil:
	case port == nil || port.Kind != object.NumberNode:
		c.refuse(end, "", "needs a port that is a number")
	case portNumber(end) < portNumber(port):
		c.refuse(end, "", "found %s, the least allowed is the port, %s", end.Text, port.Text)
	default:
		c.portNumberOrName(end)
	}
}

// portNumberOrName checks the number or the name of a port; one that is absent is fine.
func (c *check) portNumberOrName(n *object.Node) {
	switch {
	case n == nil:
	case n.Kind == object.TextNode:
		c.refuseInvalid(n, validation.IsValidPortName(n.Text))
	case portNumber(n) < 1 || portNumber(n) > 65535:
		c.refuse(n, "", "found %s, allowed are 1 to 65535", n.Text)
	}
}

func portNumber(n *object.Node) int {
	number, _ := strconv.Atoi(n.Text)
	return number
}

func (c *check) policyPeer(n *object.Node) {
	block := n.Get("ipBlock")
	selects := n.Get("podSelector") != nil || n.Get("namespaceSelector") != nil
	switch {
	case block == nil && !selects:
		c.refuse(n, "", "required is a podSelector, a namespaceSelector or an ipBlock, but none is there")
	case block != nil && selects:
		c.refuse(block, "", "an ipBlock allows no other peer beside it")
	case block != nil:
		c.ipBlock(block)
	}
}

func (c *check) ipBlock(n *object.Node) {
	cidr := n.Get("cidr")
	if cidr.StringAt() == "" {
		c.refuse(n, "cidr", "required, but missing")
		return
	}
	around, valid := c.cidr(cidr)
	except := n.Get("except")
	for i := range children(except) {
		inner, ok := c.cidr(&except.Children[i])
		if valid && ok && (!around.Contains(inner.Addr()) || inner.Bits() <= around.Bits()) {
			c.refuse(&except.Children[i], "", "found `%s`, allowed is a part of %s", except.Children[i].Text, cidr.Text)
		}
	}
}

// strictCIDRs is the minor version since which a range must be in its canonical form: no bits after the mask, no zeros in front.
const strictCIDRs = 36

// cidr returns a range of addresses. One that is in its canonical form is valid in every version.
func (c *check) cidr(n *object.Node) (netip.Prefix, bool) {
	prefix, err := netip.ParsePrefix(n.Text)
	if err == nil && prefix == prefix.Masked() && !prefix.Addr().Is4In6() {
		return prefix, true
	}
	for _, wrong := range validation.IsValidCIDRForLegacyField(nil, n.Text, c.minor >= strictCIDRs, nil) {
		c.refuse(n, "", "found `%s`: %s", n.Text, wrong.Detail)
	}
	return prefix.Masked(), err == nil
}

var serviceTypes = []string{"ClusterIP", "NodePort", "LoadBalancer", "ExternalName"}

func (c *check) service() {
	spec := c.root.Get("spec")
	if spec == nil {
		c.refuse(c.root, "spec.ports", "required, but missing")
		return
	}
	c.oneOfOrDefault(spec.Get("type"), serviceTypes...)
	c.oneOfOrDefault(spec.Get("sessionAffinity"), "ClientIP", "None")
	c.labels(spec.Get("selector"))
	if spec.StringAt("type") == "ExternalName" {
		c.requireFields(spec, "externalName")
	}
	ports := children(spec.Get("ports"))
	if len(ports) == 0 && spec.StringAt("type") != "ExternalName" && spec.StringAt("clusterIP") != "None" {
		c.refuse(spec, "ports", "required, but missing")
	}
	for i := range ports {
		c.servicePort(&ports[i], ports[:i], len(ports) > 1)
	}
}

func (c *check) servicePort(n *object.Node, before []object.Node, several bool) {
	name := n.Get("name")
	if several && name.StringAt() == "" {
		c.refuse(n, "name", "required where there are several ports, but missing")
	}
	if name.StringAt() != "" {
		c.refuseInvalid(name, validation.IsDNS1123Label(name.Text))
		for i := range before {
			if before[i].StringAt("name") == name.Text {
				c.refuse(name, "", "found `%s`, a port before it has this name", name.Text)
			}
		}
	}
	c.oneOf(n.Get("protocol"), protocols...)
	c.requireFields(n, "port")
	c.portNumberOrName(n.Get("port"))
	if target := n.Get("targetPort"); target != nil && (target.Kind != object.TextNode || target.Text != "") { // an empty name is the port itself
		c.portNumberOrName(target)
	}
}
