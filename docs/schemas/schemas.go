// Package schemas holds the JSON Schemas (draft 2020-12) of the spec kinds, for editors and other tools. They are generated from the
// types and comments of package v1alpha1: `go test ./pkg/compile/jsonschema/generate -update` writes them, and the same test fails when
// they are out of date.
package schemas

import "embed"

// Files are the schemas, one file per kind.
//
//go:embed *.json
var Files embed.FS
