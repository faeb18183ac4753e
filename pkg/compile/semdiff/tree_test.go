package semdiff_test

import (
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/mpi"
)

// tree is what a state compiles to on one cluster, as plain values: nothing that the review uses reads it.
type tree struct {
	exists     bool
	objects    map[string]map[string]any
	namespaces map[string]map[string]string
	tenants    map[string]bool
	policies   map[string][]map[string]any
	// prunes reports whether a GitOps engine deletes what is no longer compiled.
	prunes bool
}

func treeOf(s compiledState, name string) *tree {
	t := &tree{objects: map[string]map[string]any{}, namespaces: map[string]map[string]string{}, tenants: map[string]bool{}, policies: map[string][]map[string]any{}}
	for unit, objects := range s.units {
		if cluster(unit) != name {
			continue
		}
		t.exists = true
		for i := range objects {
			o := &objects[i]
			value := o.Root.Value().(map[string]any)
			t.objects[o.ID.String()] = value
			labels := texts(at(value, "metadata", "labels"))
			switch o.ID.Kind {
			case "Namespace":
				labels["kubernetes.io/metadata.name"] = o.ID.Name
				t.namespaces[o.ID.Name] = labels
				t.tenants[labels[mpi.TenantLabel]] = true
			case "NetworkPolicy":
				spec, _ := at(value, "spec").(map[string]any)
				t.policies[o.ID.Namespace] = append(t.policies[o.ID.Namespace], spec)
			case "Kustomization", "Application":
				t.prunes = true
			}
		}
	}
	return t
}

// of is an object of a report in the state, whatever it is called in the other one.
func (t *tree) of(o *object.Object) map[string]any {
	if o == nil {
		return nil
	}
	return t.objects[o.ID.String()]
}

// deletes reports whether the engine deletes an object of the state that a later one does not have.
func (t *tree) deletes(id string, later *tree) bool {
	annotations := at(t.objects[id], "metadata", "annotations")
	kept := at(annotations, "kustomize.toolkit.fluxcd.io/prune") == "disabled" ||
		strings.Contains(fmt.Sprint(at(annotations, "argocd.argoproj.io/sync-options")), "Prune=false")
	return t.prunes && later.prunes && !kept
}

// takesAlong reports whether an object is a stage of an engine that a later state does not have, and that deletes what it applied when it goes.
func (t *tree) takesAlong(id string, later *tree) bool {
	spec := at(t.objects[id], "spec")
	flux := strings.HasPrefix(id, "Kustomization.") && at(spec, "prune") == true && at(spec, "deletionPolicy") != "Orphan"
	argo := strings.HasPrefix(id, "Application.") && strings.Contains(fmt.Sprint(at(t.objects[id], "metadata", "finalizers")), "resources-finalizer.argocd.argoproj.io")
	return later.objects[id] == nil && (flux || argo)
}

// withLeft adds the policies, roles and bindings of a state before that nobody deletes: they stay on the cluster, with what they do.
func (t *tree) withLeft(before *tree) *tree {
	all := *t
	all.objects, all.policies = maps.Clone(t.objects), map[string][]map[string]any{}
	for namespace, own := range t.policies {
		all.policies[namespace] = slices.Clone(own)
	}
	for id, o := range before.objects {
		if t.objects[id] != nil || before.deletes(id, t) {
			continue
		}
		switch kind, name, _ := strings.Cut(id, " "); {
		case kind == "NetworkPolicy.networking.k8s.io":
			namespace, _, _ := strings.Cut(name, "/")
			spec, _ := at(o, "spec").(map[string]any)
			all.policies[namespace] = append(all.policies[namespace], spec)
		case strings.HasSuffix(kind, ".rbac.authorization.k8s.io"):
			all.objects[id] = o
		}
	}
	return &all
}

// at walks down maps.
func at(value any, path ...string) any {
	for _, key := range path {
		entries, _ := value.(map[string]any)
		value = entries[key]
	}
	return value
}

func list(value any) []any { found, _ := value.([]any); return found }

