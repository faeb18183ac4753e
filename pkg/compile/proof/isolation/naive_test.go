package isolation

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	kubelabels "k8s.io/apimachinery/pkg/labels"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// The naive evaluator judges one packet after the other, as https://kubernetes.io/docs/concepts/services-networking/network-policies/
// describes it. It shares no code with the proof.

// world is a small universe: all pods that can be told apart by the labels in policies, a few addresses and ports.
type world struct {
	namespaces map[string]map[string]string
	pods       []map[string]string
	addresses  []netip.Addr
	ports      []portOf
	// policies by namespace.
	policies map[string][]map[string]any
}

type portOf struct {
	protocol string
	number   int
}

// end is one end of a packet: a pod, or an address outside.
type end struct {
	namespace string
	labels    map[string]string
	address   netip.Addr
}

// admits reports whether the policies of a pod's namespace let a packet through in a direction.
func (w *world) admits(pod, other end, port portOf, d trafficDirection) bool {
	isolated := false
	for _, policy := range w.policies[pod.namespace] {
		if !slices.Contains(policy["policyTypes"].([]any), any([]string{"Egress", "Ingress"}[d])) || !matches(policy["podSelector"], pod.labels) {
			continue
		}
		isolated = true
		rules, _ := policy[[]string{"egress", "ingress"}[d]].([]any)
		for _, r := range rules {
			if w.ruleAdmits(r.(map[string]any), pod, other, port, d) {
				return true
			}
		}
	}
	return !isolated
}

func (w *world) ruleAdmits(r map[string]any, pod, other end, port portOf, d trafficDirection) bool {
	peers, _ := r[[]string{"to", "from"}[d]].([]any)
	ports, _ := r["ports"].([]any)
	return (len(peers) == 0 || slices.ContainsFunc(peers, func(p any) bool { return w.peerMatches(p.(map[string]any), pod, other) })) &&
		(len(ports) == 0 || slices.ContainsFunc(ports, func(p any) bool { return portMatches(p.(map[string]any), port) }))
}

func (w *world) peerMatches(p map[string]any, pod, other end) bool {
	if block, is := p["ipBlock"].(map[string]any); is {
		if other.namespace != "" || !netip.MustParsePrefix(block["cidr"].(string)).Contains(other.address) {
			return false
		}
		except, _ := block["except"].([]any)
		return !slices.ContainsFunc(except, func(e any) bool { return netip.MustParsePrefix(e.(string)).Contains(other.address) })
	}
	if other.namespace == "" {
		return false
	}
	namespaces, has := p["namespaceSelector"]
	if !has && other.namespace != pod.namespace || has && !matches(namespaces, w.namespaces[other.namespace]) {
		return false
	}
	return p["podSelector"] == nil || matches(p["podSelector"], other.labels)
}

func portMatches(p map[string]any, port portOf) bool {
	if protocol, written := p["protocol"]; written && protocol != port.protocol || !written && port.protocol != "TCP" {
		return false
	}
	first, written := p["port"].(int)
	last, isRange := p["endPort"].(int)
	return !written || port.number == first || isRange && first <= port.number && port.number <= last
}

func matches(selector any, labels map[string]string) bool {
	s, _ := selector.(map[string]any)
	equal, _ := s["matchLabels"].(map[string]any)
	for key, value := range equal {
		if labels[key] != value {
			return false
		}
	}
	expressions, _ := s["matchExpressions"].([]any)
	for _, e := range expressions {
		e := e.(map[string]any)
		value, present := labels[e["key"].(string)]
		values, _ := e["values"].([]any)
		listed := present && slices.Contains(values, any(value))
		if ok := map[string]bool{"In": listed, "NotIn": !listed, "Exists": present, "DoesNotExist": !present}[e["operator"].(string)]; !ok {
			return false
		}
	}
	return true
}

// dice makes random policies over the few words of a world.
type dice struct {
	*rand.Rand
	// keys are the labels of pods that policies name.
	keys []string
}

func (d dice) selector(keys, values []string) map[string]any {
	s := map[string]any{}
	if d.IntN(3) == 0 {
		s["matchLabels"] = map[string]any{pick(d, keys): pick(d, values)}
	}
	var expressions []any
	for range d.IntN(3) {
		e := map[string]any{"key": pick(d, keys), "operator": pick(d, []string{"In", "NotIn", "Exists", "DoesNotExist"})}
		if op := e["operator"]; op == "In" || op == "NotIn" {
			e["values"] = []any{pick(d, values)}
			if d.IntN(2) == 0 {
				e["values"] = []any{pick(d, values), pick(d, values)}
			}
		}
		expressions = append(expressions, e)
	}
	if len(expressions) > 0 {
		s["matchExpressions"] = expressions
	}
	return s
}

