// Package emit turns objects into files and writes them.
//
// Files returns the files of some objects as values, Kustomizations what lists the files of a whole cluster; a Writer brings an
// output folder to that state. It owns what it wrote, and nothing else: a record in the folder lists the owned files. It does not
// rewrite a file whose content is right, removes owned files that are no longer compiled, and never touches a file that it does not
// own. Files are staged while they are compiled, and come into their places at the end: a build that fails before leaves the
// folder as it was. If a build is killed in that moment, the next build repairs the mixture.
//
// The package itself does no I/O: it writes through a Dir. Package disk is the one for real folders.
package emit

import (
	"cmp"
	"maps"
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

// KustomizationEntry is a file of objects in a folder of a cluster, as a kustomization lists it.
type KustomizationEntry struct {
	Folder, Name string
	// Rank is the lowest one of the file's objects: files of a lower rank are applied first.
	Rank int
}

// header tells a reader where to make changes.
const header = "# Compiled by runtime-compiler from the specs of this repository: change those, not this file.\n"

const kustomizationFile = "kustomization.yaml"

// Files returns the files of objects, which are sorted: one per Folder and File, and an entry for each.
func Files(cluster string, objects []object.Object) ([]File, []KustomizationEntry) {
	var files []File
	var entries []KustomizationEntry
	for len(objects) > 0 {
		first := &objects[0]
		n := 1
		for n < len(objects) && objects[n].Folder == first.Folder && objects[n].File == first.File {
			n++
		}
		name := first.File + ".yaml"
		files = append(files, File{Path: path.Join(cluster, first.Folder, name), Data: encodeObjects(objects[:n])})
		// The first object of a file has the lowest rank in it.
		entries = append(entries, KustomizationEntry{Folder: first.Folder, Name: name, Rank: first.Rank()})
		objects = objects[n:]
	}
	return files, entries
}

// sizeOfObject is about what an object of a tenant takes, in bytes.
const sizeOfObject = 512

func encodeObjects(objects []object.Object) []byte {
	out := append(make([]byte, 0, len(header)+sizeOfObject*len(objects)), header...)
	for i := range objects {
		out = append(out, "---\n"...)
		out = AppendYAML(out, &objects[i].Root)
	}
	return out
}

// Kustomizations returns a kustomization for each folder of a cluster, and one for the whole without the folder that stays apart.
func Kustomizations(cluster string, entries []KustomizationEntry, apart string) []File {
	folders := map[string][]KustomizationEntry{}
	for _, entry := range entries {
		folders[entry.Folder] = append(folders[entry.Folder], entry)
	}
	var files []File
	var top []KustomizationEntry
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		files = append(files, newKustomization(path.Join(cluster, folder), folders[folder]))
		if folder != apart {
			top = append(top, KustomizationEntry{Name: folder})
		}
	}
	return append(files, newKustomization(cluster, top))
}

// newKustomization lists resources in the order in which they can be applied: a file with namespaces before one with what is in them.
func newKustomization(folder string, entries []KustomizationEntry) File {
	slices.SortFunc(entries, func(a, b KustomizationEntry) int {
		// A folder comes after those in it: `~` is above all that names hold.
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), strings.Compare(a.Name+"/~", b.Name+"/~"))
	})
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name
	}
	content := object.Map("",
		object.Text("apiVersion", "kustomize.config.k8s.io/v1beta1", nil),
		object.Text("kind", "Kustomization", nil),
		object.Texts("resources", nil, names...))
	return File{Path: path.Join(folder, kustomizationFile), Data: AppendYAML([]byte(header), &content)}
}
