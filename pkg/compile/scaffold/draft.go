package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile/jsonschema"
)

// File is a file to write, its path relative to the root of the repository.
type File struct {
	Path string
	Data []byte
}

// Draft is a new spec, and what it needs to be edited in comfort.
type Draft struct {
	Spec File
	// Schemas are the schemas that the repository has not got.
	Schemas []File
	// Chart is that of mpi-controller, which a cluster needs, where the repository has not got it.
	Chart []File
}

// Files are those that count when the specs are compiled, the spec last.
func (d *Draft) Files() []File { return append(slices.Clone(d.Chart), d.Spec) }

// schemaFolders are where a repository may keep the schemas. The last one is made if there is none.
var schemaFolders = []string{"docs/schemas", ".lockstep/schemas"}

// NewDraft writes a spec. Folder is where the schemas are, below root; empty means docs/schemas if the one of the kind is there, else
// .lockstep/schemas.
func NewDraft(root fs.FS, kind jsonschema.Kind, name, folder string, written Written, known *Existing) (*Draft, error) {
	if err := checkNameFree(root, kind, name, known); err != nil {
		return nil, err
	}
	values, err := deriveValues(kind, name, written, known)
	if err != nil {
		return nil, err
	}
	if folder == "" {
		folder = schemaFolder(root, kind)
	}
	if folder = path.Clean(folder); !fs.ValidPath(folder) {
		return nil, fmt.Errorf("`%s` is not a folder below the root of the repository", folder)
	}
	spec := SpecPath(kind, name)
	schema, err := filepath.Rel(path.Dir(spec), path.Join(folder, kind.File))
	if err != nil {
		return nil, fmt.Errorf("find the schema: %w", err)
	}
	d := &Draft{Spec: File{spec, SpecText(kind, name, filepath.ToSlash(schema), values, known.exampleNames())}}
	if kind.Name == v1alpha1.ClusterKind {
		if d.Chart, err = controllerChart(root); err != nil {
			return nil, err
		}
	}
	for _, k := range jsonschema.Kinds {
		file := path.Join(folder, k.File)
		if _, err := fs.Stat(root, file); errors.Is(err, fs.ErrNotExist) {
			d.Schemas = append(d.Schemas, File{file, k.Text()})
		}
	}
	return d, nil
}

func schemaFolder(root fs.FS, kind jsonschema.Kind) string {
	for _, folder := range schemaFolders {
		if _, err := fs.Stat(root, path.Join(folder, kind.File)); err == nil {
			return folder
		}
	}
	return schemaFolders[len(schemaFolders)-1]
}