func texts(value any) map[string]string {
	found := map[string]string{}
	entries, _ := value.(map[string]any)
	for key, v := range entries {
		found[key] = fmt.Sprint(v)
	}
	return found
}

func words(value any) []string {
	var found []string
	for _, item := range list(value) {
		found = append(found, fmt.Sprint(item))
	}
	return found
}

// right is one verb on one resource; an empty name is all.
type right struct{ verb, group, resource, name string }

func (r right) covers(other right) bool {
	has := func(own, other string) bool { return own == other || own == "*" }
	return has(r.verb, other.verb) && has(r.group, other.group) && has(r.resource, other.resource) && (r.name == "" || r.name == other.name)
}

// beyond are the rights that others do not cover.
func beyond(rights, others []right) []right {
	var found []right
	for _, r := range rights {
		if !slices.ContainsFunc(others, func(o right) bool { return o.covers(r) }) {
			found = append(found, r)
		}
	}
	return found
}

// rights are those of each subject, in each namespace, with those that it has everywhere, and everywhere: `Group a in b`, `Group a everywhere`.
func (t *tree) rights() map[string][]right {
	own := map[string][]right{}
	for id, binding := range t.objects {
		kind, _, _ := strings.Cut(id, ".")
		if kind != "RoleBinding" && kind != "ClusterRoleBinding" {
			continue
		}
		namespace := fmt.Sprint(at(binding, "metadata", "namespace"))
		granted := t.rules(fmt.Sprint(at(binding, "roleRef", "kind")), namespace, fmt.Sprint(at(binding, "roleRef", "name")))
		for _, s := range list(at(binding, "subjects")) {
			who := fmt.Sprint(at(s, "kind"), " ", at(s, "name"))
			if own := at(s, "namespace"); own != nil {
				who = fmt.Sprint(at(s, "kind"), " ", own, "/", at(s, "name"))
			}
			where := " everywhere"
			if kind == "RoleBinding" {
				where = " in " + namespace
			}
			own[who+where] = append(own[who+where], granted...)
		}
	}
	for key := range own {
		if who, _, in := strings.Cut(key, " in "); in {
			own[key] = slices.Concat(own[key], own[who+" everywhere"])
		}
	}
	return own
}

func (t *tree) rules(kind, namespace, name string) []right {
	id := "ClusterRole.rbac.authorization.k8s.io " + name
	if kind == "Role" {
		id = "Role.rbac.authorization.k8s.io " + namespace + "/" + name
	}
	role := t.objects[id]
	if role == nil {
		return []right{{verb: "have", resource: id}}
	}
	var all []right
	for _, r := range list(role["rules"]) {
		names := words(at(r, "resourceNames"))
		if len(names) == 0 {
			names = []string{""}
		}
		for _, verb := range words(at(r, "verbs")) {
			for _, group := range words(at(r, "apiGroups")) {
				for _, kind := range words(at(r, "resources")) {
					for _, name := range names {
						all = append(all, right{verb, group, kind, name})
					}
				}
			}
			for _, path := range words(at(r, "nonResourceURLs")) {
				all = append(all, right{verb: verb, resource: path})
			}
		}
	}
	return all
}

// hardDifference reports whether some amount of a ResourceQuota grows, and some shrinks. What is not bounded is more than any amount.
func hardDifference(before, after map[string]any) (grown, shrunk bool) {
	was, is := texts(at(before, "spec", "hard")), texts(at(after, "spec", "hard"))
	for key, amount := range is {
		if old, bound := was[key]; !bound {
			shrunk = true
		} else {
			a, b := resource.MustParse(old), resource.MustParse(amount)
			grown, shrunk = grown || a.Cmp(b) < 0, shrunk || a.Cmp(b) > 0
		}
	}
	for key := range was {
		grown = grown || is[key] == ""
	}
	return grown, shrunk
}