func pick[T any](d dice, list []T) T { return list[d.IntN(len(list))] }

var (
	podKeys, podValues = []string{"app", "tier"}, []string{"a", "b"}
	blocks             = []string{"0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24", "10.1.2.3/32", "::/0", "fd00::/8", "fd00:1::/32"}
	inner              = map[string][]string{"0.0.0.0/0": {"10.0.0.0/8", "10.1.2.0/24"}, "10.0.0.0/8": {"10.1.0.0/16"}, "::/0": {"fd00::/8"}, "fd00::/8": {"fd00:1::/32"}}
)

func (d dice) policy() map[string]any {
	types := pick(d, [][]any{{"Egress"}, {"Ingress"}, {"Egress", "Ingress"}})
	p := map[string]any{"podSelector": map[string]any{}, "policyTypes": types}
	if d.IntN(2) == 0 {
		p["podSelector"] = d.selector(d.keys, podValues)
	}
	p["egress"], p["ingress"] = d.rules("to"), d.rules("from")
	return p
}

func (d dice) rules(peers string) []any {
	rules := []any{}
	for range d.IntN(3) {
		r := map[string]any{}
		if list := d.many(d.peer, 3); len(list) > 0 {
			r[peers] = list
		}
		if list := d.many(d.port, 3); len(list) > 0 {
			r["ports"] = list
		}
		rules = append(rules, r)
	}
	return rules
}

func (d dice) many(one func() map[string]any, most int) []any {
	var list []any
	for range d.IntN(most) {
		list = append(list, one())
	}
	return list
}

func (d dice) peer() map[string]any {
	switch d.IntN(4) {
	case 0:
		cidr := pick(d, blocks)
		block := map[string]any{"cidr": cidr}
		if holes := inner[cidr]; len(holes) > 0 && d.IntN(2) == 0 {
			block["except"] = []any{pick(d, holes)}
		}
		return map[string]any{"ipBlock": block}
	case 1:
		return map[string]any{"podSelector": d.selector(d.keys, podValues)}
	case 2:
		return map[string]any{"namespaceSelector": d.selector([]string{"team", nameLabel}, []string{"red", "blue", "a", "b"})}
	}
	return map[string]any{
		"namespaceSelector": d.selector([]string{"team", nameLabel}, []string{"red", "blue", "a", "b"}), "podSelector": d.selector(d.keys, podValues),
	}
}

func (d dice) port() map[string]any {
	p := map[string]any{}
	if d.IntN(2) == 0 {
		p["protocol"] = pick(d, protocols[:])
	}
	if d.IntN(4) > 0 {
		p["port"] = 1 + d.IntN(4)
		if d.IntN(3) == 0 {
			p["endPort"] = p["port"].(int) + d.IntN(3)
		}
	}
	return p
}

// tenantsOf says which tenant a namespace of the world belongs to; d is the platform's.
var tenantsOf = map[string]int{"a": 0, "b": 1, "c": 1, "d": noTenant}

func newWorld(d dice) *world {
	w := &world{
		namespaces: map[string]map[string]string{
			"a": {nameLabel: "a", "team": "red"}, "b": {nameLabel: "b", "team": "blue"}, "c": {nameLabel: "c"}, "d": {nameLabel: "d", "team": "red"},
		},
		policies: map[string][]map[string]any{},
	}
	// `z` stands for all values that no policy names.
	for _, app := range []string{"", "a", "b", "z"} {
		for _, tier := range []string{"", "a", "b", "z"} {
			pod := map[string]string{}
			if app != "" {
				pod["app"] = app
			}
			if tier != "" {
				pod["tier"] = tier
			}
			w.pods = append(w.pods, pod)
		}
	}
	for _, text := range []string{"1.2.3.4", "10.0.0.1", "10.1.0.1", "10.1.2.0", "10.1.2.3", "10.1.2.255", "10.1.3.0", "10.255.255.255", "11.0.0.0", "2001:db8::1", "fd00::1", "fd00:1::1", "fe00::"} {
		w.addresses = append(w.addresses, netip.MustParseAddr(text))
	}
	for _, protocol := range protocols {
		for number := 1; number <= 7; number++ {
			w.ports = append(w.ports, portOf{protocol, number})
		}
	}
	for namespace := range w.namespaces {
		for range d.IntN(4) {
			w.policies[namespace] = append(w.policies[namespace], d.policy())
		}
	}
	return w
}

