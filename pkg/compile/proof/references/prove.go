package references

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// prover is the proof of one cluster.
type prover struct {
	cluster *plan.Cluster
	facts   Facts
	exists  map[object.ID]source.Span
	// ours are the namespaces that the bundle makes, and whether it has all that is in them.
	ours map[string]bool
	list *diag.List
}

// Prove reports the names of nothing, and the selectors that select nothing. What exists are all objects of the cluster.
func Prove(c *plan.Cluster, f Facts, exists map[object.ID]source.Span, list *diag.List) {
	if c.Partial || len(f.named)+len(f.selections)+len(f.mentions)+len(f.probes)+len(f.rights)+len(f.idle) == 0 {
		return
	}
	p := prover{cluster: c, facts: f, exists: exists, ours: map[string]bool{}, list: list}
	for id := range exists {
		if id.Kind == "Namespace" && id.Group == "" {
			p.ours[id.Name] = !slices.Contains(f.makers, id.Name)
		}
	}
	for _, t := range c.Tenants {
		for _, n := range t.Namespaces {
			p.ours[n.V] = false
		}
	}
	slipped := map[string]bool{}
	for i := range f.mentions {
		p.reportMistypedNamespace(&f.mentions[i], slipped)
	}
	for i := range f.named {
		p.reportDanglingName(&f.named[i], slipped)
	}
	for i := range f.selections {
		p.reportEmptySelector(&f.selections[i])
	}
	for i := range f.probes {
		p.reportProbePort(&f.probes[i])
	}
	for i := range f.rights {
		p.reportUnknownVerb(&f.rights[i])
	}
	for i := range f.idle {
		p.list.Warnf(diag.SelectsNothing, f.idle[i].at, "%s has rules for `%s` that hold for nothing: its `policyTypes` do not have that direction", f.idle[i].by, f.idle[i].text).
			Helpf("add it to `policyTypes`, or remove the rules")
	}
}

// reportMistypedNamespace reports a name of a namespace that is one letter beside another one, each name once.
func (p *prover) reportMistypedNamespace(m *namespaceMention, slipped map[string]bool) {
	if _, is := p.ours[m.text]; is || p.isKnownNamespace(m.text) || slipped[m.text] {
		return
	}
	meant, found := diag.NearMiss(m.text, slices.Sorted(maps.Keys(p.ours)))
	if !found {
		return
	}
	slipped[m.text] = true
	p.list.Warnf(diag.NamesNothing, m.at, "%s is about the namespace `%s`, which the cluster does not have by this bundle, and `%s` it has", m.by, m.text, meant).
		Helpf("write `%s`, or accept it with a waiver where somebody else makes `%s`", meant, m.text)
}

// isKnownNamespace reports whether a namespace is somebody else's that the specs know of.
func (p *prover) isKnownNamespace(namespace string) bool {
	c := p.cluster
	return namespace == c.DNS.Namespace.V || c.Monitoring != nil && namespace == c.Monitoring.Namespace.V || c.GitOps != nil && namespace == c.GitOps.Namespace.V ||
		namespace == "default" || strings.HasPrefix(namespace, "kube-") || strings.HasPrefix(namespace, "openshift") ||
		slices.ContainsFunc(c.Reserved, func(own plan.Value[string]) bool {
			begin, all := strings.CutSuffix(own.V, "*")
			return namespace == own.V || all && strings.HasPrefix(namespace, begin)
		})
}

// everyNamespace are accounts and ConfigMaps that Kubernetes, or OpenShift, makes in each namespace.
var everyNamespace = []string{"default", "builder", "deployer", "pipeline", "kube-root-ca.crt", "openshift-service-ca.crt"}

// reportDanglingName reports a name of nothing, or of a part that its object does not have.
func (p *prover) reportDanglingName(n *objectName, slipped map[string]bool) {
	if _, found := p.exists[n.of]; found {
		p.reportMissingPart(n)
		return
	}
	if slices.Contains(everyNamespace, n.of.Name) || slipped[n.of.Namespace] || !p.bundleHasAll(n) || n.key != "" {
		return // that the ConfigMap is not there is told by itself
	}
	var names []string
	for id := range p.exists {
		if id.Kind == n.of.Kind && id.Group == n.of.Group && id.Namespace == n.of.Namespace {
			names = append(names, id.Name)
		}
	}
	slices.Sort(names)
	meant, near := diag.Nearest(n.of.Name, names)
	if n.reach == nearMissesOnly {
		if meant, near = diag.NearMiss(n.of.Name, names); !near {
			return
		}
	}
	help := "write the name of one that is there, or bring it, too"
	if near {
		help = fmt.Sprintf("write `%s`, or bring it, too", meant)
	}
	p.list.Warnf(diag.NamesNothing, n.at, "%s names the %s `%s`, and there is none%s", n.by, n.of.Kind, n.of.Name, inNamespaceText(n.of.Namespace)).
		Notef("without it %s", n.without).Helpf("%s", help)
}

