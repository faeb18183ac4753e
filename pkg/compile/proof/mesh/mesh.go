// Package mesh proves that pods of MPI jobs stay out of Istio. A sidecar is between the launcher and its nodes before it is ready, and
// does not end with the command. Ambient mode takes every connection of the ranks through a proxy of the machine, which costs time and
// breaks them when it is replaced, and to port 15008, which policies that open another port do not open.
//
// Pods of compiled runtimes refuse both by label, and such a label wins over those of a namespace, so that a namespace forces nobody by
// itself. What remains is both together: pods that do not refuse, because a patch, a chart or `resources` made them so, in a namespace
// that has a label for everybody; and pods that ask for it.
//
// The facts hold no object, and nothing at all for what is compiled and not patched: FactsOf, unit by unit, then Prove.
package mesh

import (
	"fmt"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// dataplaneMode is a way in which pods get into the mesh.
type dataplaneMode struct {
	// effect says what becomes of such pods.
	effect string
	// optOutLabel is the label by which pods refuse.
	optOutLabel string
	// namespace returns the label of a namespace that takes all pods that say nothing, or nil; pod says what pods say themselves.
	namespace func(labels *object.Node) *object.Node
	pod       func(template *object.Node) podStance
}

// podStance is what pods say about a way.
type podStance uint8

const (
	silent podStance = iota
	refuses
	asks
)

// dataplaneModes are those of Istio 1.22 and later, as its documentation and the defaults of its injector and its CNI plugin have them
// (https://istio.io/latest/docs/setup/additional-setup/sidecar-injection/#controlling-the-injection-policy,
// https://istio.io/latest/docs/ambient/usage/add-workloads/).
var dataplaneModes = [...]dataplaneMode{
	{"gives them a sidecar, which blocks the launch and never ends", `sidecar.istio.io/inject: "false"`, namespaceInjectionLabel, podInjection},
	{"takes each of their connections through a proxy of the machine and to port 15008", "istio.io/dataplane-mode: none", namespaceAmbientLabel, podAmbient},
}

// namespaceInjectionLabel: `istio-injection` decides where a namespace has both labels.
func namespaceInjectionLabel(labels *object.Node) *object.Node {
	if label := labels.At("istio-injection"); label != nil {
		return labelWithValue(label, "enabled")
	}
	if revision := labels.At("istio.io/rev"); revision != nil && revision.Text != "" {
		return revision
	}
	return nil
}

func namespaceAmbientLabel(labels *object.Node) *object.Node {
	return labelWithValue(labels.At("istio.io/dataplane-mode"), "ambient")
}

func labelWithValue(label *object.Node, value string) *object.Node {
	if label == nil || label.Text != value {
		return nil
	}
	return label
}

// podInjection: a label wins over an annotation, and what is no yes is a no.
func podInjection(template *object.Node) podStance {
	const key = "sidecar.istio.io/inject"
	said := template.At("metadata", "labels", key)
	if said == nil {
		said = template.At("metadata", "annotations", key)
	}
	switch {
	case said == nil || said.Text == "":
		return silent
	case slices.Contains([]string{"y", "yes", "true", "on"}, strings.ToLower(said.Text)):
		return asks
	}
	return refuses
}

func podAmbient(template *object.Node) podStance {
	switch template.Scalar("metadata", "labels", "istio.io/dataplane-mode") {
	case "none":
		return refuses
	case "ambient":
		return asks
	}
	return silent
}

// Facts are what the proof must know of the objects of a unit.
type Facts struct {
	namespaces []enrolledNamespace
	pods       []podsOpenToMesh
}

// enrolledNamespace is a namespace whose label takes all pods that say nothing.
type enrolledNamespace struct {
	name, label string
	way         int
	at          source.Span
}

// podsOpenToMesh is the pods of a runtime that do not refuse a way into the mesh.
type podsOpenToMesh struct {
	runtime object.ID
	job     string
	way     int
	stance  podStance
	at      source.Span
}

// FactsOf returns the facts of the objects of a unit.
func FactsOf(objects []object.Object) Facts {
	var f Facts
	for i := range objects {
		switch o := &objects[i]; o.ID.Kind {
		case "Namespace":
			f.namespaces = append(f.namespaces, enrolledNamespacesOf(o)...)
		case "ClusterTrainingRuntime", "TrainingRuntime":
			f.pods = append(f.pods, podsOpenToMeshOf(o)...)
		}
	}
	return f
}

func enrolledNamespacesOf(o *object.Object) (found []enrolledNamespace) {
	labels := o.Root.At("metadata", "labels")
	for w := range dataplaneModes {
		if label := dataplaneModes[w].namespace(labels); label != nil {
			found = append(found, enrolledNamespace{name: o.ID.Name, label: fmt.Sprintf("%s: %s", label.Key, label.Text), way: w, at: patchOrOrigin(o, label)})
		}
	}
	return found
}

func podsOpenToMeshOf(runtime *object.Object) (found []podsOpenToMesh) {
	jobs := runtime.Root.At("spec", "template", "spec", "replicatedJobs")
	for i := 0; jobs != nil && i < len(jobs.Children); i++ {
		template := jobs.Children[i].At("template", "spec", "template")
		for w := range dataplaneModes {
			if s := dataplaneModes[w].pod(template); s != refuses {
				found = append(found, podsOpenToMesh{runtime: runtime.ID, job: jobs.Children[i].Scalar("name"), way: w, stance: s, at: patchOrOrigin(runtime, template.At("metadata"))})
			}
		}
	}
	return found
}

// Join returns the facts of both.
func (f Facts) Join(other Facts) Facts {
	return Facts{append(f.namespaces, other.namespaces...), append(f.pods, other.pods...)}
}

// Prove reports runtimes of tenants whose pods get into the mesh, each once for each way.
func Prove(c *plan.Cluster, f Facts, list *diag.List) {
	type key struct {
		runtime object.ID
		way     int
	}
	told := map[key]bool{}
	for _, pods := range f.pods {
		if k := (key{pods.runtime, pods.way}); !told[k] {
			told[k] = pods.reportInMesh(c, f.namespaces, list)
		}
	}
}

// reportInMesh reports the pods if they get into the mesh, and whether they do.
func (p podsOpenToMesh) reportInMesh(c *plan.Cluster, enrolled []enrolledNamespace, list *diag.List) bool {
	w := dataplaneModes[p.way]
	namespaces := namespacesOf(c, p.runtime)
	help := fmt.Sprintf("leave the label `%s` on the pods, as it is compiled", w.optOutLabel)
	if p.stance == asks && len(namespaces) > 0 {
		list.Errorf(diag.PodsInMesh, p.at, "the pods `%s` of the runtime `%s` ask for Istio, which %s", p.job, p.runtime.Name, w.effect).Helpf("%s", help)
		return true
	}
	for _, n := range enrolled {
		if n.way == p.way && slices.Contains(namespaces, n.name) {
			list.Errorf(diag.PodsInMesh, p.at, "the namespace `%s` takes the pods `%s` of the runtime `%s` into Istio, which %s", n.name, p.job, p.runtime.Name, w.effect).
				Also(n.at, "by its label `%s`", n.label).Helpf("%s, or take that of the namespace away", help)
			return true
		}
	}
	return false
}

// namespacesOf returns the namespaces in which tenants may use a runtime.
func namespacesOf(c *plan.Cluster, runtime object.ID) (names []string) {
	for _, t := range c.Tenants {
		for _, n := range t.Namespaces {
			if runtime.Namespace == n.V || runtime.Namespace == "" && usesRuntime(t, runtime.Name) {
				names = append(names, n.V)
			}
		}
	}
	return names
}

func usesRuntime(t *plan.Tenant, runtime string) bool {
	return slices.ContainsFunc(t.Usable, func(r *plan.Runtime) bool { return r.Name.V == runtime })
}

func patchOrOrigin(o *object.Object, part *object.Node) source.Span {
	if patch := o.PatchSpan(part); !patch.IsZero() {
		return patch
	}
	return o.Origin
}
