package review

import (
	"bytes"
	"cmp"
	"io/fs"
	"path"
	"slices"

	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
)

// Files beside the specs that decide what runs on a pull request, who must look at it, and what stops it: those at the top of a
// repository, and everything in some folders.
var (
	decidingFiles = []string{
		".gitlab-ci.yml", ".gitlab-ci.yaml", "CODEOWNERS", "docs/CODEOWNERS", "Jenkinsfile", "azure-pipelines.yml", "bitbucket-pipelines.yml", ".drone.yml", ".woodpecker.yml",
		".travis.yml", "OWNERS", "OWNERS_ALIASES", ".mergify.yml", ".github/CODEOWNERS", ".github/settings.yml", ".github/mergify.yml",
	}
	decidingFolders = []string{
		".github/workflows", ".github/actions", ".gitlab", ".tekton", ".circleci", ".buildkite", ".azure-pipelines", ".woodpecker", ".gitea/workflows", ".forgejo/workflows",
	}
	// texts are folders within them whose files people fill in.
	texts = []string{"issue_templates", "merge_request_templates"}
)

// deciding compares the files of two states that decide about reviews. They are sorted by path.
func deciding(before, after fs.FS) []group.DecidingFile {
	was, is := decidingIn(before), decidingIn(after)
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

// decidingIn reads the files. What cannot be read is not there.
func decidingIn(root fs.FS) map[string][]byte {
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
	return all
}
