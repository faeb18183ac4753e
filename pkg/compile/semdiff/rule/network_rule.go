package rule

import (
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/proof/isolation"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/mpi"
)

var networkRule = &Rule{
	Name: "network", Title: "Traffic that is opened or closed",
	Doc: "All NetworkPolicies of a namespace together are a set of flows: selectors, ranges of addresses, ports, in both directions. The entry is " +
		"the difference of the sets before and after, not that of the text: a range that is cut in two, rules in another order, or an " +
		"opening that another policy has anyway are no effect. Policies hold for running pods at once. It is critical where all addresses are " +
		"opened, all namespaces, a namespace of another tenant, by its name or by labels that it has, the metadata service of clouds, or the addresses " +
		"of the cluster's own pods and Services; another range of private addresses, or a closed flow, is a warning. The place is " +
		"the line that opens the flow. Policies of other kinds (AdminNetworkPolicy, those of network plugins) are not understood: they are " +
		"unclassified.",
	Says: []Consequence{OpensNetwork, ClosesNetwork, NoEffect},
	claims: func(c *match.Change) bool {
		return isPolicy(c) && (c.Whole() || c.Path[0] == "spec") && isUnderstoodPolicy(c)
	},
	judge: func(c *Cluster, changes []*match.Change) []Effect {
		var effects []Effect
		fresh := slices.DeleteFunc(slices.Clone(c.added), func(change *match.Change) bool { return !isPolicy(change) })
		changed, added, all := groupByNamespace(changes), groupByNamespace(fresh), groupByNamespace(slices.Concat(changes, fresh))
		for _, namespace := range slices.Sorted(maps.Keys(all)) {
			effects = append(effects, c.trafficEffects(namespace, changed[namespace], added[namespace])...)
		}
		return effects
	},
}

// policyKeys are the keys of a NetworkPolicy's spec that package isolation reads.
var policyKeys = []string{
	"spec", "policyTypes", "podSelector", "namespaceSelector", "matchLabels", "matchExpressions", "key", "operator", "values",
	"ingress", "egress", "from", "to", "ports", "port", "endPort", "protocol", "ipBlock", "cidr", "except",
}

// isUnderstoodPolicy reports whether all that a change adds or takes away is known.
func isUnderstoodPolicy(c *match.Change) bool {
	if c.Whole() {
		return true
	}
	for i, key := range c.Path {
		if isItem := i > 0 && slices.Contains([]string{"ingress", "egress", "from", "to", "ports", "matchLabels", "matchExpressions", "values", "except", "policyTypes"}, c.Path[i-1]); !isItem && !slices.Contains(policyKeys, key) {
			return false
		}
	}
	return isReadablePolicy(c.Old) && isReadablePolicy(c.New)
}

func isReadablePolicy(n *object.Node) bool {
	if n == nil {
		return true
	}
	for i := range n.Children {
		child := &n.Children[i]
		if n.Kind == object.MapNode && n.Key != "matchLabels" && !slices.Contains(policyKeys, child.Key) || !isReadablePolicy(child) {
			return false
		}
	}
	return true
}

// groupByNamespace returns the changes of objects in namespaces.
func groupByNamespace(changes []*match.Change) map[string][]*match.Change {
	found := map[string][]*match.Change{}
	for _, change := range changes {
		namespace := change.Object().ID.Namespace
		found[namespace] = append(found[namespace], change)
	}
	return found
}

