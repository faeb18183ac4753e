package isolation

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/proof/labels"
)

// borderCrossing is a grant that reaches out to, or lets in, some other tenant, and the namespaces that have it.
type borderCrossing struct {
	grant *grant
	at    []*namespace
}

// leak is a way between two tenants.
type leak struct {
	from, to *namespace
	out, in  *grant
	// more is how many more namespaces of others have a way to the same one, as far as they were looked for.
	more int
}

// maxSamples is how many ways into one namespace are looked for.
const maxSamples = 3

// borderCrossings returns the grants of a direction that cross the border of a tenant. A grant of policies that mean the same is there
// once, whichever namespaces have it.
func (c *Cluster) borderCrossings(d trafficDirection, tenants []*namespace, inside addressSet) []*borderCrossing {
	byPeer := map[*policyPeer]*borderCrossing{}
	var all []*borderCrossing
	for _, n := range tenants {
		for i := range n.effective.grants[d] {
			g := &n.effective.grants[d][i]
			if !c.crossesTenantBorder(n, g, inside) {
				continue
			}
			known := byPeer[g.peer]
			if known == nil {
				known = &borderCrossing{grant: g}
				byPeer[g.peer] = known
				all = append(all, known)
			}
			known.at = append(known.at, n)
		}
	}
	return all
}

// crossesTenantBorder reports whether a grant of a namespace is for pods of others: in their namespaces, or by an address inside of the cluster.
func (c *Cluster) crossesTenantBorder(n *namespace, g *grant, inside addressSet) bool {
	switch g.peer.kind {
	case own:
		return false
	case outside:
		return g.peer.addresses.overlaps(inside)
	}
	return slices.ContainsFunc(c.selectedNamespaces(g.peer.namespaces), func(other *namespace) bool { return other.tenant != n.tenant })
}

// findLeaks returns the ways between tenants: one for each namespace that can be reached. A way needs both ends.
func findLeaks(outs, ins []*borderCrossing) []leak {
	byTarget := map[*namespace]*leak{}
	var found []*leak
	for _, in := range ins {
		for _, out := range outs {
			if !in.grant.ports.overlaps(out.grant.ports) || !selectsSomePods(out.grant.pods, in.grant.peer) || !selectsSomePods(in.grant.pods, out.grant.peer) {
				continue
			}
			for _, target := range in.at {
				found = target.reachedFrom(out, in.grant, byTarget, found)
			}
		}
	}
	slices.SortFunc(found, func(a, b *leak) int { return strings.Compare(a.to.name, b.to.name) })
	result := make([]leak, len(found))
	for i, l := range found {
		result[i] = *l
	}
	return result
}

// selectsSomePods reports whether some of the pods are among those that a peer means. An address may be that of any pod.
func selectsSomePods(pods labels.Selector, p *policyPeer) bool {
	return p.kind == outside || pods.And(p.pods).Satisfiable()
}

func (n *namespace) reachedFrom(out *borderCrossing, in *grant, byTarget map[*namespace]*leak, found []*leak) []*leak {
	for _, from := range out.at {
		if from.tenant == n.tenant || !out.grant.peer.includesPodsOf(n) || !in.peer.includesPodsOf(from) {
			continue
		}
		known := byTarget[n]
		switch {
		case known == nil:
			known = &leak{from: from, to: n, out: out.grant, in: in}
			byTarget[n] = known
			found = append(found, known)
		case known.more == maxSamples:
			return found
		case known.from != from:
			known.more++
		}
	}
	return found
}

// includesPodsOf reports whether the pods of a namespace may be the peer.
func (p *policyPeer) includesPodsOf(n *namespace) bool {
	return p.kind == outside || p.kind == selected && p.namespaces.Selects(n.labels)
}
