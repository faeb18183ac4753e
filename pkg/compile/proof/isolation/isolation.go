// Package isolation proves from the emitted NetworkPolicies and Namespaces of a cluster that tenants are separate:
//
//   - every namespace of a tenant is closed in both directions, for all pods;
//   - no pod of a tenant can speak with a pod of another one;
//   - what is open is what the tenant's spec opens, nothing more and nothing less, and DNS is among it;
//   - no range of addresses that a tenant may reach holds the cluster's own.
//
// The flow is FactsOf, unit by unit, Add, cluster by cluster, and Prove. Facts are small and do not hold objects.
//
// It is set arithmetic, not a sample: people of a tenant give their pods the labels that they like, so that a pod stands for all
// labels that it could have, and a selector for the set of pods that it selects. What is unknown counts as open: namespaces that
// the compiler does not make, the number behind the name of a port. Policies of other kinds (AdminNetworkPolicy, those of network
// plugins) are not looked at.
//
// Most tenants are closed and opened alike. What policies mean is computed once for each set of policies that differs.
package isolation

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// nameLabel is on every namespace, and nobody but the API server can set it.
const nameLabel = corev1.LabelMetadataName

// Facts are what the proof must know of the objects of a unit.
type Facts struct {
	namespaces          []namespaceFact
	policies            []policyFact
	hostNetworkRefusals []hostNetworkRefusal
}

type namespaceFact struct {
	name   string
	labels map[string]string
	// patch is the place of the patch that changed the labels, or nowhere.
	patch source.Span
}

type policyFact struct {
	namespace, name string
	spec            *policySpec
	// text is equal for specs that mean the same.
	text string
	// bad says that the spec is not understood.
	bad bool
	// at is the place of the spec, or of the patch that changed the policy; patch is nowhere where none did.
	at, patch source.Span
	// places has the place of each rule.
	places []source.Span
}

// FactsOf returns the facts of objects.
func FactsOf(objects []object.Object) Facts {
	var f Facts
	for i := range objects {
		switch o := &objects[i]; {
		case o.ID.Kind == "Namespace" && o.ID.Group == "":
			f.namespaces = append(f.namespaces, readNamespace(o))
		case o.ID.Kind == "NetworkPolicy" && o.ID.Group == "networking.k8s.io":
			f.policies = append(f.policies, readPolicy(o))
		case o.ID.Group == admission:
			if g, is := readHostNetworkRefusal(o); is {
				f.hostNetworkRefusals = append(f.hostNetworkRefusals, g)
			}
		}
	}
	return f
}

func readNamespace(o *object.Object) namespaceFact {
	f := namespaceFact{name: o.ID.Name, labels: map[string]string{}}
	if own := o.Root.At("metadata", "labels"); own != nil {
		for i := range own.Children {
			f.labels[own.Children[i].Key] = own.Children[i].Text
		}
	}
	f.labels[nameLabel] = o.ID.Name
	f.patch = o.PatchSpan(o.Root.At("metadata", "labels"))
	return f
}

func readPolicy(o *object.Object) policyFact {
	s, ok := readSpec(o.Root.Get("spec"))
	f := policyFact{namespace: o.ID.Namespace, name: o.ID.Name, spec: s, bad: !ok, at: o.Origin, patch: o.PatchSpan(o.Root.Get("spec"))}
	if !f.patch.IsZero() {
		f.at = f.patch
	}
	if ok {
		var buffer [512]byte
		f.text = string(s.append(buffer[:0]))
		f.places = rulePlaces(o, s)
	}
	return f
}

// Cluster is the facts of a cluster. The zero Cluster is empty and ready.
type Cluster struct {
	namespaces          map[string]*namespace
	specs               map[string]*numberedSpec
	effectivePolicies   map[string]*effectivePolicy
	selections          map[string][]*namespace
	bad                 []policyFact
	hostNetworkRefusals []hostNetworkRefusal
	removed             object.Removals
}

// AddRemoved adds what patches removed: where something is missing, they are the cause.
func (c *Cluster) AddRemoved(objects object.Removals) { c.removed = c.removed.Join(objects) }

// numberedSpec is a spec that several policies may share.
type numberedSpec struct {
	*policySpec
	number int
}

type namespace struct {
	name string
	// labels are only the name where the namespace is not compiled.
	labels   map[string]string
	compiled bool
	// policies are sorted by the number of their spec.
	policies  []policy
	effective *effectivePolicy
	// patch is the place of the first patch that changed its labels or one of its policies, or nowhere.
	patch source.Span
	// tenant is the number of the tenant that owns it, or -1.
	tenant int
}

type policy struct {
	name   string
	spec   *numberedSpec
	at     source.Span
	places []source.Span
}

// Add adds the facts of a unit.
func (c *Cluster) Add(f Facts) {
	for _, n := range f.namespaces {
		// A second one with the name is reported elsewhere.
		if known := c.namespace(n.name); !known.compiled {
			known.labels, known.compiled = n.labels, true
			known.notePatch(n.patch)
		}
	}
	c.hostNetworkRefusals = append(c.hostNetworkRefusals, f.hostNetworkRefusals...)
	for _, p := range f.policies {
		n := c.namespace(p.namespace)
		n.notePatch(p.patch)
		if p.bad {
			c.bad = append(c.bad, p)
			continue
		}
		n.policies = append(n.policies, policy{name: p.name, spec: c.numberSpec(p), at: p.at, places: p.places})
	}
}

func (n *namespace) notePatch(at source.Span) {
	if n.patch.IsZero() || !at.IsZero() && at.Before(n.patch) {
		n.patch = at
	}
}

func (c *Cluster) namespace(name string) *namespace {
	if c.namespaces == nil {
		c.namespaces = map[string]*namespace{}
	}
	n := c.namespaces[name]
	if n == nil {
		n = &namespace{name: name, labels: map[string]string{nameLabel: name}, tenant: noTenant}
		c.namespaces[name] = n
	}
	return n
}

func (c *Cluster) numberSpec(p policyFact) *numberedSpec {
	if c.specs == nil {
		c.specs = map[string]*numberedSpec{}
	}
	known := c.specs[p.text]
	if known == nil {
		known = &numberedSpec{policySpec: p.spec, number: len(c.specs)}
		c.specs[p.text] = known
	}
	return known
}

// sortedNamespaces returns the namespaces by name.
func (c *Cluster) sortedNamespaces() []*namespace {
	return slices.SortedFunc(maps.Values(c.namespaces), func(a, b *namespace) int {
		return strings.Compare(a.name, b.name)
	})
}
