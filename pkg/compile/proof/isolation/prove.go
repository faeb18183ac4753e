package isolation

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/ipv4in6"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/proof/labels"
	"lockstep.dev/lockstep/pkg/compile/source"
)

const noTenant = -1

// proof is one run over the facts of a cluster.
type proof struct {
	*Cluster
	plan *plan.Cluster
	list *diag.List
	// tenants are the namespaces of tenants, sorted by name; at is where the specs name them.
	tenants []*namespace
	at      map[*namespace]source.Span
	// declared is by number of the tenant.
	declared [][2][]openFlow
	// inside are the addresses that pods and Services of the cluster may have.
	inside addressSet
	// translated are those that the cluster names, and the IPv6 addresses that stand for them.
	translated addressSet
	// unclosed are the namespaces that were reported for a direction.
	unclosed [2]map[*namespace]bool
}

// Prove reports what keeps the tenants of a plan from being separate, and returns what is open. It is called once, after all
// facts were added.
func (c *Cluster) Prove(p *plan.Cluster, list *diag.List) Reachability {
	r := proof{Cluster: c, plan: p, list: list, at: map[*namespace]source.Span{}}
	r.inside, r.translated = clusterRanges(p), translatedRanges(p)
	r.assignTenants()
	c.computeEffectivePolicies()
	r.reportUnreadablePolicies()
	r.reportOpenNamespaces()
	r.reportLeaks()
	for _, n := range r.tenants {
		r.compareWithDeclared(n)
		r.reportWideRanges(n)
	}
	r.reportWideSelectors()
	return r.reachability()
}

// assignTenants gives the namespaces their tenants.
func (r *proof) assignTenants() {
	for i, t := range r.plan.Tenants {
		r.declared = append(r.declared, declaredFlows(r.plan, t))
		for j := range t.Namespaces {
			n := r.namespace(t.Namespaces[j].V)
			n.tenant = i
			r.at[n] = t.Namespaces[j].At
			r.tenants = append(r.tenants, n)
		}
	}
	slices.SortFunc(r.tenants, func(a, b *namespace) int { return strings.Compare(a.name, b.name) })
	r.unclosed = [2]map[*namespace]bool{{}, {}}
}

func (r *proof) tenantOf(n *namespace) *plan.Tenant { return r.plan.Tenants[n.tenant] }

// reportUnreadablePolicies reports policies that have no meaning to the proof, and so perhaps none to the cluster.
func (r *proof) reportUnreadablePolicies() {
	slices.SortFunc(r.bad, func(a, b policyFact) int { return strings.Compare(a.namespace+"/"+a.name, b.namespace+"/"+b.name) })
	for _, p := range r.bad {
		r.list.Errorf(diag.NetworkNotProvable, p.at, "the NetworkPolicy `%s` of `%s` cannot be read: what it opens is unknown", p.name, p.namespace).
			Helpf("write it as Kubernetes documents it: known operators, CIDRs, protocols and ports")
	}
}

var verbs = [2]string{egress: "reach", ingress: "be reached from"}

// reportOpenNamespaces reports namespaces in which some pod is not closed in some direction. On OpenShift constraints refuse pods on the network of
// their machine.
func (r *proof) reportOpenNamespaces() {
	for _, n := range r.tenants {
		if !r.plan.OpenShift && !r.refusesHostNetworkIn(n) {
			r.errorf(diag.NamespaceNotClosed, n, "pods of the namespace `%s` may use the network of their machine: the label `%s` is %q, and no admission policy refuses them",
				n.name, enforceLabel, n.labels[enforceLabel]).Helpf("`restricted` and `baseline` refuse such pods")
		}
		for _, d := range []trafficDirection{egress, ingress} {
			if n.effective.closed[d] {
				continue
			}
			r.unclosed[d][n] = true
			r.errorf(diag.NamespaceNotClosed, n, "pods of the namespace `%s` may %s everything: no NetworkPolicy closes %s for all of them",
				n.name, verbs[d], [...]string{egress: "egress", ingress: "ingress"}[d])
		}
	}
}