// guaranteed is what a ClusterQueue guarantees of a resource, of one profile or of all.
func (t *tree) guaranteed(queue *object.Object, name, profile string) resource.Quantity {
	var sum resource.Quantity
	for _, group := range list(at(t.of(queue), "spec", "resourceGroups")) {
		for _, flavor := range list(at(group, "flavors")) {
			if profile != "" && !slices.Contains(strings.FieldsFunc(profile, func(r rune) bool { return r == ',' || r == ' ' }), fmt.Sprint(at(flavor, "name"))) {
				continue
			}
			for _, r := range list(at(flavor, "resources")) {
				if fmt.Sprint(at(r, "name")) == name {
					sum.Add(resource.MustParse(fmt.Sprint(at(r, "nominalQuota"))))
				}
			}
		}
	}
	return sum
}

// volumes are the claims of a namespace.
func (t *tree) volumes(namespace string) []string {
	var names []string
	for id := range t.objects {
		if strings.HasPrefix(id, "PersistentVolumeClaim "+namespace+"/") {
			names = append(names, id)
		}
	}
	return names
}

// packetBeyond is a packet that this state lets through for pods of a namespace and another one does not, or "". The sample has the
// addresses at which ranges of either state begin and end, and pods of all namespaces.
func (t *tree) packetBeyond(other *tree, namespace string, ingress bool) string {
	if reflect.DeepEqual(t.policies[namespace], other.policies[namespace]) && reflect.DeepEqual(t.namespaces, other.namespaces) {
		return ""
	}
	ends, ports := t.sample(other, namespace), t.ports(other, namespace)
	has := other.namespaces[namespace] != nil // pods of a namespace that is not there send and get nothing
	for _, pod := range podsOfSample {
		for _, end := range ends {
			for _, port := range ports {
				if t.admits(namespace, pod, end, port, ingress) && (!has || !other.admits(namespace, pod, end, port, ingress)) {
					return fmt.Sprintf("%v at %v for pods %v, ingress %t", port, end, pod, ingress)
				}
			}
		}
	}
	return ""
}

// podsOfSample are pods of each kind that compiled policies tell apart.
var podsOfSample = []map[string]string{
	{}, {"k8s-app": "kube-dns"}, {mpi.JobSetNameLabel: "a"}, {mpi.JobSetNameLabel: "a", mpi.ImplementationLabel: "OpenMPI"},
}

// packetEnd is the other end: an address, or a pod of a namespace.
type packetEnd struct {
	address   netip.Addr
	namespace string
	labels    map[string]string
}

// packetPort is a port of a protocol.
type packetPort struct {
	protocol string
	number   int
}

func (t *tree) sample(other *tree, namespace string) []packetEnd {
	var ends []packetEnd
	for _, state := range []*tree{t, other} {
		for _, spec := range state.policies[namespace] {
			for _, cidr := range cidrsOf(spec) {
				p := netip.MustParsePrefix(cidr)
				for _, a := range []netip.Addr{p.Masked().Addr(), p.Masked().Addr().Prev(), lastOf(p), lastOf(p).Next()} {
					if a.IsValid() {
						ends = append(ends, packetEnd{address: a})
					}
				}
			}
		}
		for name := range state.namespaces {
			for _, pod := range podsOfSample {
				ends = append(ends, packetEnd{namespace: name, labels: pod})
			}
		}
	}
	for _, name := range []string{"kube-system", "openshift-dns", "elsewhere"} {
		for _, pod := range podsOfSample {
			ends = append(ends, packetEnd{namespace: name, labels: pod})
		}
	}
	return append(ends, packetEnd{address: netip.MustParseAddr("8.8.8.8")}, packetEnd{address: netip.MustParseAddr("10.99.0.1")}, packetEnd{address: netip.MustParseAddr("2a00::1")})
}

