// Package enforced proves that patches leave alone what the compiler relies on in the cluster itself:
//
//   - the admission policies and the bindings that switch them on, and OpenShift's security context constraints, are as they were
//     compiled;
//   - namespaces of tenants keep the labels and annotations by which these policies, and Pod Security, know what to refuse;
//   - what the GitOps engine applies comes from where the spec says, and for a tenant with the tenant's rights;
//   - accounts of jobs get no token, and what is compiled stays marked as such, so that people cannot change it;
//   - pods of runtimes are such that the namespaces of the tenants that use them admit them, and pods of all other objects such that
//     the namespace that they go to does.
//
// It compares what is emitted with what was lowered: whether another policy enforces as much cannot be decided, so that every
// difference is a finding, which the spec of the cluster may accept. Quotas, limits and queues are compared with the plan by package
// capacity, network policies by isolation, roles by access.
//
// Prove is for one unit, and costs nothing where no patch touched an object. Which pods a namespace refuses is only known of the whole
// cluster: FactsOf, unit by unit, Workloads.Add and Workloads.Prove.
package enforced

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/source"
)

const (
	admission = "admissionregistration.k8s.io"
	openShift = "security.openshift.io"
	// managedByLabel marks what is compiled: an admission policy keeps people from changing it.
	managedByLabel = "app.kubernetes.io/managed-by"
)

// Prove reports what patches weakened in the objects of a unit that were lowered for a cluster, and runtimes whose pods nobody admits.
// Removed says which objects patches removed, and where.
func Prove(c *plan.Cluster, lowered, emitted []object.Object, removed object.Removals, list *diag.List) {
	p := proof{plan: c, list: list, before: make(map[object.ID]*object.Object, len(lowered))}
	for i := range lowered {
		p.before[lowered[i].ID] = &lowered[i]
	}
	for i := range emitted {
		now := &emitted[i]
		if was := p.before[now.ID]; was != nil && !isUntouched(was, now) {
			p.compareKeptParts(was, now)
			p.checkPodsAdmitted(now)
		}
		delete(p.before, now.ID)
	}
	for i := range lowered {
		if id := lowered[i].ID; p.before[id] != nil && isEnforcing(id) {
			list.Errorf(diag.EnforcementWeakened, patchOrOrigin(removed[id], &lowered[i]), "a patch removes %s: %s", id, whatIsLost[id.Kind]).
				Helpf("remove the patch, or write a waiver into the spec of the cluster")
		}
	}
}

type proof struct {
	plan *plan.Cluster
	list *diag.List
	// before are the objects as they were lowered.
	before map[object.ID]*object.Object
}

