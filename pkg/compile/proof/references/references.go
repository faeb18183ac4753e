// Package references proves that what an object names is there: the account of a pod, the Service that a webhook asks, the role of a binding,
// the pods that a selector is for. The API server accepts a name of nothing, and what was meant never works.
//
// It looks at what overlays and charts bring, and at what patches write; what is compiled from specs names what is compiled. Names lead out of
// the bundle, too: so a name is judged only where the bundle has all that it could be. That is so in namespaces that the bundle makes, and not
// for Secrets, which no bundle has.
//
// The facts hold no object of the compiler's own: FactsOf, unit by unit, then Prove.
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
	named      []objectName
	selections []labelSelection
	mentions   []namespaceMention
	probes     []probePort
	rights     []unknownRoleWord
	idle       []idleRules

	pods     []podFact
	services []serviceFact
	configs  []configMapFact
	// makers are the namespaces of objects of which it is not known what their controllers make.
	makers []string
}

// objectName is a name of an object in another one.
type objectName struct {
	by object.ID
	// of is what is named. The namespace is "" for what has none.
	of object.ID
	// port is of a Service, by number or name; key of a ConfigMap.
	port, key string
	reach     nameScope
	// without says what does not happen without it.
	without string
	// at is the place of the name, partAt that of the port or the key.
	at, partAt source.Span
}

// nameScope is where the bundle has all that a name could be of.
type nameScope uint8

const (
	// closed: in namespaces that the bundle makes and tenants do not write to.
	closed nameScope = iota
	// compiled: in all namespaces that the bundle makes.
	compiled
	// everywhere: it is nowhere else.
	everywhere
	// nearMissesOnly: nowhere, but what is one letter beside another name is a mistake.
	nearMissesOnly
)

// labelSelection is what selects pods, or Services, by labels.
type labelSelection struct {
	by        object.ID
	namespace string
	services  bool
	selector  labels.Selector
	// ports are names that the pods must have.
	ports []placedText
	at    source.Span
}

// idleRules are rules of a policy that is not about their direction.
type idleRules struct {
	by object.ID
	placedText
}

// namespaceMention is a name of a namespace.
type namespaceMention struct {
	by object.ID
	placedText
}

// probePort is a port that a probe of a container asks, and the names of those that the container has.
type probePort struct {
	by        object.ID
	container string
	placedText
	has []string
}

// placedText is a text and its place.
type placedText struct {
	text string
	at   source.Span
}

// podFact is what pods of an object are found by.
type podFact struct {
	namespace string
	labels    map[string]string
	ports     []string
}

type serviceFact struct {
	id     object.ID
	labels map[string]string
	// ports are numbers and names.
	ports []string
}

type configMapFact struct {
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
		r := factReader{facts: &f, object: o, patchedOnly: own}
		r.readObject()
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

// factReader takes the facts of one object.
type factReader struct {
	facts       *Facts
	object      *object.Object
	patchedOnly bool
}

// isJudged reports whether a value is one whose names are judged.
func (r factReader) isJudged(n *object.Node) bool {
	return n != nil && (!r.patchedOnly || n.From != nil && n.From.Kind == origin.Patched)
}

// placeOf is where a value comes from.
func (r factReader) placeOf(n *object.Node) source.Span {
	if n != nil && n.From != nil && !n.From.At.IsZero() {
		return n.From.At
	}
	if at := r.object.PatchSpan(n); !at.IsZero() {
		return at
	}
	return r.object.Origin
}

// noteName notes that a value names an object.
func (r factReader) noteName(n *object.Node, group, kind, namespace string, how nameScope, without string) {
	r.noteNameOfPart(n, nil, objectName{of: object.ID{Group: group, Kind: kind, Namespace: namespace}, reach: how, without: without})
}

// noteNameOfPart notes that a value names an object, and another one a part of it.
func (r factReader) noteNameOfPart(n, part *object.Node, what objectName) {
	if n == nil || n.Text == "" || !r.isJudged(n) && !r.isJudged(part) {
		return
	}
	what.by, what.of.Name, what.at, what.partAt = r.object.ID, n.Text, r.placeOf(n), r.placeOf(cmp.Or(part, n))
	r.facts.named = append(r.facts.named, what)
}
