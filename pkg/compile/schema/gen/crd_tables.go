package main

import (
	"encoding/json"
	"fmt"

	"lockstep.dev/lockstep/pkg/compile/schema/shape"
)

// crd is what matters here of a CustomResourceDefinition.
type crd struct {
	Kind string
	Spec struct {
		Group, Scope string
		Names        struct{ Kind string }
		Versions     []struct {
			Name   string
			Served bool
			Schema struct {
				OpenAPIV3Schema json.RawMessage `json:"openAPIV3Schema"`
			}
		}
	}
}

// crdTables returns the tables of the wanted kinds in a CRD. Metadata has the schema of the native kinds, as on the API server.
func crdTables(definition crd, want map[string]bool, schemas map[string]json.RawMessage) (map[string]*shape.Table, error) {
	tables := map[string]*shape.Table{}
	for _, version := range definition.Spec.Versions {
		kind := gvk{definition.Spec.Group, version.Name, definition.Spec.Names.Kind}.apiVersionKind()
		if !version.Served || !want[kind] {
			continue
		}
		var doc schemaDocument
		if err := decodeStrict(version.Schema.OpenAPIV3Schema, &doc); err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		doc.addRootFields()
		r := newReducer(false, schemas)
		root, err := r.shapeOf(&doc, false)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		tables[kind] = &shape.Table{Namespaced: definition.Spec.Scope == "Namespaced", Root: root, Shapes: r.shapes}
	}
	return tables, nil
}

// addRootFields gives the root of a custom resource the fields that the API server gives it.
func (d *schemaDocument) addRootFields() {
	if d.Properties == nil {
		d.Properties = map[string]*schemaDocument{}
	}
	d.Properties["apiVersion"] = &schemaDocument{Type: "string"}
	d.Properties["kind"] = &schemaDocument{Type: "string"}
	metadata := &schemaDocument{Ref: refPrefix + objectMeta}
	if own := d.Properties["metadata"]; own != nil && len(own.Properties) > 0 {
		metadata = &schemaDocument{AllOf: []*schemaDocument{metadata, own}}
	}
	d.Properties["metadata"] = metadata
}
