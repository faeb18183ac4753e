package semdiff

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/proof/isolation"
	"lockstep.dev/lockstep/pkg/compile/source"
)

var networkRule = &Rule{
	Name: "network", Title: "Traffic that is opened or closed",
	Doc: "All NetworkPolicies of a namespace together are a set of flows: selectors, ranges of addresses, ports, in both directions. The entry is " +
		"the difference of the sets before and after, not that of the text: a range that is cut in two, rules in another order, or an " +
		"opening that another policy has anyway are no effect. Policies hold for running pods at once. It is critical where all addresses are " +
		"opened, all namespaces, or a namespace of another tenant; a range of private addresses, or a closed flow, is a warning. The place is " +
		"the line that opens the flow. Policies of other kinds (AdminNetworkPolicy, those of network plugins) are not understood and told as " +
		"unclassified.",
	Says:   []Consequence{OpensNetwork, ClosesNetwork, NoEffect},
	claims: func(c *Change) bool { return isPolicy(c) && (c.Whole() || c.Path[0] == "spec") && understood(c) },
	cluster: func(c *cluster, changes []*Change) []Effect {
		var effects []Effect
		for _, namespace := range c.networked(changes) {
			effects = append(effects, c.traffic(namespace, inNamespace(changes, namespace))...)
		}
		return effects
	},
}

// policyKeys are the keys of a NetworkPolicy's spec that package isolation reads.
var policyKeys = []string{
	"spec", "policyTypes", "podSelector", "namespaceSelector", "matchLabels", "matchExpressions", "key", "operator", "values",
	"ingress", "egress", "from", "to", "ports", "port", "endPort", "protocol", "ipBlock", "cidr", "except",
}

// understood says whether all that a change adds or takes away is known.
func understood(c *Change) bool {
	if c.Whole() {
		return true
	}
	for i, key := range c.Path {
		if isItem := i > 0 && slices.Contains([]string{"ingress", "egress", "from", "to", "ports", "matchLabels", "matchExpressions", "values", "except", "policyTypes"}, c.Path[i-1]); !isItem && !slices.Contains(policyKeys, key) {
			return false
		}
	}
	return readable(c.Old) && readable(c.New)
}

func readable(n *object.Node) bool {
	if n == nil {
		return true
	}
	for i := range n.Children {
		child := &n.Children[i]
		if n.Kind == object.MapNode && n.Key != "matchLabels" && !slices.Contains(policyKeys, child.Key) || !readable(child) {
			return false
		}
	}
	return true
}

func isPolicy(c *Change) bool {
	return c.Kind() == "NetworkPolicy" && c.Object().ID.Group == "networking.k8s.io"
}

