package claims

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/semdiff"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
	"lockstep.dev/lockstep/pkg/compile/semdiff/rule"
)

// change is one of a ConfigMap `ns/before` that becomes `ns/after`; "" is a state that does not have it.
func change(before, after string, path ...string) *match.Change {
	c := &match.Change{Path: path}
	if before != "" {
		c.Before = &object.Object{ID: object.ID{Kind: "ConfigMap", Namespace: "ns", Name: before}}
		c.Old = &c.Before.Root
	}
	if after != "" {
		c.After = &object.Object{ID: object.ID{Kind: "ConfigMap", Namespace: "ns", Name: after}}
		c.New = &c.After.Root
	}
	return c
}

func TestSaid(t *testing.T) {
	before := Objects{"ConfigMap ns/a": {Namespace: "ns"}, "TrainJob.trainer.kubeflow.org ns/job": {Namespace: "ns", Job: true}, "TrainJob.trainer.kubeflow.org other/job": {Namespace: "other", Job: true}}
	cases := map[string]struct {
		reason  string
		effects []rule.Effect
		want    Fates
	}{
		"nothing":  {"what no effect names is kept", nil, Fates{}},
		"added":    {"a new object", []rule.Effect{{Consequence: rule.WidensAccess, Changes: []*match.Change{change("", "b")}}}, Fates{"ConfigMap ns/b": Added}},
		"deleted":  {"an object that goes, whatever that means", []rule.Effect{{Consequence: rule.ClosesNetwork, Changes: []*match.Change{change("a", "")}}}, Fates{"ConfigMap ns/a": Deleted}},
		"left":     {"an object that stays, though another effect is about what it did", []rule.Effect{{Consequence: rule.OpensNetwork, Changes: []*match.Change{change("a", "")}}, {Consequence: rule.LeavesObjects, Changes: []*match.Change{change("a", "")}}}, Fates{"ConfigMap ns/a": Left}},
		"stage":    {"a stage goes, and what it applied is left", []rule.Effect{{Rule: "gitops", Consequence: rule.LeavesObjects, Changes: []*match.Change{change("a", "")}}}, Fates{"ConfigMap ns/a": Deleted}},
		"renamed":  {"both names", []rule.Effect{{Consequence: rule.Renames, Title: "objects have another name: ConfigMap", Changes: []*match.Change{change("a", "b")}}}, Fates{"ConfigMap ns/a": Deleted, "ConfigMap ns/b": Added}},
		"stays":    {"both names, and the words say that the old object stays", []rule.Effect{{Consequence: rule.LeavesObjects, Title: "a volume has another name: the new one is empty, the old one stays with its data", Changes: []*match.Change{change("a", "b")}}}, Fates{"ConfigMap ns/a": Left, "ConfigMap ns/b": Added}},
		"restarts": {"the strongest of several effects", []rule.Effect{{Consequence: rule.RestartsPlatform, Changes: []*match.Change{change("a", "a", "spec")}}, {Consequence: rule.NewJobsOnly, Changes: []*match.Change{change("a", "a", "metadata")}}}, Fates{"ConfigMap ns/a": Restarted}},
		"refused":  {"the API server refuses an object as a whole", []rule.Effect{{Consequence: rule.ImmutableField, Changes: []*match.Change{change("a", "a", "spec")}}, {Consequence: rule.NewJobsOnly, Changes: []*match.Change{change("a", "a", "metadata")}}}, Fates{"ConfigMap ns/a": Refused}},
		"forced":   {"the engine makes it again", []rule.Effect{{Rule: "immutable", Consequence: rule.DeletesData, Changes: []*match.Change{change("a", "a", "spec")}}}, Fates{"ConfigMap ns/a": Recreated}},
		"spelling": {"only the text changes", []rule.Effect{{Consequence: rule.NoEffect, Changes: []*match.Change{change("a", "a", "spec")}}}, Fates{"ConfigMap ns/a": Respelled}},
		"moved": {
			"what another stage applies may be made again, and jobs may go with their namespace", []rule.Effect{
				{Consequence: rule.ImmutableField, Changes: []*match.Change{change("a", "a", "spec")}},
				{Consequence: rule.ChangesSync, Jobs: rule.JobsStopped, Subject: rule.Subject{Namespace: "ns"}, Changes: []*match.Change{change("a", "a", match.Folder)}},
			}, Fates{"ConfigMap ns/a": Moved, "TrainJob.trainer.kubeflow.org ns/job": Endangered},
		},
		"jobs": {
			"jobs of the namespace go with it", []rule.Effect{{Consequence: rule.DeletesObjects, Jobs: rule.JobsStopped, Subject: rule.Subject{Namespace: "ns"}, Changes: []*match.Change{change("a", "")}}},
			Fates{"ConfigMap ns/a": Deleted, "TrainJob.trainer.kubeflow.org ns/job": Deleted},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			want := keptAll(before)
			maps.Copy(want, c.want)
			if diff := cmp.Diff(want, Said(&semdiff.Report{Entries: []group.Entry{{Samples: c.effects}}}, before)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestWrong(t *testing.T) {
	before := Objects{"kept": {UID: "1", Content: "a"}, "changed": {UID: "2", Content: "a"}, "restarted": {UID: "3", Pods: "a"}, "deleted": {UID: "4"}, "recreated": {UID: "5"}}
	after := Objects{"kept": {UID: "1", Content: "a"}, "changed": {UID: "2", Content: "b"}, "restarted": {UID: "3", Pods: "b"}, "recreated": {UID: "6"}, "added": {UID: "7"}}
	facts := Facts(before, after)
	if diff := cmp.Diff(Fates{"kept": Kept, "changed": Changed, "restarted": Restarted, "deleted": Deleted, "recreated": Recreated, "added": Added}, facts); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	if text := facts.String(); text != "1 added, 1 changed, 1 restarted, 1 recreated, 1 deleted, 1 kept" {
		t.Errorf("the facts read: %s", text)
	}
	cases := map[string]struct {
		reason string
		said   Fates
		want   []string
	}{
		"true":    {"what was said is what happened", Fates{}, nil},
		"weaker":  {"claims that say less are borne out by several facts", Fates{"kept": Left, "changed": Respelled, "recreated": Moved}, nil},
		"account": {"Kubernetes makes the account `default` again", Fates{"ServiceAccount ns/default": Deleted}, nil},
		"kept":    {"an object that should stay and goes", Fates{"deleted": Left}, []string{"deleted: said to be left, and was deleted"}},
		"restart": {"pods that are replaced, and nobody said so", Fates{"restarted": Changed}, []string{"restarted: said to be changed, and was restarted"}},
		"absent":  {"an object that should come and does not", Fates{"new": Added}, []string{"new: said to be added, and was not there"}},
		"silent":  {"what nobody told", Fates{"added": ""}, []string{"added: nothing was said, and it was added"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			facts := maps.Clone(facts)
			said := maps.Clone(facts)
			if _, found := c.said["ServiceAccount ns/default"]; found {
				facts["ServiceAccount ns/default"] = Recreated
			}
			maps.Copy(said, c.said)
			maps.DeleteFunc(said, func(_ string, fate Fate) bool { return fate == "" })
			if diff := cmp.Diff(c.want, Wrong(said, facts)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestSeen(t *testing.T) {
	read := func(uid, bookkeeping, replicas, image string) Object {
		name, seen := Seen(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "status": map[string]any{"replicas": bookkeeping},
			"metadata": map[string]any{"namespace": "ns", "name": "a", "uid": uid, "resourceVersion": bookkeeping, "annotations": map[string]any{"argocd.argoproj.io/refresh": bookkeeping}},
			"spec":     map[string]any{"replicas": replicas, "template": map[string]any{"image": image}},
		}})
		if name != "Deployment.apps ns/a" {
			t.Errorf("the object is called %s", name)
		}
		return seen
	}
	was := read("1", "1", "1", "a")
	if is := read("1", "2", "1", "a"); is != was {
		t.Errorf("what engines note for themselves counts: %v", is)
	}
	if is := read("1", "1", "2", "a"); is.Content == was.Content || is.Pods != was.Pods {
		t.Errorf("another number of pods is no change, or replaces them: %v", is)
	}
	if is := read("1", "1", "1", "b"); is.Pods == was.Pods {
		t.Errorf("another image replaces no pods: %v", is)
	}
}