func inNamespaceText(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " in `" + namespace + "`"
}

// bundleHasAll reports whether the bundle has all that a name could be of.
func (p *prover) bundleHasAll(n *objectName) bool {
	all, ours := p.ours[n.of.Namespace]
	switch {
	case n.of.Kind == "StorageClass":
		listed := p.cluster.StorageClasses
		return len(listed) > 0 && !slices.ContainsFunc(listed, func(own plan.Value[string]) bool { return own.V == n.of.Name })
	case n.of.Kind == "ClusterQueue":
		return p.cluster.Queueing != nil
	case n.of.Kind == "PriorityClass":
		return !strings.HasPrefix(n.of.Name, "system-")
	case n.reach == closed:
		return all
	case n.reach == compiled:
		return ours
	}
	return true
}

// reportMissingPart reports a port of a Service, or a key of a ConfigMap, that it does not have.
func (p *prover) reportMissingPart(n *objectName) {
	var what, wanted string
	var has []string
	switch {
	case n.port != "":
		what, wanted = "port", n.port
		for i := range p.facts.services {
			if s := &p.facts.services[i]; s.id == n.of {
				has = append(has, s.ports...)
			}
		}
	case n.key != "":
		what, wanted = "key", n.key
		for i := range p.facts.configs {
			if c := &p.facts.configs[i]; c.id == n.of {
				has = append(has, c.keys...)
			}
		}
	default:
		return
	}
	has = slices.DeleteFunc(has, func(own string) bool { return own == "" })
	if len(has) == 0 || slices.Contains(has, wanted) {
		return // one of the compiler's own, or none
	}
	p.list.Warnf(diag.NamesNothing, n.partAt, "%s names the %s `%s` of the %s `%s`, which does not have it", n.by, what, wanted, n.of.Kind, n.of.Name).
		Notef("without it %s", n.without).Helpf("write one of `%s`", strings.Join(has, "`, `"))
}

// reportEmptySelector reports a selector for which nothing is there, and a port that what it selects does not have.
func (p *prover) reportEmptySelector(s *labelSelection) {
	if !p.ours[s.namespace] || len(s.selector) == 0 {
		return
	}
	if s.services {
		p.checkServiceSelector(s)
		return
	}
	var ports []string
	pods, found := false, false
	for i := range p.facts.pods {
		own := &p.facts.pods[i]
		pods = pods || own.namespace == s.namespace
		if own.namespace == s.namespace && s.selector.Selects(own.labels) {
			found, ports = true, append(ports, own.ports...)
		}
	}
	switch {
	case !pods:
		return // somebody else makes all that are there
	case !found:
		p.reportSelectsNothing(s, "pod")
		return
	}
	for _, port := range s.ports {
		if !slices.Contains(ports, port.text) {
			p.list.Warnf(diag.NamesNothing, port.at, "%s names the port `%s`, and no container of its pods has one of this name", s.by, port.text).
				Notef("nothing gets through by it").Helpf("%s", portHelp(ports))
		}
	}
}

func (p *prover) checkServiceSelector(s *labelSelection) {
	found := false
	var ports []string
	for i := range p.facts.services {
		if own := &p.facts.services[i]; own.id.Namespace == s.namespace && s.selector.Selects(own.labels) {
			found, ports = true, append(ports, own.ports...)
		}
	}
	if !found {
		p.reportSelectsNothing(s, "Service")
		return
	}
	for _, port := range s.ports {
		if !slices.Contains(ports, port.text) {
			p.list.Warnf(diag.NamesNothing, port.at, "%s names the port `%s`, and no Service that it selects has one of this name", s.by, port.text).
				Notef("nothing is measured by it").Helpf("write one of `%s`", strings.Join(slices.Compact(slices.Sorted(slices.Values(ports))), "`, `"))
		}
	}
}

func portHelp(ports []string) string {
	if len(ports) == 0 {
		return "write the number of the port, or give the port of the container the name"
	}
	return "write one of `" + strings.Join(slices.Compact(slices.Sorted(slices.Values(ports))), "`, `") + "`, or the number of the port"
}

func (p *prover) reportSelectsNothing(s *labelSelection, kind string) {
	p.list.Warnf(diag.SelectsNothing, s.at, "%s selects `%s`, and no %s in `%s` has that", s.by, s.selector, kind, s.namespace).
		Helpf("correct the labels of one of them, or accept it with a waiver where somebody else makes such a %s", kind)
}

// reportProbePort reports a probe that asks a port of another name.
func (p *prover) reportProbePort(own *probePort) {
	if slices.Contains(own.has, own.text) {
		return
	}
	p.list.Warnf(diag.NamesNothing, own.at, "%s asks the port `%s` of the container `%s`, which has none of this name", own.by, own.text, own.container).
		Notef("the probe fails, so that the container is restarted or never ready").Helpf("%s", portHelp(own.has))
}
