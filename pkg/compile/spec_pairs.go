package compile

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// SpecPair is a spec that is not the same in two states, as objects whose values come from their lines; nil where a state does not
// have it. Comments, order of keys and spelling are not in it, nor are waivers.
type SpecPair struct{ Before, After *object.Object }

// differingSpecs joins the specs of two states, sorted by kind and name. Files that are the same are left out, and, if only
// one cluster is compared, specs that do not concern it.
func differingSpecs(was, is *state, cluster string) []SpecPair {
	type name struct{ kind, name string }
	joined := map[name]*SpecPair{}
	take := func(documents, others []*decode.Document, clusters []*plan.Cluster, side func(*SpecPair) **object.Object) {
		known := make(map[string]*source.File, len(others))
		for _, d := range others {
			known[d.File.Path] = d.File
		}
		for _, d := range documents {
			if sameSpecs(d.File, known[d.File.Path]) || cluster != "" && !concernsCluster(d, cluster, clusters) {
				continue
			}
			kind, own := nameOfSpec(d)
			k := name{kind, own}
			if joined[k] == nil {
				joined[k] = &SpecPair{}
			}
			*side(joined[k]) = specObject(d)
		}
	}
	take(was.documents, is.documents, was.plans, func(p *SpecPair) **object.Object { return &p.Before })
	take(is.documents, was.documents, is.plans, func(p *SpecPair) **object.Object { return &p.After })
	pairs := make([]SpecPair, 0, len(joined))
	for _, pair := range joined {
		pairs = append(pairs, *pair)
	}
	slices.SortFunc(pairs, func(a, b SpecPair) int {
		x, y := a.presentSide().ID, b.presentSide().ID
		return cmp.Or(strings.Compare(x.Kind, y.Kind), strings.Compare(x.Name, y.Name))
	})
	return pairs
}

// sameSpecs reports whether a file holds the same specs as another. What a program gives depends on other files, too.
func sameSpecs(a, b *source.File) bool {
	return b != nil && a.Language() == source.YAML && bytes.Equal(a.Data, b.Data)
}

func (p SpecPair) presentSide() *object.Object { return cmp.Or(p.After, p.Before) }

// concernsCluster reports whether a spec is about a cluster: not another cluster, and no tenant that is not there.
func concernsCluster(d *decode.Document, cluster string, plans []*plan.Cluster) bool {
	switch spec := d.Spec.(type) {
	case *v1alpha1.Cluster:
		return spec.Metadata.Name == cluster
	case *v1alpha1.Tenant:
		return slices.ContainsFunc(plans, func(c *plan.Cluster) bool {
			return slices.ContainsFunc(c.Tenants, func(t *plan.Tenant) bool { return t.Name.V == spec.Metadata.Name })
		})
	}
	return true
}

// nameOfSpec is what specs are told apart by.
func nameOfSpec(d *decode.Document) (kind, name string) {
	spec := reflect.ValueOf(d.Spec).Elem()
	return spec.Type().Name(), spec.FieldByName("Metadata").FieldByName("Name").String()
}

// specObject is a spec as an object.
func specObject(d *decode.Document) *object.Object {
	kind, name := nameOfSpec(d)
	value := reflect.ValueOf(d.Spec).Elem()
	root := specNode(d, "", value)
	at := d.At(value.FieldByName("Metadata").FieldByName("Name").Addr().Interface())
	return &object.Object{ID: object.ID{Group: "lockstep.dev", Kind: kind, Name: name}, Root: root, Place: object.Place{Origin: at}, Rule: &origin.Origin{At: at}}
}

// specNode is a value of a spec. What nobody wrote is nothing, but for defaults.
func specNode(d *decode.Document, key string, value reflect.Value) object.Node {
	var from *origin.Origin
	if value.CanAddr() {
		from = &origin.Origin{At: d.At(value.Addr().Interface())}
		if !d.Written(value.Addr().Interface()) {
			from.Kind = origin.Default
		}
	}
	if amount, is := value.Interface().(resource.Quantity); is {
		if amount.IsZero() && !d.Written(value.Addr().Interface()) {
			return object.Node{}
		}
		return object.Quantity(key, amount, from)
	}
	switch value.Kind() {
	case reflect.Pointer:
		if value.IsNil() {
			return object.Node{}
		}
		return specNode(d, key, value.Elem())
	case reflect.String:
		if value.Len() == 0 {
			return object.Node{}
		}
		return object.Text(key, value.String(), from)
	case reflect.Struct:
		return specFields(d, key, value).With(from)
	case reflect.Slice:
		items := make([]object.Node, value.Len())
		for i := range items {
			items[i] = specNode(d, "", value.Index(i))
		}
		return object.List(key, items...).With(from)
	case reflect.Map:
		return specEntries(d, key, value).With(from)
	}
	return object.FromValue(key, value.Interface(), from)
}

func specFields(d *decode.Document, key string, value reflect.Value) object.Node {
	var fields []object.Node
	for i := range value.NumField() {
		field := value.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous, name == "waivers":
		default:
			fields = append(fields, specNode(d, name, value.Field(i)))
		}
	}
	return object.Map(key, slices.DeleteFunc(fields, func(n object.Node) bool {
		return n.Leaf() && (n.Kind == object.MapNode || n.Kind == object.ListNode)
	})...)
}

// specEntries is a map, whose entries have places and no addresses.
func specEntries(d *decode.Document, key string, value reflect.Value) object.Node {
	var entries []object.Node
	for _, k := range value.MapKeys() {
		_, at := d.Entry(value.Addr().Interface(), k.String())
		content := value.MapIndex(k).Interface()
		if amount, is := content.(resource.Quantity); is {
			content = amount.String()
		}
		var from *origin.Origin
		if !at.IsZero() {
			from = &origin.Origin{At: at}
		}
		entries = append(entries, object.FromValue(fmt.Sprint(k), content, from))
	}
	return object.Map(key, entries...)
}
