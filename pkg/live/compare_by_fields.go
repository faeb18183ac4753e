package live

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// compareByFields compares what is compiled with what is there, without the API server: of what is there only fields that are compiled, or that the
// manager owns. Amounts and defaults are what semdiff knows of them, so that this is less exact than a dry run: it may show a list that
// the API server would take for equal.
func compareByFields(o *object.Object, there *unstructured.Unstructured, manager string) objectPair {
	content, _ := o.Root.Value().(map[string]any)
	seen, _ := compiledOrOwnedPart(withoutBookkeeping(there), plainJSON(content), fieldsOwnedBy(there, manager)).(map[string]any)
	return objectPair{before: withCompiledOrigins(o, &unstructured.Unstructured{Object: seen}), after: o}
}

// fieldsOwnedBy are the fields of a manager, by server-side apply.
func fieldsOwnedBy(u *unstructured.Unstructured, manager string) *fieldpath.Set {
	owned := &fieldpath.Set{}
	for _, entry := range u.GetManagedFields() {
		if entry.Manager != manager || entry.Operation != metav1.ManagedFieldsOperationApply || entry.FieldsV1 == nil {
			continue
		}
		own := &fieldpath.Set{}
		if own.FromJSON(entry.FieldsV1.GetRawReader()) == nil {
			owned = owned.Union(own)
		}
	}
	return owned
}

// compiledOrOwnedPart is the part of a value that is compiled or owned.
func compiledOrOwnedPart(there, compiled any, owned *fieldpath.Set) any {
	switch there := there.(type) {
	case map[string]any:
		wanted, isMap := compiled.(map[string]any)
		if !isMap && owned == nil {
			return there
		}
		part := map[string]any{}
		for key, value := range there {
			element := fieldpath.PathElement{FieldName: &key}
			want, known := wanted[key]
			if known || ownsElement(owned, element) {
				part[key] = compiledOrOwnedPart(value, want, ownedBelow(owned, element))
			}
		}
		return part
	case []any:
		wanted, _ := compiled.([]any)
		return compiledOrOwnedItems(there, wanted)
	}
	return there
}

// compiledOrOwnedItems takes items for those that have the same name, or else the same place.
func compiledOrOwnedItems(there, compiled []any) []any {
	named := map[string]any{}
	for _, item := range compiled {
		if name := itemName(item); name != "" {
			named[name] = item
		}
	}
	part := make([]any, len(there))
	for i, item := range there {
		switch want, known := named[itemName(item)]; {
		case known:
			part[i] = compiledOrOwnedPart(item, want, nil)
		case len(named) == 0 && len(there) == len(compiled):
			part[i] = compiledOrOwnedPart(item, compiled[i], nil)
		default:
			part[i] = item
		}
	}
	return part
}

func itemName(item any) string {
	fields, isMap := item.(map[string]any)
	if !isMap {
		return ""
	}
	if name, isText := fields["name"].(string); isText {
		return fmt.Sprintf("%v/%v/%s", fields["kind"], fields["namespace"], name)
	}
	return ""
}

// ownsElement reports whether a set has an element, or something below it.
func ownsElement(set *fieldpath.Set, element fieldpath.PathElement) bool {
	if set == nil {
		return false
	}
	if set.Members.Has(element) {
		return true
	}
	_, below := set.Children.Get(element)
	return below
}

// ownedBelow is what a set has below an element.
func ownedBelow(set *fieldpath.Set, element fieldpath.PathElement) *fieldpath.Set {
	if set == nil {
		return nil
	}
	found, _ := set.Children.Get(element)
	return found
}

// plainJSON is a value as JSON has it: only types that unstructured objects may hold.
func plainJSON(content map[string]any) map[string]any {
	data, err := json.Marshal(content)
	if err != nil {
		return content
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		return content
	}
	return u.Object
}
