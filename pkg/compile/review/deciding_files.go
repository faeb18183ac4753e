package review

import (
	"bytes"
	"cmp"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
)

// Files beside the specs that decide what runs on a pull request, who must look at it, what of it they see, and what stops it: those at the
// top of a repository, everything in some folders, and whatever one of these names, such as the script that a pipeline runs.
var (
	decidingFiles = []string{
		".gitlab-ci.yml", ".gitlab-ci.yaml", "CODEOWNERS", "docs/CODEOWNERS", "Jenkinsfile", "azure-pipelines.yml", "bitbucket-pipelines.yml", ".drone.yml", ".woodpecker.yml",
		".gitattributes", ".gitmodules", ".pre-commit-config.yaml", "lefthook.yml", "renovate.json", ".renovaterc", ".github/renovate.json", ".github/dependabot.yml",
		".travis.yml", "OWNERS", "OWNERS_ALIASES", ".mergify.yml", ".github/CODEOWNERS", ".github/settings.yml", ".github/mergify.yml",
	}
	decidingFolders = []string{
		".github/workflows", ".github/actions", ".gitlab", ".tekton", ".circleci", ".buildkite", ".azure-pipelines", ".woodpecker", ".gitea/workflows", ".forgejo/workflows",
	}
	// specs are the folders whose files a review reads anyway.
	specs = []string{"catalog", "tenants", "overlays", "charts"}
	// texts are folders within them whose files people fill in.
	texts = []string{"issue_templates", "merge_request_templates"}
)

// compareDecidingFiles compares the files of two states that decide about reviews. They are sorted by path.
func compareDecidingFiles(before, after fs.FS) []group.DecidingFile {
	was, is := readDecidingFiles(before), readDecidingFiles(after)
	var found []group.DecidingFile
	for name, data := range is {
		old, known := was[name]
		switch {
		case !known:
			found = append(found, group.DecidingFile{Path: name, How: "added"})
		case !bytes.Equal(old, data):
			found = append(found, group.DecidingFile{Path: name, How: "changed"})
		}
	}
	for name := range was {
		if _, still := is[name]; !still {
			found = append(found, group.DecidingFile{Path: name, How: "removed"})
		}
	}
	slices.SortFunc(found, func(a, b group.DecidingFile) int { return cmp.Compare(a.Path, b.Path) })
	return found
}

// readDecidingFiles reads the files. What cannot be read is not there.
func readDecidingFiles(root fs.FS) map[string][]byte {
	all := map[string][]byte{}
	add := func(name string) {
		if data, err := fs.ReadFile(root, name); err == nil {
			all[name] = data
		}
	}
	for _, name := range decidingFiles {
		add(name)
	}
	for _, folder := range decidingFolders {
		_ = fs.WalkDir(root, folder, func(name string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && !slices.Contains(texts, path.Base(path.Dir(name))) {
				add(name)
			}
			return nil
		})
	}
	for _, name := range slices.Collect(maps.Keys(all)) {
		if isRunFile(name) {
			followNamedFiles(root, all[name], all)
		}
	}
	return all
}

// isRunFile reports whether a file is one that is run, or that says what is: a list of owners names files for other reasons.
func isRunFile(name string) bool {
	switch base := path.Base(name); path.Ext(base) {
	case ".sh", ".bash", ".py", ".js", ".mjs", ".ts", ".rb", ".pl", ".mk", ".yml", ".yaml":
		return true
	case "":
		return base != "CODEOWNERS" && !strings.HasPrefix(base, "OWNERS")
	}
	return false
}

// reads are programs that read a file which nobody names.
var reads = map[string]string{"make": "Makefile", "task": "Taskfile.yml", "just": "justfile"}

// named are words of a pipeline that may be files, or programs that read one.
var named = regexp.MustCompile(`\b(?:make|task|just)\b|[\w.-]*/[\w./-]+|[\w-]+\.[A-Za-z]\w*`)

// followNamedFiles reads the files that a text names, and those that these name, which decide what it does.
func followNamedFiles(root fs.FS, text []byte, all map[string][]byte) {
	for _, word := range named.FindAll(text, -1) {
		name := path.Clean(strings.TrimLeft(string(word), "/"))
		name = cmp.Or(reads[name], name)
		top, _, _ := strings.Cut(name, "/")
		if _, known := all[name]; known || !fs.ValidPath(name) || !isRunFile(name) || slices.Contains(specs, top) {
			continue
		}
		if info, err := fs.Stat(root, name); err != nil || !info.Mode().IsRegular() || info.Size() > largest {
			continue
		}
		if data, err := fs.ReadFile(root, name); err == nil {
			all[name] = data
			followNamedFiles(root, data, all)
		}
	}
}

// largest is as much as a script or a pipeline has, in bytes: what is larger is a program or data.
const largest = 1 << 20
