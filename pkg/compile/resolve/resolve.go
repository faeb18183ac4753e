// Package resolve connects names with definitions: it indexes the specs of each kind, and reports names that are there
// twice, references that lead nowhere and namespaces that two tenants claim.
//
// It never looks at what a spec means. A definition is Sound when neither decoding nor resolving found a mistake in it;
// only sound definitions may be judged further, because others would cause follow-on messages.
package resolve

import (
	"maps"
	"slices"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/jobtemplate"
)

// Definition is a spec under its name.
type Definition[T any] struct {
	*decode.Document
	Spec *T
	Name string
	// Valid is false when a mistake was reported in the spec.
	Valid bool
}

// Index holds the definitions of a kind.
type Index[T any] struct {
	// Kind is the kind's name in messages.
	Kind   string
	byName map[string]*Definition[T]
	// duplicates are later definitions of a name that was taken. Nothing is compiled from them, but their own mistakes count.
	duplicates []*Definition[T]
	// nameless says that a definition has no readable name: a name that is not found may be meant for it.
	nameless bool
	// meant are the names that definitions are probably meant to have whose own is malformed.
	meant map[string]bool
	// elsewhere returns the kind that has a name, or "".
	elsewhere func(name string) string
}

// Get returns a definition, or nil.
func (x *Index[T]) Get(name string) *Definition[T] { return x.byName[name] }

// All returns the definitions sorted by name.
func (x *Index[T]) All() []*Definition[T] {
	all := make([]*Definition[T], 0, len(x.byName))
	for _, name := range x.Names() {
		all = append(all, x.byName[name])
	}
	return all
}

// definitionsAndDuplicates returns the definitions sorted by name, then the duplicates.
func (x *Index[T]) definitionsAndDuplicates() []*Definition[T] {
	return append(x.All(), x.duplicates...)
}

// Names returns the names in order.
func (x *Index[T]) Names() []string { return slices.Sorted(maps.Keys(x.byName)) }

// Bundle is all specs of a repository by kind and name.
type Bundle struct {
	Profiles Index[v1alpha1.HardwareProfile]
	Runtimes Index[v1alpha1.MPIRuntime]
	Tenants  Index[v1alpha1.Tenant]
	Clusters Index[v1alpha1.Cluster]
	// Templates are sorted by name.
	Templates []*jobtemplate.Template
}

// IndexDocuments indexes documents, which must be in a stable order: of two equal names the first is the one that counts.
func IndexDocuments(documents []*decode.Document, list *diag.List) *Bundle {
	b := &Bundle{
		Profiles: Index[v1alpha1.HardwareProfile]{Kind: v1alpha1.HardwareProfileKind},
		Runtimes: Index[v1alpha1.MPIRuntime]{Kind: v1alpha1.MPIRuntimeKind},
		Tenants:  Index[v1alpha1.Tenant]{Kind: v1alpha1.TenantKind},
		Clusters: Index[v1alpha1.Cluster]{Kind: v1alpha1.ClusterKind},
	}
	b.Profiles.elsewhere, b.Runtimes.elsewhere, b.Tenants.elsewhere, b.Clusters.elsewhere = b.kindWithName, b.kindWithName, b.kindWithName, b.kindWithName
	for _, d := range documents {
		b.addDocument(d, list)
	}
	b.checkRuntimeReferences(list)
	b.checkTenantReferences(list)
	b.checkClusterReferences(list)
	b.checkNamespaceClaims(list)
	return b
}

// kindWithName returns the first kind that has a name, or "".
func (b *Bundle) kindWithName(name string) string {
	switch {
	case b.Profiles.byName[name] != nil:
		return b.Profiles.Kind
	case b.Runtimes.byName[name] != nil:
		return b.Runtimes.Kind
	case b.Tenants.byName[name] != nil:
		return b.Tenants.Kind
	case b.Clusters.byName[name] != nil:
		return b.Clusters.Kind
	}
	return ""
}

func (b *Bundle) addDocument(d *decode.Document, list *diag.List) {
	switch spec := d.Spec.(type) {
	case *v1alpha1.HardwareProfile:
		addDefinition(&b.Profiles, d, spec, &spec.Metadata.Name, list)
	case *v1alpha1.MPIRuntime:
		addDefinition(&b.Runtimes, d, spec, &spec.Metadata.Name, list)
	case *v1alpha1.Tenant:
		addDefinition(&b.Tenants, d, spec, &spec.Metadata.Name, list)
	case *v1alpha1.Cluster:
		addDefinition(&b.Clusters, d, spec, &spec.Metadata.Name, list)
	case *decode.Unknown:
		b.Profiles.expectName(spec.Metadata.Name)
		b.Runtimes.expectName(spec.Metadata.Name)
		b.Tenants.expectName(spec.Metadata.Name)
		b.Clusters.expectName(spec.Metadata.Name)
	}
}

// expectName makes a name known that is not a definition, because of a mistake that was reported; any name for "".
func (x *Index[T]) expectName(name string) {
	x.nameless = x.nameless || name == ""
	if x.meant == nil {
		x.meant = map[string]bool{}
	}
	x.meant[name] = true
}

// Incomplete reports whether there may be definitions that nobody could read or name: what is missing may be among them.
func (x *Index[T]) Incomplete() bool { return len(x.meant) > 0 }

// addDefinition leaves a spec without name out: decoding has reported it.
func addDefinition[T any](x *Index[T], d *decode.Document, spec *T, name *string, list *diag.List) {
	if *name == "" {
		x.expectName("")
		return
	}
	if x.byName == nil {
		x.byName = map[string]*Definition[T]{}
	}
	if !d.Valid {
		x.expectName(decode.IntendedName(*name))
	}
	definition := &Definition[T]{Document: d, Spec: spec, Name: *name, Valid: d.Valid}
	if first := x.byName[*name]; first != nil {
		if d.Unread || first.Unread {
			return // what the name of a spec is that cannot be read is not certain
		}
		list.Errorf(diag.DuplicateName, d.At(name), "the %s `%s` is defined twice", x.Kind, *name).
			Also(first.nameSpan(), "also here").Helpf("rename or remove one")
		x.duplicates = append(x.duplicates, definition)
		return
	}
	x.byName[*name] = definition
}