// reportLeaks reports ways between tenants, and openings that would be one if the other side opened too.
func (r *proof) reportLeaks() {
	outs, ins := r.borderCrossings(egress, r.tenants, r.inside), r.borderCrossings(ingress, r.tenants, r.inside)
	reached, reaching := map[*namespace]bool{}, map[*namespace]bool{}
	for _, l := range findLeaks(outs, ins) {
		reached[l.to], reaching[l.from] = true, true
		r.reportLeak(l)
	}
	r.reportOneSided(egress, outs, reaching)
	r.reportOneSided(ingress, ins, reached)
}

func (r *proof) reportLeak(l leak) {
	others := ""
	if l.more > 0 {
		others = ", and others,"
	}
	d := r.list.Errorf(diag.TenantsConnected, r.grantPlace(l.to, l.in), "pods of the tenant `%s` in `%s`%s can reach pods of the tenant `%s` in `%s`",
		r.tenantOf(l.from).Name.V, l.from.name, others, r.tenantOf(l.to).Name.V, l.to.name)
	r.alsoNamespace(l.to, d).Also(r.grantPlace(l.from, l.out), "egress is open here")
	if (l.in.peer.kind == outside || l.out.peer.kind == outside) && len(r.plan.Ranges) == 0 {
		d.Notef("the cluster does not say which addresses its pods have, so that any range may hold some").
			Helpf("write the ranges of pods and Services at `network.ranges` of the cluster")
	}
}

// reportOneSided warns of grants by selectors that cross the border of a tenant while the other side is closed.
func (r *proof) reportOneSided(d trafficDirection, crossings []*borderCrossing, reported map[*namespace]bool) {
	for _, c := range crossings {
		for _, n := range c.at {
			if c.grant.peer.kind == outside || reported[n] || r.unclosed[d][n] {
				continue
			}
			found := r.list.Warnf(diag.OpenOnOneSide, r.grantPlace(n, c.grant), "the NetworkPolicy `%s` of `%s` lets pods %s %s, among them those of other tenants",
				n.policies[c.grant.policy].name, n.name, verbs[d], flowOf(c.grant).peerText())
			r.alsoNamespace(n, found).Notef("the other side is closed, so that nothing gets through today")
		}
	}
}

// flowOf returns the first flow of a grant to pods.
func flowOf(g *grant) Flow {
	return Flow{Pods: g.pods.String(), Namespaces: g.peer.namespacesText()[0], Peers: g.peer.pods.String(), Ports: g.ports.String()}
}

// grantPlace is where the rule of a grant comes from, or the cause where no policy is about it.
func (r *proof) grantPlace(n *namespace, g *grant) source.Span {
	if g.policy == open {
		return r.causePlace(n)
	}
	return n.policies[g.policy].places[g.rule]
}

// causePlace is where to look for what is missing in a namespace: at the patch that changed or removed one of its policies, else where the
// spec names the namespace.
func (r *proof) causePlace(n *namespace) source.Span {
	for _, at := range []source.Span{n.patch, r.removed.SpanOf("NetworkPolicy", n.name, ""), r.removed.SpanOf("Namespace", "", n.name)} {
		if !at.IsZero() {
			return at
		}
	}
	return r.at[n]
}

// errorf reports what is missing in a namespace.
func (r *proof) errorf(code diag.Code, n *namespace, format string, args ...any) *diag.Diagnostic {
	return r.alsoNamespace(n, r.list.Errorf(code, r.causePlace(n), format, args...))
}

// alsoNamespace adds the namespace to a finding that is elsewhere.
func (r *proof) alsoNamespace(n *namespace, d *diag.Diagnostic) *diag.Diagnostic {
	if at := r.at[n]; !at.IsZero() && at.File != d.Span.File {
		d.Also(at, "the namespace `%s` of the tenant `%s`", n.name, r.tenantOf(n).Name.V)
	}
	return d
}

