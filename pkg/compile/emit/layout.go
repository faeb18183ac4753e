// Package emit turns objects into files and writes them.
//
// Files returns the tree of a cluster as values; Write brings an output folder to that state. Write owns what it wrote, and
// nothing else: a record in the folder lists the owned files. It does not rewrite a file whose content is right, removes owned
// files that are no longer compiled, and never touches a file that it does not own. Every file is replaced as a whole; a
// build that is interrupted leaves whole files, all of them owned, and the next build completes it.
//
// The package itself does no I/O: it writes through a Dir. Package disk is the one for real folders.
package emit

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
)

// File is one file of the output, its path relative to the output folder.
type File struct {
	Path string
	Data []byte
}

// header tells a reader where to make changes.
const header = "# Compiled by runtime-compiler from the specs of this repository: change those, not this file.\n"

const kustomizationFile = "kustomization.yaml"

// Files returns the tree of a cluster, sorted by path: one file per Folder and File of its objects, and a kustomization per
// folder and for the whole.
func Files(cluster string, set *object.Set) []File {
	contents := map[string]*bytes.Buffer{}
	folders := map[string][]resource{}
	for _, o := range set.Sorted() {
		name := path.Join(cluster, o.Folder, o.File+".yaml")
		if contents[name] == nil {
			contents[name] = bytes.NewBufferString(header)
			// The first object of a file has the lowest rank in it.
			folders[o.Folder] = append(folders[o.Folder], resource{name: o.File + ".yaml", rank: o.Rank()})
		}
		contents[name].WriteString("---\n")
		contents[name].Write(EncodeYAML(o.Content))
	}
	var files []File
	for name, content := range contents {
		files = append(files, File{Path: name, Data: content.Bytes()})
	}
	for folder, resources := range folders {
		files = append(files, kustomization(path.Join(cluster, folder), resources))
	}
	files = append(files, kustomization(cluster, topFolders(folders)))
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files
}

// resource is one line of a kustomization.
type resource struct {
	name string
	rank int
}

func topFolders(folders map[string][]resource) []resource {
	var resources []resource
	for folder := range folders {
		resources = append(resources, resource{name: folder})
	}
	return resources
}

// kustomization lists resources in the order in which they can be applied: a file with namespaces before one with what is in them.
func kustomization(folder string, resources []resource) File {
	slices.SortFunc(resources, func(a, b resource) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.name, b.name))
	})
	list := make([]any, len(resources))
	for i, r := range resources {
		list[i] = r.name
	}
	content := EncodeYAML(map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1",
		"kind":       "Kustomization",
		"resources":  list,
	})
	return File{Path: path.Join(folder, kustomizationFile), Data: append([]byte(header), content...)}
}