// trafficEffects says what becomes of the flows of a namespace.
func (c *Cluster) trafficEffects(namespace string, changes, added []*match.Change) []Effect {
	causes := changes
	if len(causes) == 0 {
		// The namespace is new, and its policies were told with it.
		causes = added
	}
	if c.was.network.Unreadable(namespace) || c.is.network.Unreadable(namespace) {
		return []Effect{c.effect(causes, OpensNetwork, Critical, "a NetworkPolicy cannot be read: what it opens is unknown").
			withClause("have", "a NetworkPolicy that cannot be read").withJobs(JobsHampered)}
	}
	opened, closed := isolation.Difference(&c.was.network, &c.is.network, namespace)
	var effects []Effect
	isFirst := len(changes) == 0 && c.isNew()
	fresh := c.was.namespaces[namespace] == nil && c.is.namespaces[namespace] != nil
	for _, part := range groupByPlace(opened) {
		e := c.openingEffect(namespace, part, causes, placeOfDirection(closed, part[0].Ingress), fresh)
		if isFirst && e.Severity == Critical {
			e = c.newClusterTrafficEffect(e, namespace, part)
		} else if isFirst {
			continue
		}
		effects = append(effects, e)
	}
	if isFirst {
		return effects
	}
	for _, part := range groupByPlace(closed) {
		effects = append(effects, c.closingEffect(namespace, part, causes, placeOfDirection(opened, part[0].Ingress)))
	}
	switch {
	case len(changes) == 0:
		// What is new in a new namespace is told with the namespace, but what is worth more than that.
		return slices.DeleteFunc(effects, func(e Effect) bool { return e.Severity < Warning })
	case len(effects) == 0:
		for _, part := range match.ByCause(changes) {
			effects = append(effects, c.effect(part, NoEffect, Info, "the same traffic is allowed as before"))
		}
		return effects
	}
	effects[0].Changes = unclaimedChanges(changes, effects)
	return effects
}

// newClusterTrafficEffect says what is open on a cluster that is new. No job runs there, so that nothing is opened for anybody yet: it is told as what
// the cluster comes with, if it would be critical elsewhere.
func (c *Cluster) newClusterTrafficEffect(e Effect, namespace string, flows []isolation.Opening) Effect {
	e.Severity, e.Jobs, e.Title = Warning, JobsUntouched, "a new cluster comes with "+flowTitle("", flows)+c.peerOwner(namespace, flows)
	if e.Subject.Tenant == "" {
		// What the platform itself may reach, with the cluster itself.
		e.Severity, e.Clause = Notice, Clause{}
		return e
	}
	_, with := c.severityOfFlows(namespace, flows)
	if flows[0].Ingress {
		with = "traffic that may come from " + shownPeer(flows) + c.peerOwner(namespace, flows)
	}
	return e.withClauseOf("cluster "+c.Name, "come", "with "+with+" for "+e.Subject.Tenant)
}

// unclaimedChanges are the changes of the first effect, and those that no effect has.
func unclaimedChanges(changes []*match.Change, effects []Effect) []*match.Change {
	mine := slices.Clone(effects[0].Changes)
	for _, change := range changes {
		if !slices.ContainsFunc(effects, func(e Effect) bool { return slices.Contains(e.Changes, change) }) {
			mine = append(mine, change)
		}
	}
	return mine
}

// groupByPlace divides flows by the line that opens them, and by direction.
func groupByPlace(all []isolation.Opening) [][]isolation.Opening {
	type line struct {
		match.Position
		ingress bool
	}
	return match.GroupBy(all, func(o isolation.Opening) line { return line{match.PositionOf(o.At), o.Ingress} })
}

func (c *Cluster) openingEffect(namespace string, flows []isolation.Opening, causes []*match.Change, other source.Span, fresh bool) Effect {
	severity, rest := c.severityOfFlows(namespace, flows)
	if fresh && severity < Critical {
		severity = Notice
	}
	e := c.effect(changesAt(causes, flows[0].At, false), OpensNetwork, severity, flowTitle("opens", flows)+c.peerOwner(namespace, flows)).withDetail(flowDetail(flows)).
		withJobs(JobsIncluded)
	if at := flows[0].At; !at.IsZero() {
		e.After = at
		if e.Before = other; other.IsZero() {
			e.Before = oppositeSpan(e.Changes, false)
		}
	}
	e.Subject.Namespace, e.Subject.Tenant = namespace, c.ownerOfNamespace(namespace)
	switch {
	case flows[0].Ingress:
		e.Clause = Clause{Verb: "can be", Rest: "reached from " + shownPeer(flows) + c.peerOwner(namespace, flows)}
	case flows[0].From.IsValid():
		e.Clause = Clause{Verb: "gain", Rest: rest}
	default:
		e.Clause = Clause{Verb: "can", Rest: "now reach " + strings.TrimPrefix(rest, "egress to ")}
	}
	return e.withNamespaceSubject()
}

// metadataServices give the credentials of a machine in a cloud to anyone who asks.
var metadataServices = []netip.Addr{netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("100.100.100.200")}

