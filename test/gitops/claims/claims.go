// Package claims compares what a review says of a change with what the change did to a cluster, object by object.
//
// What is said is read from the effects of the report alone: not from what decided them. It is pure.
package claims

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
)

// Fate is what becomes of an object.
type Fate string

// The fates. Those that can only be said come last: `left` is an object that is no longer compiled and stays, `refused` one whose change the API
// server refuses, `respelled` one whose text changes and not what it means, `moved` one that another stage applies, which may make it again,
// and `endangered` a job in a namespace that is moved.
const (
	Kept       Fate = "kept"
	Added      Fate = "added"
	Changed    Fate = "changed"
	Restarted  Fate = "restarted"
	Deleted    Fate = "deleted"
	Recreated  Fate = "recreated"
	Left       Fate = "left"
	Refused    Fate = "refused"
	Respelled  Fate = "respelled"
	Moved      Fate = "moved"
	Endangered Fate = "endangered"
)

// fates are all in the order of tables.
var fates = []Fate{Added, Changed, Restarted, Recreated, Moved, Deleted, Endangered, Left, Refused, Respelled, Kept}

// comesTrue are the facts that bear out what can only be said; every other claim is borne out by the fact of its name.
var comesTrue = map[Fate][]Fate{Left: {Kept}, Refused: {Kept}, Respelled: {Kept, Changed}, Moved: {Kept, Changed, Recreated}, Endangered: {Kept, Deleted}}

// Fates are those of objects, by `Kind.group namespace/name`.
type Fates map[string]Fate

// Objects are those of a cluster at one time, by `Kind.group namespace/name`.
type Objects map[string]Object

// Object is what is compared of an object.
type Object struct {
	// Namespace is its own, Job reports whether it is a job of a user.
	Namespace string
	Job       bool
	// UID tells an object from one that is made again under its name.
	UID string
	// Content is what people and engines decide about it, Pods the part by which the pods of a workload are replaced.
	Content, Pods string
}

// bookkeeping are the fields of metadata and the annotations that engines and the API server write for themselves.
var bookkeeping = [][]string{
	{"status"},
	{"operation"}, // what an Application of Argo CD is doing
	{"metadata", "managedFields"},
	{"metadata", "resourceVersion"},
	{"metadata", "generation"},
	{"metadata", "annotations", "argocd.argoproj.io/refresh"},
	{"metadata", "annotations", "argocd.argoproj.io/tracking-id"}, // names the namespace that its Application is for
	{"metadata", "annotations", "argocd.argoproj.io/skip-reconcile"},
	{"metadata", "annotations", "reconcile.fluxcd.io/requestedAt"},
}

// Seen returns the name of an object of an API server, and what is compared of it.
func Seen(o *unstructured.Unstructured) (string, Object) {
	o = o.DeepCopy()
	kind := o.GroupVersionKind()
	id := object.ID{Group: kind.Group, Kind: kind.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}
	for _, path := range bookkeeping {
		unstructured.RemoveNestedField(o.Object, path...)
	}
	if len(o.GetAnnotations()) == 0 {
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations")
	}
	seen := Object{Namespace: id.Namespace, Job: id.Kind == "TrainJob", UID: string(o.GetUID()), Content: text(o.Object)}
	if template, found, _ := unstructured.NestedMap(o.Object, "spec", "template"); found && id.Group == "apps" {
		seen.Pods = text(template)
	}
	return id.String(), seen
}

