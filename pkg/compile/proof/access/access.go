// Package access proves from the emitted roles and bindings of a cluster what people and accounts of tenants may do:
//
//   - in the namespaces of their tenant exactly what their role promises: nothing more, and nothing less;
//   - outside of them nothing but read the catalog;
//   - nobody else has rights in a namespace of a tenant, but mpi-controller and what applies the tenant's objects;
//   - nobody else has rights elsewhere that lead into namespaces of tenants, but components, and the GitOps engine by name;
//   - the roles of mpi-controller are mpi-controller's alone, and it has no others;
//   - no role adds to the roles of the platform (view, edit, admin) what people of tenants must not have.
//
// The flow is FactsOf, unit by unit, Add, cluster by cluster, and Prove. The closure is that of Kubernetes' RBAC
// (https://kubernetes.io/docs/reference/access-authn-authz/rbac/): rules add up, ClusterRoles aggregate by labels, a binding in a
// namespace holds there. What roles promise is written down here a second time, in expected_rights.go: a mistake in package lower is one that
// both would have to make. What is decided elsewhere (admission policies, OpenShift's projects) only takes away, and is not looked at.
package access

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/proof/labels"
	"lockstep.dev/lockstep/pkg/compile/source"
)

const rbacGroup = "rbac.authorization.k8s.io"

// Facts are what the proof must know of the objects of a unit.
type Facts struct {
	roles    []*role
	bindings []*binding
	accounts []Subject
}

// ForOtherCluster returns the facts for another cluster that has the same objects. They share what a cluster does not change.
func (f Facts) ForOtherCluster() Facts {
	roles := make([]*role, len(f.roles))
	for i, r := range f.roles {
		another := *r
		roles[i] = &another
	}
	f.roles = roles
	return f
}

// roleRef names a Role of a namespace, or a ClusterRole, whose namespace is "".
type roleRef struct{ namespace, name string }

func (r roleRef) kind() string {
	if r.namespace == "" {
		return "ClusterRole"
	}
	return "Role"
}

type role struct {
	roleRef
	labels map[string]string
	rules  []Rule
	// aggregates selects the ClusterRoles whose rules are the role's own.
	aggregates []labels.Selector
	// fixed is how many rules stay when others are added: what a manifest of such a role says itself the API server throws away, but
	// what is known of the platform's roles holds.
	fixed int
	// platform says that every cluster has the role, replaces that an object has the name of one that every cluster has.
	platform, replaces bool
	// bad says that the selectors are not understood.
	bad bool
	// at is the place of the spec, or of the patch that changed what the role allows; patch is nowhere where none did.
	at, patch source.Span
	// rights are computed once, when somebody asks.
	rights []Right
	number int
}

// Subject is somebody: a User, a Group or a ServiceAccount, which has a namespace.
type Subject = plan.Subject

// The kinds of a Subject.
const (
	group          = plan.GroupKind
	user           = plan.UserKind
	serviceAccount = plan.ServiceAccountKind
)

type binding struct {
	// namespace is "" for the whole cluster.
	namespace, name string
	role            roleRef
	subjects        []Subject
	// places are those of the subjects, or of the patch that changed them or the role.
	places []source.Span
	// patch is the place of the patch that changed the binding, or nowhere.
	patch source.Span
	// rendered says that the binding comes from a chart.
	rendered bool
}

// FactsOf returns the facts of objects.
func FactsOf(objects []object.Object) Facts {
	var f Facts
	for i := range objects {
		o := &objects[i]
		switch {
		case o.ID.Kind == serviceAccount && o.ID.Group == "":
			f.accounts = append(f.accounts, Subject{Kind: serviceAccount, Namespace: o.ID.Namespace, Name: o.ID.Name})
		case o.ID.Group != rbacGroup:
		case o.ID.Kind == "Role" || o.ID.Kind == "ClusterRole":
			f.roles = append(f.roles, readRole(o))
		case o.ID.Kind == "RoleBinding" || o.ID.Kind == "ClusterRoleBinding":
			f.bindings = append(f.bindings, readBinding(o))
		}
	}
	return f
}

func readRole(o *object.Object) *role {
	r := &role{roleRef: roleRef{o.ID.Namespace, o.ID.Name}, labels: map[string]string{}, rules: readRules(o.Root.Get("rules")), at: o.Origin,
		patch: o.PatchSpan(o.Root.Get("rules"), o.Root.Get("aggregationRule"), o.Root.At("metadata", "labels"))}
	if !r.patch.IsZero() {
		r.at = r.patch
	}
	if own := o.Root.At("metadata", "labels"); own != nil {
		for i := range own.Children {
			r.labels[own.Children[i].Key] = own.Children[i].Text
		}
	}
	if selectors := o.Root.At("aggregationRule", "clusterRoleSelectors"); selectors != nil {
		for i := range selectors.Children {
			s, ok := labels.ReadSelector(&selectors.Children[i])
			r.aggregates, r.bad = append(r.aggregates, s), r.bad || !ok
		}
	}
	return r
}