// clusterAddresses says what addresses hold that is not outside of the cluster, "" where nothing is known of them.
func (c *Cluster) clusterAddresses(f *isolation.Opening) string {
	holds := func(a netip.Addr) bool { return f.From.Is4() == a.Is4() && !a.Less(f.From) && !f.To.Less(a) }
	switch {
	case !f.From.IsValid():
		return ""
	case !f.Ingress && slices.ContainsFunc(metadataServices, holds):
		return "the metadata service of the cloud"
	case slices.ContainsFunc(c.ranges, func(p netip.Prefix) bool { return holds(p.Masked().Addr()) || p.Contains(f.From) }):
		return "addresses of pods and Services of the cluster"
	}
	return ""
}

// selectedTenants are the tenants whose namespaces a selector of a tenant's policy selects besides its own, sorted. Pods of the platform are no
// tenant: they may be reached by many.
func (c *Cluster) selectedTenants(namespace string, f *isolation.Opening) []string {
	own := c.ownerOfNamespace(namespace)
	if own == "" || f.Namespaces == "{}" || !strings.HasPrefix(f.Namespaces, "{") {
		return nil
	}
	tenants, known := c.selected[f.Namespaces]
	if !known {
		for _, name := range c.is.network.SelectedNamespaces(namespace, *f) {
			tenants = append(tenants, c.ownerOfNamespace(name))
		}
		// A flow that is closed is not in the state whose namespaces are asked.
		if tenants = sortedDistinct(tenants); len(tenants) > 0 {
			c.selected[f.Namespaces] = tenants
		}
	}
	return slices.DeleteFunc(slices.Clone(tenants), func(tenant string) bool { return tenant == own })
}

// peerOwner says what is special about the other end of flows.
func (c *Cluster) peerOwner(namespace string, flows []isolation.Opening) string {
	for i := range flows {
		f := &flows[i]
		if tenants := c.selectedTenants(namespace, f); len(tenants) > 0 {
			return ", of the tenant " + severalText(tenants)
		}
		if inner := c.clusterAddresses(f); inner != "" && !f.IsInternet() {
			return ": " + inner
		}
	}
	return ""
}

func (c *Cluster) closingEffect(namespace string, flows []isolation.Opening, causes []*match.Change, other source.Span) Effect {
	e := c.effect(changesAt(causes, flows[0].At, true), ClosesNetwork, Warning, flowTitle("closes", flows)).withDetail(flowDetail(flows)).
		withJobs(JobsHampered)
	if at := flows[0].At; !at.IsZero() {
		e.Before = at
		if e.After = other; other.IsZero() {
			e.After = oppositeSpan(e.Changes, true)
		}
	}
	e.Subject.Namespace, e.Subject.Tenant = namespace, c.ownerOfNamespace(namespace)
	_, rest := c.severityOfFlows(namespace, flows)
	switch {
	case flows[0].Ingress:
		e.Clause = Clause{Verb: "can no longer be", Rest: "reached from " + shownPeer(flows)}
	case flows[0].From.IsValid():
		e.Clause = Clause{Verb: "lose", Rest: rest}
	default:
		e.Clause = Clause{Verb: "can", Rest: "no longer reach " + strings.TrimPrefix(rest, "egress to ")}
	}
	return e.withNamespaceSubject()
}

// placeOfDirection is the place of the first flow of a direction.
func placeOfDirection(flows []isolation.Opening, ingress bool) source.Span {
	for i := range flows {
		if flows[i].Ingress == ingress {
			return flows[i].At
		}
	}
	return source.Span{}
}

// oppositeSpan is the place on the other side that the causes of a flow name.
func oppositeSpan(changes []*match.Change, after bool) source.Span {
	for _, change := range changes {
		was, is := change.Spans()
		if after && !is.IsZero() {
			return is
		}
		if !after && !was.IsZero() {
			return was
		}
	}
	return source.Span{}
}

// changesAt are the changes at a place, or all.
func changesAt(changes []*match.Change, at source.Span, before bool) []*match.Change {
	var found []*match.Change
	for _, change := range changes {
		was, is := change.Spans()
		if before && match.PositionOf(was) == match.PositionOf(at) || !before && match.PositionOf(is) == match.PositionOf(at) {
			found = append(found, change)
		}
	}
	if len(found) == 0 {
		return changes
	}
	return found
}