func text(value map[string]any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// Said are the fates of objects as a report tells them that keeps all effects: what it does not name is kept.
func Said(r *semdiff.Report, before Objects) Fates {
	said := keptAll(before)
	jobs := map[string]Fate{}
	for i := range r.Entries {
		for j := range r.Entries[i].Samples {
			e := &r.Entries[i].Samples[j]
			switch namespace := e.Subject.Namespace; {
			case e.Jobs != rule.JobsStopped:
			case !e.Changes[0].Path.Is(match.Folder):
				jobs[namespace] = Deleted
			case jobs[namespace] == "":
				jobs[namespace] = Endangered
			}
			for _, change := range e.Changes {
				said.addChange(e, change)
			}
		}
	}
	for id := range before {
		if o := before[id]; o.Job && jobs[o.Namespace] != "" {
			said[id] = jobs[o.Namespace]
		}
	}
	return said
}

// addChange notes what an effect says of the objects of a change.
func (f Fates) addChange(e *rule.Effect, change *match.Change) {
	switch {
	case change.Renamed():
		// One consequence has both endings; the words tell them apart.
		gone := Deleted
		if strings.Contains(e.Title, " stays") || strings.Contains(e.Title, " stay ") {
			gone = Left
		}
		f.add(change.Before.ID.String(), gone)
		f.add(change.After.ID.String(), Added)
	case change.Whole():
		f.add(change.Object().ID.String(), wholeFate(e, change))
	case change.Before != nil:
		f.add(change.After.ID.String(), valueFate(e, change))
	}
}

func wholeFate(e *rule.Effect, change *match.Change) Fate {
	switch {
	case change.Added():
		return Added
	case e.Consequence == rule.LeavesObjects && e.Rule != "gitops": // of a stage, it is about what the stage applied
		return Left
	}
	return Deleted
}

func valueFate(e *rule.Effect, change *match.Change) Fate {
	switch {
	case e.Consequence == rule.ImmutableField:
		return Refused
	case e.Consequence == rule.DeletesObjects || e.Consequence == rule.DeletesData && e.Rule == "immutable":
		return Recreated
	case e.Consequence == rule.RestartsPlatform:
		return Restarted
	case change.Path.Is(match.Folder):
		return Moved
	case e.Consequence == rule.NoEffect:
		return Respelled
	}
	return Changed
}

// strength orders what several effects say of one object: what stays, or is refused, is so whatever else is told of it,
// and what is moved may be made again, which refuses nothing.
var strength = []Fate{Kept, Respelled, Changed, Restarted, Added, Deleted, Recreated, Left, Refused, Moved}

func (f Fates) add(id string, fate Fate) {
	if slices.Index(strength, fate) > slices.Index(strength, f[id]) {
		f[id] = fate
	}
}

func keptAll(before Objects) Fates {
	said := Fates{}
	for id := range before {
		said[id] = Kept
	}
	return said
}

// Facts are the fates of the objects of a cluster between two times.
func Facts(before, after Objects) Fates {
	facts := Fates{}
	for id := range after {
		if _, found := before[id]; !found {
			facts[id] = Added
		}
	}
	for id, was := range before {
		is, found := after[id]
		switch {
		case !found:
			facts[id] = Deleted
		case was.UID != is.UID:
			facts[id] = Recreated
		case was.Pods != is.Pods:
			facts[id] = Restarted
		case was.Content != is.Content:
			facts[id] = Changed
		default:
			facts[id] = Kept
		}
	}
	return facts
}

// Wrong are the claims that the facts do not bear out, and the facts that nobody told, sorted.
func Wrong(said, facts Fates) []string {
	var wrong []string
	for id, claim := range said {
		fact := facts[id]
		if claim == Deleted && fact == Recreated && isDefaultAccount(id) {
			continue
		}
		if fact != claim && !slices.Contains(comesTrue[claim], fact) {
			wrong = append(wrong, fmt.Sprintf("%s: said to be %s, and was %s", id, claim, orAbsent(fact)))
		}
	}
	for id, fact := range facts {
		if _, told := said[id]; !told {
			wrong = append(wrong, fmt.Sprintf("%s: nothing was said, and it was %s", id, fact))
		}
	}
	slices.Sort(wrong)
	return wrong
}

// isDefaultAccount reports whether an object is the account that Kubernetes makes again in every namespace that stays.
func isDefaultAccount(id string) bool {
	return strings.HasPrefix(id, "ServiceAccount ") && strings.HasSuffix(id, "/default")
}

func orAbsent(fact Fate) Fate {
	if fact == "" {
		return "not there"
	}
	return fact
}

// String counts the fates: `2 added, 90 kept`.
func (f Fates) String() string {
	count := map[Fate]int{}
	for _, fate := range slices.Collect(maps.Values(f)) {
		count[fate]++
	}
	var parts []string
	for _, fate := range fates {
		if count[fate] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[fate], fate))
		}
	}
	return strings.Join(parts, ", ")
}