func readBinding(o *object.Object) *binding {
	b := &binding{namespace: o.ID.Namespace, name: o.ID.Name, patch: o.PatchSpan(o.Root.Get("roleRef"), o.Root.Get("subjects")), rendered: o.Rule != nil && o.Rule.Kind == origin.Rendered}
	if ref := o.Root.Get("roleRef"); ref != nil {
		switch name := ref.Scalar("name"); ref.Scalar("kind") {
		case "Role":
			b.role = roleRef{b.namespace, name}
		case "ClusterRole":
			b.role = roleRef{"", name}
		}
	}
	subjects := o.Root.Get("subjects")
	for i := 0; subjects != nil && i < len(subjects.Children); i++ {
		s := &subjects.Children[i]
		b.subjects = append(b.subjects, subjectOf(s.Scalar("kind"), s.Scalar("namespace"), s.Scalar("name")))
		b.places = append(b.places, subjectPlace(o, s))
	}
	return b
}

// subjectOf names a service account as one where a binding names its user.
func subjectOf(kind, namespace, name string) Subject {
	if account, is := strings.CutPrefix(name, "system:serviceaccount:"); is && kind == user {
		if namespace, name, both := strings.Cut(account, ":"); both {
			return Subject{Kind: serviceAccount, Namespace: namespace, Name: name}
		}
	}
	return Subject{Kind: kind, Namespace: namespace, Name: name}
}

// subjectPlace is where a patch changed who has which role, else where a spec names a subject, or the spec that the binding is made for.
func subjectPlace(o *object.Object, subject *object.Node) source.Span {
	if at := o.WritingPatchSpan(subject, o.Root.Get("roleRef")); !at.IsZero() {
		return at
	}
	if n := subject.Get("name"); n != nil && n.From != nil && n.From.Kind != origin.Rendered && !n.From.At.IsZero() {
		return n.From.At
	}
	return o.Origin
}

// Cluster is the facts of a cluster. The zero Cluster is empty and ready.
type Cluster struct {
	roles    map[roleRef]*role
	bindings []*binding
	accounts []Subject
	removed  object.Removals
}

// AddRemoved adds what patches removed: where something is missing, they are the cause.
func (c *Cluster) AddRemoved(objects object.Removals) { c.removed = c.removed.Join(objects) }

// Add adds the facts of a unit.
func (c *Cluster) Add(f Facts) {
	if c.roles == nil {
		c.roles = map[roleRef]*role{}
	}
	for _, r := range f.roles {
		// A second one with the name is reported elsewhere.
		if c.roles[r.roleRef] == nil {
			r.number = len(c.roles)
			c.roles[r.roleRef] = r
		}
	}
	c.bindings = append(c.bindings, f.bindings...)
	c.accounts = append(c.accounts, f.accounts...)
}

// aggregateRoles gives roles the rules of those that they select, and the platform's roles those that name them by label.
func (c *Cluster) aggregateRoles() {
	for _, known := range platformRoles() {
		own := c.roles[known.roleRef]
		if own == nil {
			known.number, known.fixed, known.platform = len(c.roles), len(known.rules), true
			c.roles[known.roleRef] = known
			continue
		}
		// The API server keeps what it has, whatever a manifest says.
		own.replaces = true
		own.rules, own.aggregates = append(own.rules, known.rules...), known.aggregates
		own.fixed = len(own.rules)
	}
	all := c.sortedRoles()
	for changed := true; changed; {
		changed = false
		for _, r := range all {
			changed = r.takeRulesFrom(all) || changed
		}
	}
	for _, r := range all {
		r.rights = rightsOfRules(r.rules)
	}
}

// takeRulesFrom replaces the rules of a role that aggregates, and reports whether that changed them.
func (r *role) takeRulesFrom(all []*role) bool {
	if len(r.aggregates) == 0 {
		return false
	}
	rules := slices.Clone(r.rules[:r.fixed])
	for _, other := range all {
		selected := func(s labels.Selector) bool { return s.Selects(other.labels) }
		if other != r && other.namespace == "" && slices.ContainsFunc(r.aggregates, selected) {
			rules = append(rules, other.rules...)
		}
	}
	rules = distinctRules(rules)
	if len(rules) == len(r.rules) {
		return false
	}
	r.rules = rules
	return true
}

func distinctRules(rules []Rule) []Rule {
	var kept []Rule
	for _, r := range rules {
		if !slices.ContainsFunc(kept, func(k Rule) bool { return k.equal(&r) }) {
			kept = append(kept, r)
		}
	}
	return kept
}

func (r *Rule) equal(other *Rule) bool {
	return slices.Equal(r.Verbs, other.Verbs) && slices.Equal(r.Groups, other.Groups) && slices.Equal(r.Resources, other.Resources) &&
		slices.Equal(r.Names, other.Names) && slices.Equal(r.URLs, other.URLs)
}

// sortedRoles returns the roles by namespace and name.
func (c *Cluster) sortedRoles() []*role {
	return slices.SortedFunc(maps.Values(c.roles), func(a, b *role) int {
		return cmp.Or(strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name))
	})
}