// cluster returns the world as the proof reads it.
func (w *world) cluster() *Cluster {
	var objects []object.Object
	add := func(kind, version, namespace, name string, entries map[string]any) {
		metadata := map[string]any{"name": name}
		if namespace != "" {
			metadata["namespace"] = namespace
		}
		value := map[string]any{"apiVersion": version, "kind": kind, "metadata": metadata}
		if kind == "Namespace" {
			metadata["labels"] = entries
		} else {
			value["spec"] = entries
		}
		objects = append(objects, object.New(object.FromValue("", value, nil), object.Place{}, nil))
	}
	for name, own := range w.namespaces {
		entries := map[string]any{}
		for key, value := range own {
			entries[key] = value
		}
		add("Namespace", "v1", "", name, entries)
		for i, policy := range w.policies[name] {
			add("NetworkPolicy", "networking.k8s.io/v1", name, fmt.Sprint("p", i), policy)
		}
	}
	c := &Cluster{}
	c.Add(FactsOf(objects))
	for name, tenant := range tenantsOf {
		c.namespace(name).tenant = tenant
	}
	c.computeEffectivePolicies()
	return c
}

// admits answers as admits of the naive evaluator does, from the flows that the proof computed.
func (n *namespace) admits(c *Cluster, pod map[string]string, other end, port portOf, d trafficDirection) bool {
	packet := portSet{}
	packet.ranges[slices.Index(protocols[:], port.protocol)] = []portRange{{port.number, port.number}}
	return slices.ContainsFunc(n.effective.open[d], func(o openFlow) bool {
		if !o.set.contains(&packet) || !o.by.pods.Selects(pod) {
			return false
		}
		if other.namespace == "" {
			return o.From.IsValid() && o.From.Is4() == other.address.Is4() && !other.address.Less(o.From) && !o.To.Less(other.address)
		}
		return !o.From.IsValid() && o.by.peer.pods.Selects(other.labels) && (o.Namespaces == Own && other.namespace == n.name ||
			o.Namespaces == other.namespace || o.Namespaces != Own && o.Namespaces[0] == '{' && o.by.peer.namespaces.Selects(c.namespaces[other.namespace].labels))
	})
}

// TestAgainstNaive compares each packet of random worlds: what is closed, what is open, and whether tenants meet.
func TestAgainstNaive(t *testing.T) {
	const worlds = 60
	leaking := 0
	for seed := range uint64(worlds) {
		leaking += compareWorld(t, seed)
	}
	t.Logf("%d namespaces that another tenant reaches", leaking)
	if leaking == 0 || leaking == 3*worlds {
		t.Error("the worlds do not differ in what matters")
	}
}

// FuzzAgainstNaive does it for other worlds.
func FuzzAgainstNaive(f *testing.F) {
	f.Add(uint64(1000))
	f.Fuzz(func(t *testing.T, seed uint64) { compareWorld(t, seed) })
}

func compareWorld(t *testing.T, seed uint64) (leaking int) {
	t.Helper()
	w := newWorld(dice{rand.New(rand.NewPCG(seed, 1)), podKeys})
	c := w.cluster()
	for _, n := range c.sortedNamespaces() {
		w.compare(t, c, n)
	}
	leaking = w.compareLeaks(t, c)
	if t.Failed() {
		t.Fatalf("seed %d: %v", seed, w.policies)
	}
	return leaking
}

func (w *world) compare(t *testing.T, c *Cluster, n *namespace) {
	t.Helper()
	ends := w.ends()
	for _, d := range []trafficDirection{egress, ingress} {
		closed := true
		for _, pod := range w.pods {
			selected := slices.ContainsFunc(w.policies[n.name], func(p map[string]any) bool {
				return slices.Contains(p["policyTypes"].([]any), any([]string{"Egress", "Ingress"}[d])) && matches(p["podSelector"], pod)
			})
			closed = closed && selected
			for _, other := range ends {
				for _, port := range w.ports {
					want := w.admits(end{namespace: n.name, labels: pod}, other, port, d)
					if got := n.admits(c, pod, other, port, d); got != want {
						t.Fatalf("direction %d of %s %v, other end %+v, %v: %t, want %t", d, n.name, pod, other, port, got, want)
					}
				}
			}
		}
		if n.effective.closed[d] != closed {
			t.Errorf("direction %d of %s is closed: %t, want %t", d, n.name, n.effective.closed[d], closed)
		}
	}
}

