package object

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"lockstep.dev/lockstep/pkg/compile/origin"
)

// TestMap: entries are sorted, and what is nothing is left out.
func TestMap(t *testing.T) {
	node := Map("spec", Text("b", "2", nil), Node{}, Number("a", 1, nil), List("c", Node{}, Bool("", true, nil)))
	want := map[string]any{"a": json.Number("1"), "b": "2", "c": []any{true}}
	if diff := cmp.Diff(want, node.Value()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if node.Children[0].Key != "a" {
		t.Errorf("the first key is %s", node.Children[0].Key)
	}
}

// TestValues: a JSON value stays the same on its way through nodes.
func TestValues(t *testing.T) {
	want := map[string]any{
		"map": map[string]any{}, "list": []any{}, "null": nil, "text": "x", "number": json.Number("1.50"), "bool": false,
		"deep": []any{map[string]any{"b": "1", "a": []any{nil}}},
	}
	node := FromValue("", want, nil)
	if diff := cmp.Diff(want, node.Value()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTexts: Scalar reads what any scalar says, StringAt strings only; both read nothing where nothing is.
func TestTexts(t *testing.T) {
	root := Map("", Map("spec", Number("replicas", 3, nil), Bool("suspend", true, nil), Text("type", "None", nil),
		List("list", Text("", "a", nil), Number("", 1, nil), Map("")), FromValue("nothing", nil, nil)))
	for name, c := range map[string]struct {
		reason         string
		node           *Node
		path           []string
		scalar, string string
	}{
		"string":   {"a string is both", &root, []string{"spec", "type"}, "None", "None"},
		"number":   {"a number is no string", &root, []string{"spec", "replicas"}, "3", ""},
		"boolean":  {"a boolean is no string", &root, []string{"spec", "suspend"}, "true", ""},
		"null":     {"null says nothing", &root, []string{"spec", "nothing"}, "", ""},
		"list":     {"a list is no scalar", &root, []string{"spec", "list"}, "", ""},
		"map":      {"a map is no scalar", &root, []string{"spec"}, "", ""},
		"itself":   {"no path leads to the node", root.At("spec", "replicas"), nil, "3", ""},
		"missing":  {"the last key is missing", &root, []string{"spec", "other"}, "", ""},
		"above":    {"a key before the last is missing", &root, []string{"status", "phase", "type"}, "", ""},
		"below":    {"a scalar has nothing below", &root, []string{"spec", "type", "type"}, "", ""},
		"nil":      {"there is no node", nil, nil, "", ""},
		"belowNil": {"there is nothing below it", nil, []string{"spec"}, "", ""},
		"item":     {"a list is no map", &root, []string{"spec", "list", "0"}, "", ""},
	} {
		if got := c.node.Scalar(c.path...); got != c.scalar {
			t.Errorf("%s: %s: Scalar is %q, want %q", name, c.reason, got, c.scalar)
		}
		if got := c.node.StringAt(c.path...); got != c.string {
			t.Errorf("%s: %s: StringAt is %q, want %q", name, c.reason, got, c.string)
		}
	}
}

// TestStrings: a list says what its items say, and nothing where it is missing.
func TestStrings(t *testing.T) {
	root := Map("", List("list", Text("", "a", nil), Number("", 1, nil), Map("")), List("empty"))
	for key, want := range map[string][]string{"list": {"a", "1", ""}, "empty": {}, "missing": nil} {
		if diff := cmp.Diff(want, root.Get(key).Strings()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
}

// TestSpell: a path is read as it was meant.
func TestSpell(t *testing.T) {
	for want, path := range map[string][]string{
		"":                                  {},
		"spec.replicas":                     {"spec", "replicas"},
		`spec.hard["requests.cpu"]`:         {"spec", "hard", "requests.cpu"},
		`["a.b"].c`:                         {"a.b", "c"},
		`data[""].x`:                        {"data", "", "x"},
		`spec["two words"]["a[0]"]["it's"]`: {"spec", "two words", "a[0]", "it's"},
		`metadata.labels.team/name`:         {"metadata", "labels", "team/name"},
	} {
		if got := SpellPath(path); got != want {
			t.Errorf("got `%s`, want `%s`", got, want)
		}
	}
}

// TestQuantity: an amount has the form that the API server gives it, and the value itself is not touched.
func TestQuantity(t *testing.T) {
	for written, want := range map[string]string{"1000m": "1", "0.5": "500m", "1024Mi": "1Gi", "0": "0", "1000000": "1M", "1.5Gi": "1536Mi"} {
		if got := Quantity("", resource.MustParse(written), nil).Text; got != want {
			t.Errorf("%s is %s, want %s", written, got, want)
		}
	}
	if got := Count("", 1000, nil).Text; got != "1k" {
		t.Errorf("1000 is %s", got)
	}
}

// TestOriginOfLeaves: a leaf has the origin of the nearest container that has one, at last that of the rule.
func TestOriginOfLeaves(t *testing.T) {
	rule, list, own := origin.Rule("r", "rule"), origin.Rule("r", "list"), origin.Rule("r", "own")
	o := New(Map("",
		Text("kind", "X", nil),
		List("items", Map("", Text("name", "n", nil), Text("value", "v", own))).With(list)), Place{}, rule)
	got := map[string]string{}
	o.Leaves(func(path []string, _ *Node, from *origin.Origin) { got[strings.Join(path, " ")] = from.Why })
	want := map[string]string{"kind": "r: rule", "items n name": "r: list", "items n value": "r: own"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFromTyped: Go's zero values are left out where they mean nothing, and the table's most exact path wins.
func TestFromTyped(t *testing.T) {
	pod := corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "a", Image: "x"}, {Name: "b", Image: "y"}},
			Volumes:    []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		},
	}
	var table Table
	table.Set(origin.Rule("r", "all"), "spec", "containers", "*")
	table.Set(origin.Rule("r", "images"), "spec", "containers", "*", "image")
	table.Set(origin.Rule("r", "image of b"), "spec", "containers", "b", "image")
	root, err := FromTyped(pod, &table)
	if err != nil {
		t.Fatal(err)
	}
	o := New(root, Place{}, origin.Rule("r", "pod"))
	if diff := cmp.Diff(ID{Kind: "Pod", Namespace: "ns", Name: "p"}, o.ID); diff != "" {
		t.Errorf("identity (-want +got):\n%s", diff)
	}
	got := map[string]string{}
	o.Leaves(func(path []string, _ *Node, from *origin.Origin) {
		got[strings.Join(path, " ")] = strings.TrimPrefix(from.Why, "r: ")
	})
	want := map[string]string{
		"apiVersion": "pod", "kind": "pod", "metadata name": "pod", "metadata namespace": "pod",
		"spec containers a image": "images", "spec containers a name": "all",
		"spec containers b image": "image of b", "spec containers b name": "all",
		"spec volumes v emptyDir": "pod", "spec volumes v name": "pod",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTypedAsJSON: a typed object has the values that encoding/json would write.
func TestTypedAsJSON(t *testing.T) {
	type Inner struct {
		A string `json:"a,omitempty"`
	}
	type odd struct {
		Inner      `json:",inline"`
		Hidden     string `json:"-"`
		Dash       int    `json:"-,"` //nolint:staticcheck // the name "-" is meant
		Untagged   uint8
		Float      float64           `json:"float"`
		Bytes      []byte            `json:"bytes"`
		Numbers    map[int]string    `json:"numbers"`
		Nil        *int              `json:"nil"`
		None       []string          `json:"none"`
		Empty      []string          `json:"empty"`
		Pointers   []*Inner          `json:"pointers"`
		Any        any               `json:"any"`
		Time       metav1.Time       `json:"time"`
		NoTime     metav1.Time       `json:"noTime,omitzero"`
		Array      [2]int            `json:"array"`
		Texts      map[string]string `json:"texts,omitempty"`
		Duration   metav1.Duration   `json:"duration"`
		unexported int
	}
	grace, mode := int64(3), int32(0o440)
	for name, typed := range map[string]any{
		"pod": &corev1.Pod{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Name: "p", CreationTimestamp: metav1.Unix(1, 0), Labels: map[string]string{"b": "<>&\u2028", "a": ""}},
			Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: &grace, NodeSelector: map[string]string{},
				Containers: []corev1.Container{{
					Name:           "a",
					Ports:          []corev1.ContainerPort{{ContainerPort: 2222}},
					Resources:      corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("1Gi")}},
					ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("ssh")}}},
					LivenessProbe:  &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(80)}}},
				}},
				Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{DefaultMode: &mode}}}},
			},
		},
		"odd": &odd{
			Inner: Inner{A: "a"}, Float: 1e21, Bytes: []byte{1}, Numbers: map[int]string{1: "x"}, Empty: []string{}, Pointers: []*Inner{nil, {}},
			Any: map[string]any{"metadata": map[string]any{"creationTimestamp": nil}, "n": 1.5, "l": []any{nil, true}}, unexported: 1,
		},
	} {
		data, err := json.Marshal(typed)
		if err != nil {
			t.Fatal(err)
		}
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		var content map[string]any
		if err := decoder.Decode(&content); err != nil {
			t.Fatal(err)
		}
		delete(content, "status")
		want := FromValue("", content, nil)
		want.pruneNoise()
		got, err := FromTyped(typed, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-json +typed):\n%s", name, diff)
		}
	}
}

// TestSet: one object per identity, in the order in which they can be applied.
func TestSet(t *testing.T) {
	of := func(kind, name string) Object {
		return New(Map("", Text("apiVersion", "v1", nil), Text("kind", kind, nil), Map("metadata", Text("name", name, nil))), Place{}, nil)
	}
	var set Set
	for _, o := range []Object{of("Other", "z"), of("Secret", "b"), of("Secret", "a"), of("Namespace", "n")} {
		if _, ok := set.Add(o); !ok {
			t.Errorf("%s is taken", o.ID)
		}
	}
	if taken, ok := set.Add(of("Secret", "a")); ok || taken.ID.Name != "a" {
		t.Errorf("a second object with the identity %s was added", taken.ID)
	}
	var got []string
	for _, o := range set.Sorted() {
		got = append(got, o.ID.String())
	}
	if diff := cmp.Diff([]string{"Namespace n", "Secret a", "Secret b", "Other z"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
