// Package unread finds what somebody meant for the compiler and no stage reads: specs outside their folders, folders whose names are
// nearly right, overlays without a cluster, and files of an overlay that no kustomization names. Whoever wrote them believes that they
// count.
//
// It looks at names first and at the text of few files: a repository holds more than specs. Findings are warnings.
package unread

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/source"
)

const (
	catalog  = "catalog"
	tenants  = "tenants"
	overlays = "overlays"

	kustomization = "kustomization.yaml"
)

// folders are where specs are.
var folders = []string{catalog, tenants, overlays}

// aliases are other names that people give these folders.
var aliases = map[string]string{
	"catalogue": catalog, "catalogues": catalog, "runtimes": catalog, "profiles": catalog, "hardwareprofiles": catalog, "mpiruntimes": catalog,
	"teams": tenants, "clusters": overlays, "environments": overlays,
}

// Find reports what is not read below root.
func Find(root fs.FS, list *diag.List) {
	entries, err := fs.ReadDir(root, ".")
	if err != nil {
		return // finding the specs has reported it
	}
	for _, entry := range entries {
		switch name := entry.Name(); {
		case source.IsHidden(name), slices.Contains(folders, name):
		case entry.IsDir():
			reportMisnamedFolder(root, name, list)
		case entry.Type().IsRegular() && isDataFile(name) && source.HoldsSpec(root, name):
			reportOutside(name, list)
		}
	}
	reportUnreadInOverlays(root, list)
}

func reportOutside(name string, list *diag.List) {
	list.Warnf(diag.NothingRead, wholeFile(name), "the spec is not read: it is in none of the folders of specs").
		Helpf("move it: %s", specFolders)
}

const specFolders = "a Tenant to `tenants/`, an MPIRuntime or a HardwareProfile to `catalog/`, a Cluster to `overlays/NAME/cluster.yaml`"

// reportMisnamedFolder reports a folder whose name is another one for a folder of specs, if it holds specs or stands in for a folder that is not
// there.
func reportMisnamedFolder(root fs.FS, name string, list *diag.List) {
	meant, near := aliases[strings.ToLower(name)], true
	if meant == "" {
		meant, near = diag.Nearest(name, folders)
	}
	switch {
	case !near || sameFolder(root, name, meant):
	case !fileExists(root, meant), holdsSpecs(root, name), meant == overlays && aliases[strings.ToLower(name)] == "" && holdsOverlay(root, name):
		list.Warnf(diag.NothingRead, wholeFile(name), "the folder is not read: its name is not that of a folder of specs").
			Helpf("move what it holds to `%s/`: specs are in `catalog/`, `tenants/` and `overlays/`, all in small letters", meant)
	}
}

// sameFolder reports whether a file system that does not tell A from a reads the folder under its right name.
func sameFolder(root fs.FS, name, meant string) bool {
	if !strings.EqualFold(name, meant) {
		return false
	}
	entries, err := fs.ReadDir(root, ".")
	return err == nil && fileExists(root, meant) && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == meant })
}

