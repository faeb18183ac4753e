package network

import (
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mattfenwick/cyclonus/pkg/matcher"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/proof/isolation"
)

// family is which of the two addresses of both ends a packet has.
type family int

// judge returns for two ends which packets arrive, by their ports.
type judge func(from, to *end, f family) func(p port) bool

// cyclonus judges typed policies, as they would come from an API server. Of two ends it is told the policies of their namespaces only,
// because it looks at all that it is told for each packet.
func cyclonus(w *world, policies []*networkingv1.NetworkPolicy) judge {
	of := map[string][]*networkingv1.NetworkPolicy{}
	for _, policy := range policies {
		of[policy.Namespace] = append(of[policy.Namespace], policy)
	}
	type both struct{ from, to string }
	built := map[both]*matcher.Policy{}
	names := append(slices.Collect(maps.Keys(w.namespaces)), "")
	for _, from := range names {
		for _, to := range names {
			pair := slices.Clone(of[from])
			if from != to {
				pair = append(pair, of[to]...)
			}
			built[both{from, to}] = matcher.BuildNetworkPolicies(false, pair)
		}
	}
	peer := func(e *end, f family) *matcher.TrafficPeer {
		p := &matcher.TrafficPeer{IP: e.addresses[f].String()}
		if e.namespace != "" {
			p.Internal = &matcher.InternalPeer{PodLabels: e.labels, NamespaceLabels: w.namespaces[e.namespace], Namespace: e.namespace}
		}
		return p
	}
	return func(from, to *end, f family) func(port) bool {
		policy := built[both{from.namespace, to.namespace}]
		traffic := matcher.Traffic{Source: peer(from, f), Destination: peer(to, f)}
		return func(p port) bool {
			traffic.ResolvedPort, traffic.ResolvedPortName, traffic.Protocol = p.number, to.ports[p.number], p.protocol
			return policy.IsTrafficAllowed(&traffic).IsAllowed()
		}
	}
}

// opening is a Flow of the proof, as it is told to people, read again.
type opening struct {
	pods, peers labels.Selector
	// namespaces is nil for those of addresses and of the namespace itself.
	namespaces labels.Selector
	own        bool
	from, to   netip.Addr
	ports      []portRange
}

// portRange is a part of the ports of a Flow: numbers, or one by its name. Without a protocol it is all ports.
type portRange struct {
	protocol, name string
	from, to       int
}

// proven judges as the flows of the proof say: a packet between pods needs one at both ends.
func proven(t *testing.T, w *world, c *plan.Cluster, objects []object.Object) (judge, []*diag.Diagnostic) {
	t.Helper()
	var cluster isolation.Cluster
	cluster.Add(isolation.FactsOf(objects))
	list := &diag.List{}
	sides := map[string]*side{}
	for _, reach := range cluster.Prove(c, list).Of {
		s := &side{}
		for _, flow := range reach.Egress {
			s.out = append(s.out, read(t, flow))
		}
		for _, flow := range reach.Ingress {
			s.in = append(s.in, read(t, flow))
		}
		sides[reach.Namespace] = s
	}
	// Of other namespaces the proof tells what a comparison with nothing tells.
	for _, name := range cluster.Namespaces() {
		if sides[name] != nil {
			continue
		}
		sides[name] = &side{}
		gained, _ := isolation.Difference(&isolation.Cluster{}, &cluster, name)
		for _, o := range gained {
			if o.Ingress {
				sides[name].in = append(sides[name].in, read(t, o.Flow))
			} else {
				sides[name].out = append(sides[name].out, read(t, o.Flow))
			}
		}
	}
	return func(from, to *end, f family) func(port) bool {
		// An end outside has no policies, nor has a namespace that nobody compiles.
		out, in := sides[from.namespace], sides[to.namespace]
		outOpen, inOpen := w.opened(out, from, to, f, false), w.opened(in, to, from, f, true)
		return func(p port) bool {
			named := to.ports[p.number]
			return (out == nil || contain(outOpen, p, named)) && (in == nil || contain(inOpen, p, named))
		}
	}, list.Sorted()
}

// side is what is open for the pods of a namespace.
type side struct{ out, in []opening }

// opened are the ports that are open between an end and another one, on the side of the first.
func (w *world) opened(s *side, e, other *end, f family, receives bool) []portRange {
	if s == nil {
		return nil
	}
	list := s.out
	if receives {
		list = s.in
	}
	var ports []portRange
	for i := range list {
		if w.admits(&list[i], e, other, f) {
			ports = append(ports, list[i].ports...)
		}
	}
	return ports
}

func contain(ranges []portRange, p port, named string) bool {
	return slices.ContainsFunc(ranges, func(r portRange) bool {
		return r.protocol == "" || r.protocol == string(p.protocol) && (r.name != "" && r.name == named || r.from <= p.number && p.number <= r.to)
	})
}

func (w *world) admits(o *opening, e, other *end, f family) bool {
	if !o.pods.Matches(labels.Set(e.labels)) {
		return false
	}
	if o.from.IsValid() {
		address := other.addresses[f]
		return o.from.Is4() == address.Is4() && !address.Less(o.from) && !o.to.Less(address)
	}
	return other.namespace != "" && o.peers.Matches(labels.Set(other.labels)) &&
		(o.own && other.namespace == e.namespace || !o.own && o.namespaces.Matches(labels.Set(w.namespaces[other.namespace])))
}

func read(t *testing.T, flow isolation.Flow) opening {
	t.Helper()
	o := opening{pods: selector(t, flow.Pods), peers: selector(t, flow.Peers), own: flow.Namespaces == isolation.Own, from: flow.From, to: flow.To, ports: portsOf(flow.Ports)}
	switch {
	case o.own, flow.From.IsValid():
	case strings.HasPrefix(flow.Namespaces, "{"):
		o.namespaces = selector(t, strings.Trim(flow.Namespaces, "{}"))
	default:
		o.namespaces = selector(t, "kubernetes.io/metadata.name="+flow.Namespaces)
	}
	return o
}

func selector(t *testing.T, text string) labels.Selector {
	t.Helper()
	s, err := labels.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// portsOf reads ports as a Flow has them, for example `TCP 443, UDP 5000-5010`.
func portsOf(text string) []portRange {
	if text == "all ports" {
		return []portRange{{}}
	}
	var ranges []portRange
	for part := range strings.SplitSeq(text, ", ") {
		protocol, numbers, _ := strings.Cut(part, " ")
		first, last, isRange := strings.Cut(numbers, "-")
		if !isRange {
			last = first
		}
		r := portRange{protocol: protocol, to: -1}
		from, err := strconv.Atoi(first)
		to, alsoErr := strconv.Atoi(last)
		switch {
		case numbers == "all":
			r.to = 65535
		case err == nil && alsoErr == nil:
			r.from, r.to = from, to
		default:
			r.name = numbers
		}
		ranges = append(ranges, r)
	}
	return ranges
}

// typed reads an object as an API server would.
func typed(t *testing.T, o *object.Object, into any) {
	t.Helper()
	text, err := json.Marshal(o.Root.Value())
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}
