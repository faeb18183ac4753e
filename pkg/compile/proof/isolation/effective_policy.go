package isolation

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/proof/labels"
)

// effectivePolicy is what a set of policies means for the pods of a namespace.
type effectivePolicy struct {
	grants [2][]grant
	// closed says that each pod is selected by a policy for the direction.
	closed [2]bool
	open   [2][]openFlow
	sides  [2]Side
}

// computeEffectivePolicies gives each namespace its posture. Namespaces with equal policies share one.
func (c *Cluster) computeEffectivePolicies() {
	c.effectivePolicies = map[string]*effectivePolicy{}
	c.selections = map[string][]*namespace{}
	var key []byte
	for _, n := range c.namespaces {
		slices.SortFunc(n.policies, func(a, b policy) int {
			if a.spec.number != b.spec.number {
				return a.spec.number - b.spec.number
			}
			return strings.Compare(a.name, b.name)
		})
		key = key[:0]
		for i := range n.policies {
			key = binary.AppendUvarint(key, uint64(n.policies[i].spec.number))
		}
		found := c.effectivePolicies[string(key)]
		if found == nil {
			found = newEffectivePolicy(n.policies)
			c.effectivePolicies[string(key)] = found
		}
		n.effective = found
	}
}

func newEffectivePolicy(policies []policy) *effectivePolicy {
	p := &effectivePolicy{}
	for _, d := range []trafficDirection{egress, ingress} {
		var closing []labels.Selector
		for i := range policies {
			s := policies[i].spec
			if s.closes[d] {
				closing = append(closing, s.pods)
				p.grants[d] = append(p.grants[d], s.grants(d, i)...)
			}
		}
		left := labels.Complement(closing)
		p.closed[d] = len(left) == 0
		for _, pods := range left {
			p.grants[d] = append(p.grants[d], unrestrictedGrants(pods)...)
		}
		p.open[d] = openFlows(p.grants[d])
		p.sides[d] = sideOf(p.open[d])
	}
	return p
}

func (s *policySpec) grants(d trafficDirection, policy int) []grant {
	var all []grant
	for i := range s.rules {
		r := &s.rules[i]
		for j := range r.peers {
			if r.direction == d {
				all = append(all, grant{pods: s.pods, peer: &r.peers[j], ports: &r.ports, policy: policy, rule: i})
			}
		}
	}
	return all
}

// unrestrictedGrants is what pods have that no policy closes.
func unrestrictedGrants(pods labels.Selector) []grant {
	var all []grant
	for _, peer := range anyPeer() {
		all = append(all, grant{pods: pods, peer: &peer, ports: &portSet{all: true}, policy: open, rule: open})
	}
	return all
}

// selectedNamespaces returns the namespaces of tenants that a selector selects.
func (c *Cluster) selectedNamespaces(s labels.Selector) []*namespace {
	key := s.String()
	found, known := c.selections[key]
	if known {
		return found
	}
	for _, n := range c.candidateNamespaces(s) {
		if n != nil && n.tenant != noTenant && s.Selects(n.labels) {
			found = append(found, n)
		}
	}
	slices.SortFunc(found, func(a, b *namespace) int { return strings.Compare(a.name, b.name) })
	c.selections[key] = found
	return found
}

// candidateNamespaces returns a few namespaces where the selector has their names, else all.
func (c *Cluster) candidateNamespaces(s labels.Selector) []*namespace {
	names, named := s.Values(nameLabel)
	if !named {
		return slices.Collect(maps.Values(c.namespaces))
	}
	var some []*namespace
	for _, name := range names {
		some = append(some, c.namespaces[name])
	}
	return some
}

// Reach is what is open for the pods of a namespace.
type Reach struct {
	Namespace string
	// Tenant owns the namespace.
	Tenant string
	// Egress and Ingress are shared by namespaces where they are equal. Nobody changes them.
	Egress, Ingress Side
}

// Reachability is what is open on a cluster.
type Reachability struct {
	// Of has the namespaces of tenants, sorted by name.
	Of []Reach
	// Selections has, for each selector of namespaces in a Flow, as `{a=b}`, the namespaces of tenants that it selects, sorted.
	Selections map[string][]string
}
