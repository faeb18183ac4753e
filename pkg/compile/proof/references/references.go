// Package references proves that what an object names is there: the account of a pod, the Service that a webhook asks, the role of a binding,
// the pods that a selector is for. The API server accepts a name of nothing, and what was meant never works.
//
// It looks at what overlays and charts bring, and at what patches write; what is compiled from specs names what is compiled. Names lead out of
// the bundle, too: so a name is judged only where the bundle has all that it could be. That is so in namespaces that the bundle makes, and not
// for Secrets, which no bundle has.
//
// The facts hold no object of the compiler's own: Of, unit by unit, then Prove.
package references

import (
	"cmp"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/proof/labels"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Facts are what the proof must know of the objects of a unit.
type Facts struct {
	named      []name
	selections []selection
	mentions   []namespaceMention
	probes     []probePort
	rights     []right
	idle       []idleRules

	pods     []pod
	services []service
	configs  []config
	// makers are the namespaces of objects of which it is not known what their controllers make.
	makers []string
}

// name is a name of an object in another one.
type name struct {
	by object.ID
	// of is what is named. The namespace is "" for what has none.
	of object.ID
	// port is of a Service, by number or name; key of a ConfigMap.
	port, key string
	reach     reach
	// without says what does not happen without it.
	without string
	// at is the place of the name, partAt that of the port or the key.
	at, partAt source.Span
}

// reach is where the bundle has all that a name could be of.
type reach uint8

const (
	// closed: in namespaces that the bundle makes and tenants do not write to.
	closed reach = iota
	// compiled: in all namespaces that the bundle makes.
	compiled
	// everywhere: it is nowhere else.
	everywhere
	// nearMissesOnly: nowhere, but what is one letter beside another name is a mistake.
	nearMissesOnly
)

// selection is what selects pods, or Services, by labels.
type selection struct {
	by        object.ID
	namespace string
	services  bool
	selector  labels.Selector
	// ports are names that the pods must have.
	ports []named
	at    source.Span
}

// idleRules are rules of a policy that is not about their direction.
type idleRules struct {
	by object.ID
	named
}

// namespaceMention is a name of a namespace.
type namespaceMention struct {
	by object.ID
	named
}

// probePort is a port that a probe of a container asks, and the names of those that the container has.
type probePort struct {
	by        object.ID
	container string
	named
	has []string
}

// named is a text and its place.
type named struct {
	text string
	at   source.Span
}

// pod is what pods of an object are found by.
type pod struct {
	namespace string
	labels    map[string]string
	ports     []string
}

type service struct {
	id     object.ID
	labels map[string]string
	// ports are numbers and names.
	ports []string
}

type config struct {
	id   object.ID
	keys []string
}

// FactsOf returns the facts of the objects of a unit. Own are objects of specs: of these only what patches wrote is judged.
func FactsOf(objects []object.Object, own bool) Facts {
	var f Facts
	for i := range objects {
		o := &objects[i]
		if own && !o.Patched.Changed {
			continue
		}
		r := reader{facts: &f, object: o, patchedOnly: own}
		r.read()
	}
	return f
}

// Join returns the facts of both.
func (f Facts) Join(other Facts) Facts {
	return Facts{
		append(f.named, other.named...), append(f.selections, other.selections...), append(f.mentions, other.mentions...), append(f.probes, other.probes...),
		append(f.rights, other.rights...), append(f.idle, other.idle...),
		append(f.pods, other.pods...), append(f.services, other.services...), append(f.configs, other.configs...), append(f.makers, other.makers...),
	}
}

// reader takes the facts of one object.
type reader struct {
	facts       *Facts
	object      *object.Object
	patchedOnly bool
}

// judged reports whether a value is one whose names are judged.
func (r reader) judged(n *object.Node) bool {
	return n != nil && (!r.patchedOnly || n.From != nil && n.From.Kind == origin.Patched)
}

// place is where a value comes from.
func (r reader) place(n *object.Node) source.Span {
	if n != nil && n.From != nil && !n.From.At.IsZero() {
		return n.From.At
	}
	if at := r.object.PatchSpan(n); !at.IsZero() {
		return at
	}
	return r.object.Origin
}

// names notes that a value names an object.
func (r reader) names(n *object.Node, group, kind, namespace string, how reach, without string) {
	r.namesPart(n, nil, name{of: object.ID{Group: group, Kind: kind, Namespace: namespace}, reach: how, without: without})
}

// namesPart notes that a value names an object, and another one a part of it.
func (r reader) namesPart(n, part *object.Node, what name) {
	if n == nil || n.Text == "" || !r.judged(n) && !r.judged(part) {
		return
	}
	what.by, what.of.Name, what.at, what.partAt = r.object.ID, n.Text, r.place(n), r.place(cmp.Or(part, n))
	r.facts.named = append(r.facts.named, what)
}