// isUntouched says that a patch cannot have changed an object: it still has the values that were lowered.
func isUntouched(was, now *object.Object) bool {
	a, b := was.Root.Children, now.Root.Children
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// isEnforcing reports whether the cluster refuses something because an object is there.
func isEnforcing(id object.ID) bool {
	return id.Group == admission || id.Group == openShift && id.Kind == "SecurityContextConstraints"
}

// whatIsLost says what goes with an object of a kind.
var whatIsLost = map[string]string{
	"ValidatingAdmissionPolicy":        "the API server no longer refuses what it is for",
	"ValidatingAdmissionPolicyBinding": "without it the policy of that name does nothing",
	"MutatingAdmissionPolicy":          "jobs are found by their label only once the controller has written it",
	"MutatingAdmissionPolicyBinding":   "without it the policy of that name does nothing",
	"SecurityContextConstraints":       "what pods of jobs may do to their machine is decided by others",
}

// compareKeptParts reports each kept part of an object that is not as it was.
func (p *proof) compareKeptParts(was, now *object.Object) {
	for _, path := range keptPaths(was, now) {
		where, different := firstDifference(was.Root.At(path...), now.Root.At(path...))
		if different {
			path = append(path, where...)
			p.list.Errorf(diag.EnforcementWeakened, patchOrOrigin(now.PatchSpan(now.Root.At(path...)), now), "a patch changes `%s` of %s: %s", object.SpellPath(path), now.ID, whyEnforced(now.ID)).
				Helpf("change the spec that it follows from, remove the patch, or write a waiver into the spec of the cluster")
		}
	}
}

// wiringPaths is what the objects of a GitOps engine say about where objects come from and with whose rights they are applied.
var wiringPaths = map[string][][]string{
	"Kustomization": {
		{"spec", "serviceAccountName"}, {"spec", "sourceRef"}, {"spec", "path"}, {"spec", "kubeConfig"}, {"spec", "targetNamespace"}, {"spec", "namePrefix"}, {"spec", "nameSuffix"},
		// What is made of the compiled objects afterwards is proven by nobody.
		{"spec", "patches"}, {"spec", "postBuild"}, {"spec", "images"}, {"spec", "components"},
	},
	"GitRepository": {{"spec", "url"}, {"spec", "ref"}},
	"AppProject":    {{"spec"}},
	"Application":   {{"spec", "project"}, {"spec", "source"}, {"spec", "destination"}},
}

// keptPaths returns the paths below which an object must stay as it was lowered.
func keptPaths(was, now *object.Object) [][]string {
	var paths [][]string
	entries := func(path []string, prefixes ...string) {
		for _, key := range sortedKeys(was.Root.At(path...), now.Root.At(path...)) {
			if slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
				paths = append(paths, append(slices.Clone(path), key))
			}
		}
	}
	labels := []string{"metadata", "labels"}
	switch {
	case isEnforcing(now.ID):
		for _, key := range sortedKeys(&was.Root, &now.Root) {
			if key != "metadata" {
				paths = append(paths, []string{key})
			}
		}
	case wiringPaths[now.ID.Kind] != nil:
		paths = append(paths, wiringPaths[now.ID.Kind]...)
	case now.ID.Kind == "ServiceAccount":
		paths = append(paths, []string{"automountServiceAccountToken"})
	case now.ID.Kind == "Namespace":
		entries(labels, "pod-security.kubernetes.io/")
		entries([]string{"metadata", "annotations"}, "lockstep.dev/")
	}
	entries(labels, managedByLabel, "lockstep.dev/")
	return paths
}

// sortedKeys returns those of two maps, sorted, each once.
func sortedKeys(maps ...*object.Node) []string {
	var all []string
	for _, m := range maps {
		for i := 0; m != nil && i < len(m.Children); i++ {
			all = append(all, m.Children[i].Key)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// firstDifference returns the path of the first value in which two trees differ.
func firstDifference(was, now *object.Node) (path []string, different bool) {
	switch {
	case was == nil || now == nil:
		return nil, was != now
	case was.Kind != now.Kind || was.Text != now.Text || was.Kind == object.ListNode && len(was.Children) != len(now.Children):
		return nil, true
	case was.Kind == object.ListNode:
		for i := range was.Children {
			if _, different := firstDifference(&was.Children[i], &now.Children[i]); different {
				return nil, true
			}
		}
	case was.Kind == object.MapNode:
		for _, key := range sortedKeys(was, now) {
			if below, different := firstDifference(was.Get(key), now.Get(key)); different {
				return append([]string{key}, below...), true
			}
		}
	}
	return nil, false
}

// whyEnforced says what depends on an object of a kind.
func whyEnforced(id object.ID) string {
	switch {
	case isEnforcing(id):
		return "what the cluster refuses is no longer what was compiled"
	case id.Kind == "ServiceAccount":
		return "accounts of jobs talk to nobody, and a token would be in each of their pods"
	case wiringPaths[id.Kind] != nil:
		return "what is applied to the cluster, and with whose rights, is decided by it"
	case id.Kind == "Namespace":
		return "by this the cluster knows what to refuse there"
	}
	return "by this the cluster knows whose it is, and that people must not change it"
}

func patchOrOrigin(patch source.Span, o *object.Object) source.Span {
	if patch.IsZero() {
		return o.Origin
	}
	return patch
}