// compareWithDeclared reports what is open and not in the tenant's spec, and the other way round.
func (r *proof) compareWithDeclared(n *namespace) {
	withoutDNS := !r.unclosed[egress][n] && !r.reachesDNS(n)
	if withoutDNS {
		r.errorf(diag.DNSNotReachable, n, "pods of the namespace `%s` cannot ask the DNS of the cluster", n.name).
			Also(r.plan.DNS.Namespace.At, "DNS is in `%s`", r.plan.DNS.Namespace.V)
	}
	for _, d := range []trafficDirection{egress, ingress} {
		want, got := r.declared[n.tenant][d], n.effective.open[d]
		if r.unclosed[d][n] || slices.EqualFunc(want, got, func(a, b openFlow) bool { return a.Flow == b.Flow }) {
			continue
		}
		r.reportOpensMore(n, d, want)
		if d == ingress || !withoutDNS {
			r.reportOpensLess(n, d, want)
		}
	}
}

func (r *proof) reportOpensMore(n *namespace, d trafficDirection, want []openFlow) {
	var found *diag.Diagnostic
	for i := range n.effective.open[d] {
		flow := &n.effective.open[d][i]
		switch {
		case flow.isWithin(want):
		case found != nil:
			found.Notef("and %s", flow)
		default:
			found = r.list.Errorf(diag.OpensMore, r.grantPlace(n, flow.by), "the NetworkPolicy `%s` lets pods of `%s` %s more than the spec of `%s` says: %s",
				n.policies[flow.by.policy].name, n.name, verbs[d], r.tenantOf(n).Name.V, flow)
			r.alsoNamespace(n, found)
		}
	}
}

func (r *proof) reportOpensLess(n *namespace, d trafficDirection, want []openFlow) {
	for i := range want {
		if flow := &want[i]; !flow.isWithin(n.effective.open[d]) {
			r.errorf(diag.OpensLess, n, "the spec of `%s` lets pods of `%s` %s what no NetworkPolicy opens: %s",
				r.tenantOf(n).Name.V, n.name, verbs[d], flow)
			return
		}
	}
}

// reachesDNS reports whether all pods may ask all pods that answer DNS, over UDP and TCP.
func (r *proof) reachesDNS(n *namespace) bool {
	dns := &r.plan.DNS
	own := map[string]string{}
	for i := range dns.PodLabels {
		own[dns.PodLabels[i].Name] = dns.PodLabels[i].V
	}
	home, wanted := map[string]string{nameLabel: dns.Namespace.V}, dnsPorts(dns)
	if known := r.namespaces[dns.Namespace.V]; known != nil {
		home = known.labels
	}
	var able []labels.Selector
	for i := range n.effective.grants[egress] {
		g := &n.effective.grants[egress][i]
		if g.peer.kind == selected && g.peer.namespaces.Selects(home) && g.peer.pods.Selects(own) && g.ports.contains(wanted) {
			able = append(able, g.pods)
		}
	}
	return len(labels.Complement(able)) == 0
}

// local are the addresses of a machine itself, without the metadata services of clouds, which a check of its own knows.
var (
	linkLocal = addressesOf("127.0.0.0/8", "169.254.0.0/16", "::1/128", "fe80::/10")
	metadata  = addressesOf("169.254.169.254/32", "fd00:ec2::254/128")
)

func addressesOf(texts ...string) addressSet {
	var s addressSet
	for _, text := range texts {
		s = append(s, withIPv6Forms(netip.MustParsePrefix(text))...)
	}
	return s.normalized()
}

// withIPv6Forms returns a range and the IPv6 addresses that stand for it.
func withIPv6Forms(p netip.Prefix) addressSet {
	s := addressSet{rangeOf(p)}
	for _, form := range ipv4in6.IPv6Forms(p) {
		s = append(s, rangeOf(form))
	}
	return s
}