// severityOfFlows says how severe it is that flows open, and what a tenant gains by them.
func (c *Cluster) severityOfFlows(namespace string, flows []isolation.Opening) (Severity, string) {
	severity := Warning
	rest := "egress to " + shownPeer(flows) + " (" + flows[0].Ports + ")"
	own := c.ownerOfNamespace(namespace)
	everybody := slices.ContainsFunc(flows, func(f isolation.Opening) bool { return !f.Ingress && f.Namespaces == "{}" })
	for i := range flows {
		f := &flows[i]
		other, internet := c.ownerOfNamespace(f.Namespaces), f.IsInternet()
		switch {
		case internet && !f.Ingress && everybody:
			severity, rest = Critical, "egress to the internet and all namespaces"
		case internet && !f.Ingress:
			severity, rest = Critical, "internet egress"
		case internet:
			severity = Critical
		case f.Namespaces == "{}" || other != "" && other != own:
			severity = Critical
		case c.clusterAddresses(f) != "":
			severity, rest = Critical, "egress to "+c.clusterAddresses(f)+" ("+shownPeer(flows)+", "+f.Ports+")"
		case len(c.selectedTenants(namespace, f)) > 0:
			severity, rest = Critical, "egress to pods of "+strings.Join(c.selectedTenants(namespace, f), ", ")+" ("+f.Ports+")"
		case f.HasPublicAddress() && severity < Critical:
			rest = "egress to " + shownPeer(flows) + " (" + f.Ports + ") on the internet"
		}
	}
	return severity, rest
}

// titlePeer is the other end that a title names. The internet less a part is called so: its first range alone tells nothing.
func titlePeer(flows []isolation.Opening) string {
	shown := shownFlow(flows)
	if shown.IsInternet() && !shown.IsPrefix() {
		return "the internet (" + flowPeer(shown) + ")"
	}
	return flowPeer(shown)
}

// flowTitle names flows: `egress opens to 10.0.0.0/8, TCP 443`. Without a verb they are just there.
func flowTitle(verb string, flows []isolation.Opening) string {
	way, peer := "egress", "to"
	if flows[0].Ingress {
		way, peer = "ingress", "from"
	}
	title := strings.Join(slices.DeleteFunc([]string{way, verb, peer}, func(word string) bool { return word == "" }), " ") + " "
	title += titlePeer(flows) + ", " + flows[0].Ports
	if len(flows) > 1 && !areOneFlow(flows) {
		title += ", and " + Plural(len(flows)-1, "more flow")
	}
	return title
}

func flowDetail(flows []isolation.Opening) string {
	const most = 4
	var lines []string
	for i := range flows {
		if i == most {
			lines = append(lines, Plural(len(flows)-most, "more flow"))
			break
		}
		lines = append(lines, selectorWords(flows[i].String()))
	}
	return strings.Join(lines, "; ")
}

// shownPeer is the other end of the flow that is shown of some.
func shownPeer(flows []isolation.Opening) string { return flowPeer(shownFlow(flows)) }

// shownFlow is the flow that all are parts of, else the first.
func shownFlow(flows []isolation.Opening) isolation.Flow {
	if len(flows) > 1 && areOneFlow(flows) {
		return flows[0].Of
	}
	return flows[0].Flow
}

// areOneFlow reports whether all are parts of one flow.
func areOneFlow(flows []isolation.Opening) bool {
	return !slices.ContainsFunc(flows, func(o isolation.Opening) bool { return o.Of != flows[0].Of })
}

// flowPeer is the other end of a flow.
func flowPeer(f isolation.Flow) string {
	_, peer, _ := strings.Cut(f.String(), " at ")
	return selectorWords(peer)
}

// selectorWords says in words what selectors say in the notation of Kubernetes: `a notin (b,c),d=e`.
func selectorWords(text string) string {
	text = strings.ReplaceAll(text, "pods with "+externalJobs, "pods of jobs of external runtimes")
	text = selectorSet.ReplaceAllStringFunc(text, func(set string) string {
		parts := selectorSet.FindStringSubmatch(set)
		return map[string]string{"in": " ", "notin": " other than "}[parts[1]] + strings.ReplaceAll(parts[2], ",", " or ")
	})
	return selectorComma.ReplaceAllString(text, " and $1")
}

// externalJobs selects the pods of such jobs (package lower, network_policy.go).
const externalJobs = mpi.JobSetNameLabel + ",!" + mpi.ImplementationLabel

var (
	selectorSet   = regexp.MustCompile(` (in|notin) \(([^)]*)\)`)
	selectorComma = regexp.MustCompile(`,([A-Za-z0-9!])`)
)
