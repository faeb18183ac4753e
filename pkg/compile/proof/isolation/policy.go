package isolation

import (
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/proof/labels"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// trafficDirection is one of the two in which policies restrict traffic.
type trafficDirection int

const (
	egress trafficDirection = iota
	ingress
)

// policySpec is what a NetworkPolicy says, without where it is (https://kubernetes.io/docs/concepts/services-networking/network-policies/).
type policySpec struct {
	// pods are those of its namespace that it is about.
	pods labels.Selector
	// closes says for each direction that these pods get only what some policy opens.
	closes [2]bool
	rules  []policyRule
}

// policyRule opens one direction for the pods of its policy.
type policyRule struct {
	direction trafficDirection
	peers     []policyPeer
	ports     portSet
}

// policyPeer is one kind of other end.
type policyPeer struct {
	kind peerKind
	// namespaces and pods select pods of other namespaces; for own only pods counts.
	namespaces, pods labels.Selector
	addresses        addressSet
	// written says that somebody wrote the selectors. A rule without peers is about all, and has none.
	written bool
}

type peerKind uint8

const (
	// own is pods of the policy's namespace.
	own peerKind = iota
	// selected is pods of namespaces.
	selected
	// outside is addresses.
	outside
)

// readSpec returns the spec of a policy, and false where it is not one that the proof understands.
func readSpec(n *object.Node) (*policySpec, bool) {
	if n == nil {
		return nil, false
	}
	pods, ok := labels.ReadSelector(n.Get("podSelector"))
	s := &policySpec{pods: pods, closes: readPolicyTypes(n)}
	for _, d := range []trafficDirection{egress, ingress} {
		rules := n.Get([...]string{egress: "egress", ingress: "ingress"}[d])
		for i := 0; rules != nil && i < len(rules.Children); i++ {
			// Rules of a direction that the policy does not name mean nothing.
			r, good := readRule(&rules.Children[i], d)
			ok = ok && good
			if s.closes[d] {
				s.rules = append(s.rules, r)
			}
		}
	}
	return s, ok
}

// readPolicyTypes reads policyTypes. Where they are missing a policy always is about ingress, and about egress if it has rules for it.
func readPolicyTypes(n *object.Node) [2]bool {
	types := n.Get("policyTypes")
	if types == nil || len(types.Children) == 0 {
		rules := n.Get("egress")
		return [2]bool{egress: rules != nil && len(rules.Children) > 0, ingress: true}
	}
	var found [2]bool
	for _, name := range types.Strings() {
		found[egress] = found[egress] || name == "Egress"
		found[ingress] = found[ingress] || name == "Ingress"
	}
	return found
}

func readRule(n *object.Node, d trafficDirection) (policyRule, bool) {
	opened, ok := readPorts(n.Get("ports"))
	r := policyRule{direction: d, ports: opened}
	peers := n.Get([...]string{egress: "to", ingress: "from"}[d])
	if peers == nil || len(peers.Children) == 0 {
		r.peers = anyPeer()
		return r, ok
	}
	for i := range peers.Children {
		p, good := readPeer(&peers.Children[i])
		ok = ok && good
		r.peers = append(r.peers, p)
	}
	return r, ok
}

// anyPeer is all pods and all addresses.
func anyPeer() []policyPeer {
	return []policyPeer{{kind: selected}, {kind: outside, addresses: everywhere}}
}

func readPeer(n *object.Node) (policyPeer, bool) {
	if block := n.Get("ipBlock"); block != nil {
		found, ok := readBlock(block)
		return policyPeer{kind: outside, addresses: found, written: true}, ok && len(n.Children) == 1
	}
	namespaces, ok := labels.ReadSelector(n.Get("namespaceSelector"))
	pods, good := labels.ReadSelector(n.Get("podSelector"))
	p := policyPeer{kind: own, namespaces: namespaces, pods: pods, written: true}
	if n.Get("namespaceSelector") != nil {
		p.kind = selected
	}
	return p, ok && good && len(n.Children) > 0
}

// append writes what the spec means: specs that mean the same in the same order are written alike.
func (s *policySpec) append(b []byte) []byte {
	b = s.pods.Append(b)
	for _, closes := range s.closes {
		b = append(b, '|', byte('0'))
		if closes {
			b[len(b)-1] = '1'
		}
	}
	for i := range s.rules {
		r := &s.rules[i]
		b = append(b, '\n', byte('0'+r.direction))
		b = r.ports.append(b)
		for j := range r.peers {
			p := &r.peers[j]
			b = append(b, ';', byte('0'+p.kind))
			b = append(p.namespaces.Append(b), '/')
			b = append(p.pods.Append(b), '/')
			b = p.addresses.appendTo(b)
			if !p.written {
				b = append(b, '*')
			}
		}
	}
	return b
}

// rulePlaces returns for each rule of the spec where it comes from.
func rulePlaces(o *object.Object, s *policySpec) []source.Span {
	result := make([]source.Span, 0, len(s.rules))
	for _, d := range []trafficDirection{egress, ingress} {
		rules := o.Root.At("spec", [...]string{egress: "egress", ingress: "ingress"}[d])
		for i := 0; rules != nil && s.closes[d] && i < len(rules.Children); i++ {
			result = append(result, rulePlace(o, &rules.Children[i], [...]string{egress: "to", ingress: "from"}[d]))
		}
	}
	return result
}

// rulePlace returns the place of the patch that wrote something in a rule, else the first place in a spec that one of its peers comes
// from; for a chart it is where the chart is named.
func rulePlace(o *object.Object, rule *object.Node, peers string) source.Span {
	for _, at := range []source.Span{o.WritingPatchSpan(rule), placeBelow(rule.Get(peers)), placeAt(rule)} {
		if !at.IsZero() {
			return at
		}
	}
	return o.Origin
}

func placeBelow(n *object.Node) source.Span {
	if n == nil {
		return source.Span{}
	}
	if at := placeAt(n); !at.IsZero() {
		return at
	}
	for i := range n.Children {
		if at := placeBelow(&n.Children[i]); !at.IsZero() {
			return at
		}
	}
	return source.Span{}
}

func placeAt(n *object.Node) source.Span {
	if n.From == nil || n.From.Kind == origin.Rendered {
		return source.Span{}
	}
	return n.From.At
}