// TestDifferenceAgainstNaive compares each packet of pairs of random worlds: whatever is let through in one state only is told, and
// whatever is told is let through in one state only.
func TestDifferenceAgainstNaive(t *testing.T) {
	for seed := range uint64(40) {
		compareDifference(t, seed)
	}
}

// FuzzDifferenceAgainstNaive does it for other worlds.
func FuzzDifferenceAgainstNaive(f *testing.F) {
	f.Add(uint64(1000))
	f.Fuzz(func(t *testing.T, seed uint64) { compareDifference(t, seed) })
}

func compareDifference(t *testing.T, seed uint64) {
	t.Helper()
	d := dice{rand.New(rand.NewPCG(seed, 2)), podKeys[:1]}
	was, is := newWorld(d), newWorld(d)
	was.widen()
	is.widen()
	for name, policies := range was.policies {
		// Most policies stay.
		for i := range policies {
			if i < len(is.policies[name]) && d.IntN(3) > 0 {
				is.policies[name][i] = policies[i]
			}
		}
	}
	before, after := was.cluster(), is.cluster()
	for _, n := range after.sortedNamespaces() {
		opened, closed := Difference(before, after, n.name)
		is.compareOpenings(t, was, after.namespaces[n.name], opened)
		was.compareOpenings(t, is, before.namespaces[n.name], closed)
	}
	if t.Failed() {
		t.Fatalf("seed %d: %v became %v", seed, was.policies, is.policies)
	}
}

// widen adds what no policy names: ports, and namespaces with all labels that they could have.
func (w *world) widen() {
	w.pods = []map[string]string{{}, {"app": "a"}, {"app": "b"}, {"app": "z"}}
	for _, text := range []string{"0.0.0.1", "10.1.2.4", "10.2.0.0", "fd00:2::1", "::1"} {
		w.addresses = append(w.addresses, netip.MustParseAddr(text))
	}
	for _, protocol := range protocols {
		w.ports = append(w.ports, portOf{protocol, 0}, portOf{protocol, 9})
	}
	w.ports = append(w.ports, portOf{"ICMP", 0})
	for _, name := range []string{"red", "blue", "other"} {
		for _, team := range []string{"", "a", "b", "red", "blue", "other"} {
			own := map[string]string{nameLabel: name}
			if team != "" {
				own["team"] = team
			}
			w.namespaces[name+"/"+team] = own
		}
	}
}

// compareOpenings asks each packet that the world lets through and another one does not, whether it is among openings, and the other way round.
func (w *world) compareOpenings(t *testing.T, other *world, n *namespace, openings []Opening) {
	t.Helper()
	witnessed := make([]bool, len(openings))
	ends := w.ends()
	for _, pod := range w.pods {
		from := end{namespace: n.name, labels: pod}
		for _, to := range ends {
			for _, d := range []trafficDirection{egress, ingress} {
				gained := w.admitted(from, to, d) &^ other.admitted(from, to, d)
				found := uint64(0)
				for i := range openings {
					if told := w.told(n, &openings[i], from, to); openings[i].Ingress == (d == ingress) && told&gained != 0 {
						found |= told
						witnessed[i] = true
					}
				}
				if gained&^found != 0 {
					t.Errorf("direction %d of %s %v, other end %+v, ports %x of %x are not told: %v", d, n.name, pod, to, gained&^found, gained, openings)
					return
				}
			}
		}
	}
	for i, found := range witnessed {
		if !found {
			t.Errorf("%s: %v is told, ingress %t, and nothing of it is different", n.name, openings[i], openings[i].Ingress)
		}
	}
}

