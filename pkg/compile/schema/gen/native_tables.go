package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/schema/shape"
)

// openAPI is a file of api/openapi-spec/v3: the kinds of one group and version.
type openAPI struct {
	Paths      map[string]map[string]json.RawMessage
	Components struct{ Schemas map[string]json.RawMessage }
}

const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

// nativeTables returns the tables of the wanted kinds in an OpenAPI file.
func nativeTables(data []byte, want map[string]bool) (map[string]*shape.Table, error) {
	var file openAPI
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	namespaced, err := file.namespacedKinds()
	if err != nil {
		return nil, err
	}
	tables := map[string]*shape.Table{}
	for name, data := range file.Components.Schemas {
		var described struct {
			GVK []gvk `json:"x-kubernetes-group-version-kind"`
		}
		if err := json.Unmarshal(data, &described); err != nil {
			return nil, err
		}
		// Options that all kinds share name many of them.
		if len(described.GVK) != 1 || !want[described.GVK[0].apiVersionKind()] {
			continue
		}
		kind := described.GVK[0].apiVersionKind()
		scope, created := namespaced[kind]
		if !created {
			// A type of another group, which this file needs within its own.
			continue
		}
		r := newReducer(true, file.Components.Schemas)
		root, err := r.shapeOfReference(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		tables[kind] = &shape.Table{Native: true, Namespaced: scope, Root: root, Shapes: r.shapes}
	}
	return tables, nil
}

// namespacedKinds says of each kind that can be created whether it lives in a namespace.
func (o openAPI) namespacedKinds() (map[string]bool, error) {
	scopes := map[string]bool{}
	for path, operations := range o.Paths {
		if operations["post"] == nil {
			continue
		}
		var post struct {
			GVK gvk `json:"x-kubernetes-group-version-kind"`
		}
		if err := json.Unmarshal(operations["post"], &post); err != nil {
			return nil, err
		}
		scopes[post.GVK.apiVersionKind()] = strings.Contains(path, "/namespaces/{namespace}/")
	}
	return scopes, nil
}
