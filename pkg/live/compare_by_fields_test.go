package live

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"lockstep.dev/lockstep/pkg/compile/object"
)

type fields = map[string]any

// TestByFields: of what is there only what is compiled or owned counts, when the API server cannot be asked.
func TestByFields(t *testing.T) {
	cases := map[string]struct {
		reason                string
		compiled, there, want fields
		owned                 string
	}{
		"defaults": {"a default of the API server is not compiled", fields{"a": "1"}, fields{"a": "1", "b": "default"}, fields{"a": "1"}, ""},
		"changed":  {"somebody changed a value", fields{"a": "1"}, fields{"a": "2"}, fields{"a": "2"}, ""},
		"deleted":  {"somebody took a value away", fields{"a": "1"}, fields{"b": "1"}, fields{}, ""},
		"left": {"a value that is no longer compiled, and that the manager applied", fields{"a": "1"}, fields{"a": "1", "b": "old", "c": "of others"}, fields{"a": "1", "b": "old"},
			`{"f:spec": {"f:a": {}, "f:b": {}}}`},
		"left below": {"the same in a map", fields{"a": fields{"x": "1"}}, fields{"a": fields{"x": "1", "y": "2", "z": "3"}}, fields{"a": fields{"x": "1", "y": "2"}},
			`{"f:spec": {"f:a": {"f:x": {}, "f:y": {}}}}`},
		"named items": {"items are those of the same name; one that is not compiled is shown", fields{"a": []any{fields{"name": "x", "v": "1"}}},
			fields{"a": []any{fields{"name": "new"}, fields{"name": "x", "v": "1", "default": "d"}}},
			fields{"a": []any{fields{"name": "new"}, fields{"name": "x", "v": "1"}}}, ""},
		"other items": {"items without names are those at the same place", fields{"a": []any{fields{"v": "1"}}}, fields{"a": []any{fields{"v": "1", "default": "d"}}}, fields{"a": []any{fields{"v": "1"}}}, ""},
		"scalars":     {"lists of scalars are compared as they are", fields{"a": []any{"x"}}, fields{"a": []any{"x", "y"}}, fields{"a": []any{"x", "y"}}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			head := fields{"apiVersion": "v1", "kind": "ConfigMap", "metadata": fields{"name": "a"}}
			with := func(spec fields) fields {
				all := fields{"spec": spec}
				for key, value := range head {
					all[key] = value
				}
				return all
			}
			compiled := object.New(object.FromValue("", with(c.compiled), nil), object.Place{}, nil)
			there := &unstructured.Unstructured{Object: with(c.there)}
			there = there.DeepCopy()
			if c.owned != "" {
				there.SetManagedFields([]metav1.ManagedFieldsEntry{
					{Manager: "flux", Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(c.owned)},
					{Manager: "other", Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec": {"f:c": {}}}`)},
				})
			}
			got := compareByFields(&compiled, there, "flux")
			if diff := cmp.Diff(any(with(c.want)), got.before.Root.Value()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(compiled.Root.Value(), got.after.Root.Value()); diff != "" {
				t.Errorf("what is compiled changed (-want +got):\n%s", diff)
			}
		})
	}
}