// networked are the namespaces whose policies change, and those that are new, sorted.
func (c *cluster) networked(changes []*Change) []string {
	var found []string
	for _, change := range slices.Concat(changes, c.added) {
		if isPolicy(change) {
			found = append(found, change.Object().ID.Namespace)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func inNamespace(changes []*Change, namespace string) []*Change {
	var found []*Change
	for _, change := range changes {
		if change.Object().ID.Namespace == namespace {
			found = append(found, change)
		}
	}
	return found
}

// traffic says what becomes of the flows of a namespace.
func (c *cluster) traffic(namespace string, changes []*Change) []Effect {
	causes := changes
	if len(causes) == 0 {
		// The namespace is new, and its policies were told with it.
		causes = slices.DeleteFunc(inNamespace(c.added, namespace), func(change *Change) bool { return !isPolicy(change) })
	}
	if c.was.network.Unreadable(namespace) || c.is.network.Unreadable(namespace) {
		return []Effect{c.effect(causes, OpensNetwork, Critical, "a NetworkPolicy cannot be read: what it opens is unknown", shownAll(causes)).
			with("have", "a NetworkPolicy that cannot be read").to(Hampered)}
	}
	opened, closed := isolation.Difference(&c.was.network, &c.is.network, namespace)
	var effects []Effect
	fresh := c.was.namespaces[namespace] == nil && c.is.namespaces[namespace] != nil
	for _, part := range byPlace(opened) {
		effects = append(effects, c.opens(namespace, part, causes, placeOn(closed, part[0].Ingress), fresh))
	}
	for _, part := range byPlace(closed) {
		effects = append(effects, c.closes(namespace, part, causes, placeOn(opened, part[0].Ingress)))
	}
	switch {
	case len(changes) == 0:
		// What is new in a new namespace is told with the namespace, but what is worth more than that.
		return slices.DeleteFunc(effects, func(e Effect) bool { return e.Severity < Warning })
	case len(effects) == 0:
		for _, part := range parts(changes) {
			effects = append(effects, c.effect(part, NoEffect, Info, "the same traffic is allowed as before", shownAll(part)))
		}
		return effects
	}
	effects[0].Changes = left(changes, effects)
	return effects
}

// left are the changes of the first effect, and those that no effect has.
func left(changes []*Change, effects []Effect) []*Change {
	mine := slices.Clone(effects[0].Changes)
	for _, change := range changes {
		if !slices.ContainsFunc(effects, func(e Effect) bool { return slices.Contains(e.Changes, change) }) {
			mine = append(mine, change)
		}
	}
	return mine
}

// byPlace divides flows by the line that opens them.
func byPlace(all []isolation.Opening) [][]isolation.Opening {
	at := map[place]int{}
	var result [][]isolation.Opening
	for _, o := range all {
		k := placeOf(o.At)
		if o.Ingress {
			k.path += " ingress"
		}
		i, known := at[k]
		if !known {
			i = len(result)
			at[k] = i
			result = append(result, nil)
		}
		result[i] = append(result[i], o)
	}
	return result
}

func (c *cluster) opens(namespace string, flows []isolation.Opening, causes []*Change, other source.Span, fresh bool) Effect {
	severity, rest := c.danger(namespace, flows)
	if fresh && severity < Critical {
		severity = Notice
	}
	e := c.effect(blamed(causes, flows[0].At, false), OpensNetwork, severity, flowTitle("opens", flows), flowDetail(flows)).
		to(Included)
	if at := flows[0].At; !at.IsZero() {
		e.After = at
		if e.Before = other; other.IsZero() {
			e.Before = opposite(e.Changes, false)
		}
	}
	e.Subject.Namespace, e.Subject.Tenant = namespace, c.owner(namespace)
	e.Gist = Gist{Verb: "gain", Rest: rest}
	if flows[0].Ingress {
		e.Gist = Gist{Verb: "can be", Rest: "reached from " + shownPeer(flows)}
	}
	return e.inPlatform()
}

func (c *cluster) closes(namespace string, flows []isolation.Opening, causes []*Change, other source.Span) Effect {
	e := c.effect(blamed(causes, flows[0].At, true), ClosesNetwork, Warning, flowTitle("closes", flows), flowDetail(flows)).
		to(Hampered)
	if at := flows[0].At; !at.IsZero() {
		e.Before = at
		if e.After = other; other.IsZero() {
			e.After = opposite(e.Changes, true)
		}
	}
	e.Subject.Namespace, e.Subject.Tenant = namespace, c.owner(namespace)
	_, rest := c.danger(namespace, flows)
	e.Gist = Gist{Verb: "lose", Rest: rest}
	if flows[0].Ingress {
		e.Gist = Gist{Verb: "can no longer be", Rest: "reached from " + shownPeer(flows)}
	}
	return e.inPlatform()
}

// inPlatform names the namespace where no tenant owns it.
func (e Effect) inPlatform() Effect {
	if e.Subject.Tenant == "" && e.Gist != (Gist{}) {
		e.Gist.Of = "namespace " + e.Subject.Namespace
	}
	return e
}

// placeOn is the place of the first flow of a direction.
func placeOn(flows []isolation.Opening, ingress bool) source.Span {
	for i := range flows {
		if flows[i].Ingress == ingress {
			return flows[i].At
		}
	}
	return source.Span{}
}

// opposite is the place on the other side that the causes of a flow name.
func opposite(changes []*Change, after bool) source.Span {
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

// blamed are the changes at a place, or all.
func blamed(changes []*Change, at source.Span, before bool) []*Change {
	var found []*Change
	for _, change := range changes {
		was, is := change.Spans()
		if before && placeOf(was) == placeOf(at) || !before && placeOf(is) == placeOf(at) {
			found = append(found, change)
		}
	}
	if len(found) == 0 {
		return changes
	}
	return found
}

// danger says how grave it is that flows open, and what a tenant gains by them.
func (c *cluster) danger(namespace string, flows []isolation.Opening) (Severity, string) {
	severity := Warning
	rest := "egress to " + shownPeer(flows) + " (" + flows[0].Ports + ")"
	own := c.owner(namespace)
	for i := range flows {
		f := &flows[i]
		other := c.owner(f.Namespaces)
		switch {
		case f.Internet() && !f.Ingress:
			severity, rest = Critical, "internet egress"
		case f.Internet():
			severity = Critical
		case f.Public() && severity < Critical:
			rest = "egress to " + shownPeer(flows) + " (" + f.Ports + ") on the internet"
		case f.Namespaces == "{}" || other != "" && other != own:
			severity = Critical
		}
	}
	return severity, rest
}

func flowTitle(verb string, flows []isolation.Opening) string {
	title := "egress " + verb + " to "
	if flows[0].Ingress {
		title = "ingress " + verb + " from "
	}
	title += shownPeer(flows) + ", " + flows[0].Ports
	if len(flows) > 1 && !oneFlow(flows) {
		title += ", and " + plural(len(flows)-1, "more flow")
	}
	return title
}

func flowDetail(flows []isolation.Opening) string {
	const most = 4
	var lines []string
	for i := range flows {
		if i == most {
			lines = append(lines, plural(len(flows)-most, "more flow"))
			break
		}
		lines = append(lines, flows[i].String())
	}
	return strings.Join(lines, "; ")
}

// shownPeer is the other end of some flows: of the one that they are parts of, else of the first.
func shownPeer(flows []isolation.Opening) string {
	if len(flows) > 1 && oneFlow(flows) {
		return flowPeer(flows[0].Of)
	}
	return flowPeer(flows[0].Flow)
}

// oneFlow says whether all are parts of one flow.
func oneFlow(flows []isolation.Opening) bool {
	return !slices.ContainsFunc(flows, func(o isolation.Opening) bool { return o.Of != flows[0].Of })
}

// flowPeer is the other end of a flow.
func flowPeer(f isolation.Flow) string {
	_, peer, _ := strings.Cut(f.String(), " at ")
	return peer
}