func holdsSpecs(root fs.FS, folder string) bool {
	found := false
	_ = fs.WalkDir(root, folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir
		case entry.IsDir() && source.IsHidden(name):
			return fs.SkipDir
		case entry.Type().IsRegular() && isDataFile(name) && source.HoldsSpec(root, name):
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// holdsOverlay reports whether a folder has one for a cluster, or for what is patched there.
func holdsOverlay(root fs.FS, folder string) bool {
	for _, name := range []string{kustomization, "cluster.yaml", "cluster.jsonnet"} {
		if found, _ := fs.Glob(root, path.Join(folder, "*", name)); len(found) > 0 { // the pattern is well formed
			return true
		}
	}
	return false
}

// reportUnreadInOverlays looks at each folder of overlays.
func reportUnreadInOverlays(root fs.FS, list *diag.List) {
	entries, err := fs.ReadDir(root, overlays)
	if err != nil {
		return
	}
	for _, entry := range entries {
		switch name := path.Join(overlays, entry.Name()); {
		case source.IsHidden(name):
		case entry.IsDir():
			reportUnreadInOverlay(root, name, list)
		case entry.Type().IsRegular() && source.HoldsSpec(root, name):
			list.Warnf(diag.NothingRead, wholeFile(name), "the spec is not read: a cluster has a folder of its own").
				Helpf("move it to `overlays/NAME/cluster.yaml`")
		}
	}
}

// reportUnreadInOverlay reports the files of an overlay that nothing names. Where there is no cluster nothing in it is read.
func reportUnreadInOverlay(root fs.FS, folder string, list *diag.List) {
	var names []string
	var words strings.Builder
	_ = fs.WalkDir(root, folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir
		case source.IsHidden(name) && entry.IsDir():
			return fs.SkipDir
		case source.IsHidden(name) || !entry.Type().IsRegular():
		case mayNameFiles(name):
			words.WriteString(readText(root, name))
		case isKustomizeKind(name):
			names = append(names, name)
		}
		return nil
	})
	switch known := words.String(); {
	case !fileExists(root, path.Join(folder, "cluster.yaml")) && !fileExists(root, path.Join(folder, "cluster.jsonnet")):
		reportWithoutCluster(root, folder, names, list)
	case namesMissing(root, folder, known): // an error says so; the name of one of these may be what was meant
	default:
		for _, name := range names {
			if !isNamedIn(strings.TrimPrefix(name, folder+"/"), known) {
				list.Warnf(diag.NothingRead, wholeFile(name), "the file is not read: nothing in its overlay names it").
					Helpf("name it in `resources` or `patches` of `%s/kustomization.yaml`, or remove it", folder)
			}
		}
	}
}

// reportWithoutCluster blames the file that holds the cluster, if there is one: it has the wrong name, and the compiler has said so of those that
// are nearly right.
func reportWithoutCluster(root fs.FS, folder string, names []string, list *diag.List) {
	if hasMisnamedCluster(root, folder) || len(names) == 0 && !fileExists(root, path.Join(folder, kustomization)) {
		return
	}
	for _, name := range names {
		if source.HoldsSpec(root, name) {
			list.Warnf(diag.NothingRead, wholeFile(name), "the file is not read: its name is not that of the spec of a cluster").
				Helpf("rename it to `%s/cluster.yaml`", folder)
			return
		}
	}
	list.Warnf(diag.NothingRead, wholeFile(folder), "nothing in the folder is read: it holds no cluster").
		Helpf("write the Cluster to `%s/cluster.yaml`, or remove the folder; libraries end in `.libsonnet`", folder)
}

// mayNameFiles reports whether a file may name others of its overlay.
func mayNameFiles(name string) bool {
	switch path.Base(name) {
	case kustomization, "cluster.yaml", "cluster.jsonnet":
		return true
	}
	return path.Ext(name) == ".libsonnet"
}

// isKustomizeKind reports whether a file is of a kind that overlays are made of.
func isKustomizeKind(name string) bool {
	switch path.Base(name) {
	case "kustomization.yml", "Kustomization": // LS5010 says it
		return false
	}
	return isDataFile(name) && !source.LooksLikeCluster(name)
}

// isDataFile reports whether a file is called as specs and objects are.
func isDataFile(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".yaml", ".yml", ".json", ".jsonnet":
		return true
	}
	return false
}

// isNamedIn reports whether a text names a file, or a folder that it is in.
func isNamedIn(name, text string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.Contains(text, part) })
}

// fileName is how files are named in a kustomization.
var fileName = regexp.MustCompile(`[\w./-]+\.(ya?ml|json(net)?)\b`)

// namesMissing reports whether a text names a file that is not in the folder.
func namesMissing(root fs.FS, folder, text string) bool {
	return slices.ContainsFunc(fileName.FindAllString(text, -1), func(name string) bool { return !fileExists(root, path.Join(folder, name)) })
}

func hasMisnamedCluster(root fs.FS, folder string) bool {
	entries, err := fs.ReadDir(root, folder)
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return source.LooksLikeCluster(e.Name()) })
}

func readText(root fs.FS, name string) string {
	content, err := source.ReadBounded(root, name, source.MaxFileSize)
	if err != nil {
		return "" // who reads it reports it
	}
	return string(content) + "\n"
}

func fileExists(root fs.FS, name string) bool {
	_, err := fs.Stat(root, name)
	return err == nil
}

func wholeFile(name string) source.Span { return source.WholeFile(source.NewFile(name, nil)) }
