// Package explain answers questions about compiled objects: where a value comes from (explain), and which values a line of a
// spec feeds (affects).
//
// It adds nothing to what lowering recorded: each leaf of an object has an origin already. The package is pure and looks at one
// unit of objects at a time, so that a large repository is never in memory as a whole.
package explain

import (
	"path"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Value is one leaf of a compiled object, and its origin.
type Value struct {
	Cluster string
	Object  object.ID
	Path    Path
	// Text is the value as YAML would show it; Empty says that it is an empty map or list.
	Text string
	From *origin.Origin
}

// Query selects leaves. Empty fields select everything.
type Query struct {
	// Kind and Name are compared without regard to case, as kubectl does; Kind may be a plural.
	Kind, Namespace, Name string
	// Path selects a leaf, or all leaves below a container.
	Path Path
}

// shortNames are those that kubectl knows (kubectl api-resources), and those of the kinds that this compiler makes, by the name in full.
var shortNames = map[string]string{
	"cj": "cronjob", "cm": "configmap", "cq": "clusterqueue", "crd": "customresourcedefinition", "ctr": "clustertrainingruntime",
	"deploy": "deployment", "ds": "daemonset", "ep": "endpoints", "flv": "resourceflavor", "ing": "ingress", "kust": "kustomization", "limits": "limitrange",
	"lq": "localqueue", "lr": "limitrange", "netpol": "networkpolicy", "np": "networkpolicy", "ns": "namespace", "pc": "priorityclass",
	"pdb": "poddisruptionbudget", "po": "pod", "pv": "persistentvolume", "pvc": "persistentvolumeclaim", "quota": "resourcequota",
	"rb": "rolebinding", "rs": "replicaset", "rq": "resourcequota", "sa": "serviceaccount", "sc": "storageclass", "scc": "securitycontextconstraints",
	"sts": "statefulset", "svc": "service", "tr": "trainingruntime", "vap": "validatingadmissionpolicy", "vapb": "validatingadmissionpolicybinding",
}

// Selects reports whether an object is meant.
func (q Query) Selects(id object.ID) bool {
	return (q.Kind == "" || sameKind(q.Kind, id)) &&
		(q.Namespace == "" || q.Namespace == id.Namespace) &&
		(q.Name == "" || strings.EqualFold(q.Name, id.Name))
}

// sameKind takes `quota`, `ResourceQuota`, `resourcequota`, `resourcequotas`, `NetworkPolicies` and `resourcequota.v1`-like forms with a group.
func sameKind(asked string, id object.ID) bool {
	name, group, grouped := strings.Cut(strings.ToLower(asked), ".")
	if grouped && group != id.Group {
		return false
	}
	kind := strings.ToLower(id.Kind)
	if long, is := shortNames[name]; is {
		name = long
	}
	switch name {
	case kind, kind + "s", kind + "es":
		return true
	}
	stem, isY := strings.CutSuffix(kind, "y")
	return isY && name == stem+"ies"
}

// SelectedObjects returns the identities of the objects that a query selects.
func SelectedObjects(objects []object.Object, q Query) []object.ID {
	var found []object.ID
	for i := range objects {
		if q.Selects(objects[i].ID) {
			found = append(found, objects[i].ID)
		}
	}
	return found
}

// SelectedValues returns the leaves that a query selects, in the order of the objects.
func SelectedValues(cluster string, objects []object.Object, q Query) []Value {
	var values []Value
	for i := range objects {
		o := &objects[i]
		if !q.Selects(o.ID) {
			continue
		}
		asked, _, ok := q.Path.ResolveIn(&o.Root)
		if !ok {
			continue
		}
		o.Leaves(func(path []string, leaf *object.Node, from *origin.Origin) {
			if asked.LeadsTo(path) {
				values = append(values, newValue(cluster, o, path, leaf, from))
			}
		})
	}
	return values
}

// Affected returns the leaves that a line of a file feeds: those that come from it, and those that would if nothing overrode it.
func Affected(cluster string, objects []object.Object, file string, line int) []Value {
	var values []Value
	for i := range objects {
		o := &objects[i]
		o.Leaves(func(path []string, leaf *object.Node, from *origin.Origin) {
			if comesFromLine(from, o.Rule, file, line) {
				values = append(values, newValue(cluster, o, path, leaf, from))
			}
		})
	}
	return values
}

// comesFromLine reports whether a value comes from a line, or would. What a chart renders comes from all lines of its values: the rule of its
// objects has their places.
func comesFromLine(from, rule *origin.Origin, file string, line int) bool {
	at := func(span source.Span) bool { return span.Path() == file && (line == 0 || span.Line == line) }
	switch {
	case from == nil:
		return false
	case at(from.At) || slices.ContainsFunc(from.Also, at):
		return true
	case from.Kind == origin.Rendered && (from != rule && comesFromLine(rule, rule, file, line) || feedsAllTemplates(file, from.At.Path())):
		return true
	}
	return slices.ContainsFunc(from.Lost, func(lost origin.Lost) bool { return comesFromLine(lost.Origin, rule, file, line) })
}

// feedsAllTemplates reports whether a file feeds all templates of a chart, as its values and its helpers do: which line feeds which value only the
// template knows. A chart within a chart has the values of both.
func feedsAllTemplates(file, template string) bool {
	switch base := path.Base(file); {
	case base == "values.yaml", base == "Chart.yaml", path.Ext(base) == ".tpl":
		return strings.HasPrefix(template, path.Dir(file)+"/")
	}
	return false
}

// newValue copies the path, which the walk reuses.
func newValue(cluster string, o *object.Object, path []string, leaf *object.Node, from *origin.Origin) Value {
	return Value{Cluster: cluster, Object: o.ID, Path: append(Path(nil), path...), Text: leafText(leaf), From: from}
}

func leafText(leaf *object.Node) string {
	switch leaf.Kind {
	case object.MapNode:
		return "{}"
	case object.ListNode:
		return "[]"
	case object.NullNode:
		return "null"
	}
	return leaf.Text
}
