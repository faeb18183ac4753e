package isolation

import (
	"maps"
	"slices"

	"lockstep.dev/lockstep/pkg/compile/proof/labels"
)

// flowSet is a flow as a set: pods of a namespace, namespaces and pods at the other end, and ports. Addresses are not a part of it.
type flowSet struct {
	pods, namespaces, peers labels.Selector
	ports                   portSet
}

// flowSetOf is the set of a flow of a namespace.
func flowSetOf(namespace string, o *openFlow) flowSet {
	b := flowSet{pods: o.by.pods, ports: o.set}
	if o.From.IsValid() {
		return b
	}
	b.namespaces, b.peers = o.by.peer.namespaces, o.by.peer.pods
	switch {
	case o.Namespaces == Own:
		b.namespaces = labels.HasOneOf(nameLabel, namespace)
	case o.Namespaces[0] != '{':
		b.namespaces = labels.HasOneOf(nameLabel, o.Namespaces)
	}
	// Every namespace has its name for a label, and what has none does not exist.
	b.namespaces = b.namespaces.And(labels.Present(nameLabel))
	return b
}

// maxFlowSets bounds what a difference may grow to. A few policies with a few labels need a dozen.
const maxFlowSets = 512

// subtractFlowSets returns what of some sets another one does not have. Where that would be too many it is all that was there: more may seem
// different than is, never less.
func subtractFlowSets(boxes []flowSet, other flowSet) []flowSet {
	var left []flowSet
	for i := range boxes {
		left = append(left, boxes[i].minus(&other)...)
	}
	if len(left) > maxFlowSets {
		return boxes
	}
	return left
}

// isPossible reports whether something can be in the set.
func (b *flowSet) isPossible() bool {
	return b.pods.Satisfiable() && b.namespaces.Satisfiable() && b.peers.Satisfiable() && !b.ports.isEmpty()
}

// hasKnownNamespace reports whether the set has a namespace that can be: those whose labels are known have no others.
func (b *flowSet) hasKnownNamespace(known labelsOf) bool {
	names, named := b.namespaces.Values(nameLabel)
	return !named || slices.ContainsFunc(names, func(name string) bool {
		if own := known(name); own != nil {
			return b.namespaces.Selects(own)
		}
		return b.namespaces.Overlaps(labels.HasOneOf(nameLabel, name))
	})
}

// labelsOf are the labels of a namespace, nil where they are not known.
type labelsOf func(name string) map[string]string

// labelsOfBoth are the labels that namespaces have in each state that compiles them.
func labelsOfBoth(before, after *Cluster) labelsOf {
	return func(name string) map[string]string {
		was, is := before.namespaces[name], after.namespaces[name]
		switch {
		case !after.isCompiled(name) && !before.isCompiled(name):
			return nil
		case !after.isCompiled(name):
			return was.labels
		case before.isCompiled(name) && !maps.Equal(was.labels, is.labels):
			return nil
		}
		return is.labels
	}
}

// minus returns disjoint sets that together are what another one does not have.
func (b *flowSet) minus(other *flowSet) []flowSet {
	if !b.pods.Overlaps(other.pods) || !b.namespaces.Overlaps(other.namespaces) || !b.peers.Overlaps(other.peers) {
		return []flowSet{*b}
	}
	var left []flowSet
	both := *b
	for _, pods := range b.pods.Minus(other.pods) {
		left = append(left, flowSet{pods, both.namespaces, both.peers, both.ports})
	}
	both.pods = both.pods.And(other.pods)
	for _, namespaces := range b.namespaces.Minus(other.namespaces) {
		left = append(left, flowSet{both.pods, namespaces, both.peers, both.ports})
	}
	both.namespaces = both.namespaces.And(other.namespaces)
	for _, peers := range b.peers.Minus(other.peers) {
		left = append(left, flowSet{both.pods, both.namespaces, peers, both.ports})
	}
	both.peers = both.peers.And(other.peers)
	if both.ports = both.ports.minus(&other.ports); !both.ports.isEmpty() {
		left = append(left, both)
	}
	return left
}

// flowOfRemainder returns a flow with the ports of what is left of it, and with its pods where they are the same for all.
func flowOfRemainder(f Flow, left []flowSet) Flow {
	pods, all := left[0].pods.String(), left[0].ports
	for i := range left[1:] {
		b := &left[1+i]
		if all = all.union(b.ports); b.pods.String() != pods {
			pods = f.Pods
		}
	}
	f.Ports, f.Pods = all.String(), pods
	return f
}