// lastOf is the last address of a range.
func lastOf(p netip.Prefix) netip.Addr {
	bytes := p.Masked().Addr().AsSlice()
	for bit := p.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 1 << (7 - bit%8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}

// ports are those that policies of a namespace name, and one that none does.
func (t *tree) ports(other *tree, namespace string) []packetPort {
	found := []packetPort{{"TCP", 1}, {"UDP", 1}}
	for _, state := range []*tree{t, other} {
		for _, spec := range state.policies[namespace] {
			for _, direction := range []string{"egress", "ingress"} {
				for _, r := range list(spec[direction]) {
					for _, p := range list(at(r, "ports")) {
						for _, key := range []string{"port", "endPort"} {
							if number, err := strconv.Atoi(fmt.Sprint(at(p, key))); err == nil {
								port := packetPort{"TCP", number}
								if protocol := at(p, "protocol"); protocol != nil {
									port.protocol = fmt.Sprint(protocol)
								}
								if !slices.Contains(found, port) {
									found = append(found, port)
								}
							}
						}
					}
				}
			}
		}
	}
	return found
}

func cidrsOf(value any) []string {
	var found []string
	switch v := value.(type) {
	case map[string]any:
		if cidr, is := v["cidr"].(string); is {
			found = append(found, cidr)
			found = append(found, words(v["except"])...)
		}
		for _, child := range v {
			found = append(found, cidrsOf(child)...)
		}
	case []any:
		for _, child := range v {
			found = append(found, cidrsOf(child)...)
		}
	}
	return found
}

// admits judges a packet as https://kubernetes.io/docs/concepts/services-networking/network-policies/ describes it.
func (t *tree) admits(namespace string, pod map[string]string, end packetEnd, port packetPort, ingress bool) bool {
	direction, rules, peers := "Egress", "egress", "to"
	if ingress {
		direction, rules, peers = "Ingress", "ingress", "from"
	}
	isolated := false
	for _, spec := range t.policies[namespace] {
		if !slices.Contains(words(spec["policyTypes"]), direction) || !selects(spec["podSelector"], pod) {
			continue
		}
		isolated = true
		for _, r := range list(spec[rules]) {
			isPeer := func(p any) bool { return t.isPeer(namespace, p, end) }
			isPort := func(p any) bool { return isPort(p, port) }
			others, ports := list(at(r, peers)), list(at(r, "ports"))
			if (len(others) == 0 || slices.ContainsFunc(others, isPeer)) && (len(ports) == 0 || slices.ContainsFunc(ports, isPort)) {
				return true
			}
		}
	}
	return !isolated
}

func (t *tree) isPeer(namespace string, peer any, end packetEnd) bool {
	if block := at(peer, "ipBlock"); block != nil {
		inside := func(cidr string) bool { return netip.MustParsePrefix(cidr).Contains(end.address) }
		return end.namespace == "" && inside(fmt.Sprint(at(block, "cidr"))) && !slices.ContainsFunc(words(at(block, "except")), inside)
	}
	if end.namespace == "" || !selects(at(peer, "podSelector"), end.labels) {
		return false
	}
	entries, _ := peer.(map[string]any)
	selector, has := entries["namespaceSelector"]
	if !has {
		return end.namespace == namespace
	}
	labels := t.namespaces[end.namespace]
	if labels == nil {
		labels = map[string]string{"kubernetes.io/metadata.name": end.namespace}
	}
	return selects(selector, labels)
}

func isPort(p any, port packetPort) bool {
	protocol := "TCP"
	if own := at(p, "protocol"); own != nil {
		protocol = fmt.Sprint(own)
	}
	first, err := strconv.Atoi(fmt.Sprint(at(p, "port")))
	last, no := strconv.Atoi(fmt.Sprint(at(p, "endPort")))
	if no != nil {
		last = first
	}
	return protocol == port.protocol && (err != nil || first <= port.number && port.number <= last)
}

func selects(selector any, labels map[string]string) bool {
	for key, value := range texts(at(selector, "matchLabels")) {
		if own, has := labels[key]; !has || own != value {
			return false
		}
	}
	for _, e := range list(at(selector, "matchExpressions")) {
		value, has := labels[fmt.Sprint(at(e, "key"))]
		listed := has && slices.Contains(words(at(e, "values")), value)
		if !map[string]bool{"In": listed, "NotIn": !listed, "Exists": has, "DoesNotExist": !has}[fmt.Sprint(at(e, "operator"))] {
			return false
		}
	}
	return true
}