// translatedRanges returns what the cluster says of its pods and Services, as a network that translates has it.
func translatedRanges(p *plan.Cluster) addressSet {
	var s addressSet
	for i := range p.Ranges {
		if prefix, err := netip.ParsePrefix(p.Ranges[i].V); err == nil {
			s = append(s, withIPv6Forms(prefix)...)
		}
	}
	return s.normalized()
}

// clusterRanges returns what the cluster says of its pods and Services, or everything.
func clusterRanges(p *plan.Cluster) addressSet {
	var s addressSet
	for i := range p.Ranges {
		if block, ok := readPrefix(p.Ranges[i].V); ok {
			s = append(s, block)
		}
	}
	if len(s) == 0 {
		return everywhere
	}
	return s.normalized()
}

// reportWideRanges warns of blocks of addresses with those of the cluster or of machines in them. Selectors are how pods are meant: a block
// stands for whatever has its addresses tomorrow.
func (r *proof) reportWideRanges(n *namespace) {
	for i := range n.effective.grants[egress] {
		g := &n.effective.grants[egress][i]
		if g.peer.kind != outside || g.policy == open {
			continue
		}
		what, holds := "of pods and Services of the cluster", g.peer.addresses.overlaps(r.translated)
		if !holds && !g.peer.addresses.overlaps(metadata) {
			what, holds = "that a machine has for itself", g.peer.addresses.overlaps(linkLocal)
		}
		if holds {
			found := r.list.Warnf(diag.ClusterRangeOpen, r.grantPlace(n, g), "the NetworkPolicy `%s` lets the tenant `%s` reach %s, a range with addresses %s",
				n.policies[g.policy].name, r.tenantOf(n).Name.V, g.peer.addresses, what)
			r.alsoNamespace(n, found).Helpf("name the ranges outside of the cluster that are needed")
		}
	}
}

// reportWideSelectors warns of policies in other namespaces that let pods of tenants in without meaning it: by a selector that is
// empty, or by a label of pods, which tenants give their pods as they like.
func (r *proof) reportWideSelectors() {
	for _, n := range r.sortedNamespaces() {
		if n.tenant != noTenant {
			continue
		}
		for i := range n.effective.grants[ingress] {
			g := &n.effective.grants[ingress][i]
			if !g.peer.written || g.peer.kind != selected || len(r.selectedNamespaces(g.peer.namespaces)) == 0 {
				continue
			}
			if reason := tooWideReason(g.peer); reason != "" {
				r.list.Warnf(diag.SelectorTooWide, r.grantPlace(n, g), "the NetworkPolicy `%s` of `%s` lets pods of tenants in: %s", n.policies[g.policy].name, n.name, reason).
					Helpf("select the namespaces by `%s`, which nobody can forge", nameLabel)
			}
		}
	}
}

func tooWideReason(p *policyPeer) string {
	switch {
	case len(p.pods) > 0:
		return fmt.Sprintf("the labels `%s` are given to pods by whoever makes them", p.pods)
	case len(p.namespaces) == 0:
		return "an empty selector selects all namespaces"
	}
	return ""
}

func (r *proof) reachability() Reachability {
	result := Reachability{Selections: map[string][]string{}}
	for _, n := range r.tenants {
		sides := n.effective.sides
		result.Of = append(result.Of, Reach{Namespace: n.name, Tenant: r.tenantOf(n).Name.V, Egress: sides[egress], Ingress: sides[ingress]})
		for d := range sides {
			for i := range n.effective.open[d] {
				flow := &n.effective.open[d][i]
				if _, known := result.Selections[flow.Namespaces]; !known && strings.HasPrefix(flow.Namespaces, "{") {
					result.Selections[flow.Namespaces] = namesOf(r.selectedNamespaces(flow.by.peer.namespaces))
				}
			}
		}
	}
	return result
}

func namesOf(list []*namespace) []string {
	names := make([]string, len(list))
	for i, n := range list {
		names[i] = n.name
	}
	return names
}