// admitted is the set of ports of the world on which packets are let through, a bit for each.
func (w *world) admitted(pod, other end, d trafficDirection) (set uint64) {
	isolated := false
	for _, policy := range w.policies[pod.namespace] {
		if !slices.Contains(policy["policyTypes"].([]any), any([]string{"Egress", "Ingress"}[d])) || !matches(policy["podSelector"], pod.labels) {
			continue
		}
		isolated = true
		rules, _ := policy[[]string{"egress", "ingress"}[d]].([]any)
		for _, r := range rules {
			r := r.(map[string]any)
			peers, _ := r[[]string{"to", "from"}[d]].([]any)
			if len(peers) == 0 || slices.ContainsFunc(peers, func(p any) bool { return w.peerMatches(p.(map[string]any), pod, other) }) {
				set |= w.set(func(port portOf) bool {
					ports, _ := r["ports"].([]any)
					return len(ports) == 0 || slices.ContainsFunc(ports, func(p any) bool { return portMatches(p.(map[string]any), port) })
				})
			}
		}
	}
	if !isolated {
		return w.set(func(portOf) bool { return true })
	}
	return set
}

func (w *world) set(has func(portOf) bool) (set uint64) {
	for i, port := range w.ports {
		if has(port) {
			set |= 1 << i
		}
	}
	return set
}

// told is the set of ports that an opening says of two ends, by the texts of its selectors.
func (w *world) told(n *namespace, o *Opening, pod, other end) uint64 {
	ports := func() uint64 { return w.set(func(port portOf) bool { return textHasPort(o.Ports, port) }) }
	switch {
	case !textSelects(o.Pods, pod.labels) || o.From.IsValid() != (other.namespace == ""):
		return 0
	case o.From.IsValid():
		if o.From.Is4() != other.address.Is4() || other.address.Less(o.From) || o.To.Less(other.address) {
			return 0
		}
		return ports()
	case !textSelects(o.Peers, other.labels):
		return 0
	}
	labels := w.namespaces[other.namespace]
	if strings.HasPrefix(o.Namespaces, "{") && textSelects(strings.Trim(o.Namespaces, "{}"), labels) ||
		o.Namespaces == labels[nameLabel] || o.Namespaces == Own && other.namespace == n.name {
		return ports()
	}
	return 0
}

// textSelects asks the parser of Kubernetes.
func textSelects(selector string, own map[string]string) bool {
	s, err := kubelabels.Parse(selector)
	return err == nil && s.Matches(kubelabels.Set(own))
}

// textHasPort reads `TCP 1-3, UDP 53` and `all ports`.
func textHasPort(list string, port portOf) bool {
	if list == "all ports" {
		return true
	}
	for _, text := range strings.Split(list, ", ") {
		protocol, numbers, _ := strings.Cut(text, " ")
		first, last, isRange := strings.Cut(numbers, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, _ := strconv.Atoi(last)
		if protocol == port.protocol && (err != nil || from <= port.number && port.number <= to) {
			return true
		}
	}
	return false
}

// ends are all other ends that packets can have.
func (w *world) ends() []end {
	ends := make([]end, 0, 100)
	for _, address := range w.addresses {
		ends = append(ends, end{address: address})
	}
	for name := range w.namespaces {
		for _, own := range w.pods {
			ends = append(ends, end{namespace: name, labels: own})
		}
	}
	return ends
}

func (w *world) compareLeaks(t *testing.T, c *Cluster) int {
	t.Helper()
	var tenants []*namespace
	for _, n := range c.sortedNamespaces() {
		if n.tenant != noTenant {
			tenants = append(tenants, n)
		}
	}
	reached := map[string]bool{}
	// Nothing is inside: pods have no addresses in this world.
	for _, l := range findLeaks(c.borderCrossings(egress, tenants, nil), c.borderCrossings(ingress, tenants, nil)) {
		reached[l.to.name] = true
		if !w.connected(l.from.name, l.to.name) {
			t.Errorf("%s does not reach %s", l.from.name, l.to.name)
		}
	}
	for _, to := range tenants {
		want := slices.ContainsFunc(tenants, func(from *namespace) bool { return from.tenant != to.tenant && w.connected(from.name, to.name) })
		if reached[to.name] != want {
			t.Errorf("%s is reached by another tenant: %t, want %t", to.name, reached[to.name], want)
		}
	}
	return len(reached)
}

func (w *world) connected(from, to string) bool {
	for _, p := range w.pods {
		for _, q := range w.pods {
			source, target := end{namespace: from, labels: p}, end{namespace: to, labels: q}
			for _, port := range w.ports {
				if w.admits(source, target, port, egress) && w.admits(target, source, port, ingress) {
					return true
				}
			}
		}
	}
	return false
}
