package review

import (
	"bytes"
	"cmp"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"lockstep.dev/lockstep/pkg/compile/decode/syntax"
	"lockstep.dev/lockstep/pkg/compile/semdiff/group"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Files beside the specs that decide what runs on a pull request, who must look at it, what of it they see, and what stops it: those at the
// top of a repository, everything in some folders, and whatever one of these names, such as the script that a pipeline runs.
var (
	decidingFiles = []string{
		".gitlab-ci.yml", ".gitlab-ci.yaml", "CODEOWNERS", "docs/CODEOWNERS", "Jenkinsfile", "azure-pipelines.yml", "bitbucket-pipelines.yml", ".drone.yml", ".woodpecker.yml",
		".gitattributes", ".gitmodules", ".pre-commit-config.yaml", "lefthook.yml", "renovate.json", ".renovaterc", ".github/renovate.json", ".github/dependabot.yml",
		".prow.yaml", "atlantis.yaml", "justfile", "Justfile", ".justfile", "Earthfile", ".cirrus.yml", ".cirrus.star", ".semaphore/semaphore.yml",
		".appveyor.yml", "appveyor.yml", "cloudbuild.yaml", "buildspec.yml", "codefresh.yml", "digger.yml", "screwdriver.yaml", ".zuul.yaml",
		"bors.toml", ".kodiak.toml", ".pullapprove.yml", ".policy.yml", ".sourceignore",
		".travis.yml", "OWNERS", "OWNERS_ALIASES", ".mergify.yml", ".github/CODEOWNERS", ".github/settings.yml", ".github/mergify.yml",
	}
	decidingFolders = []string{
		".github/workflows", ".github/actions", ".gitlab", ".tekton", ".circleci", ".buildkite", ".azure-pipelines", ".woodpecker", ".prow", ".gitea/workflows", ".forgejo/workflows",
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

// readDecidingFiles reads the files, and those that they name.
func readDecidingFiles(root fs.FS) map[string][]byte {
	r, top := decidingReader{root: root, all: map[string][]byte{}, looked: map[string]bool{}}, []string{"."}
	for _, name := range decidingFiles {
		r.read(name, top)
	}
	for _, folder := range decidingFolders {
		r.readFolder(folder, top, func(name string) bool { return !slices.Contains(texts, path.Base(path.Dir(name))) })
	}
	return r.all
}

// decidingReader collects files. Each is read once.
type decidingReader struct {
	root fs.FS
	all  map[string][]byte
	// looked are the names that texts may have meant, and patterns; patterns counts these.
	looked   map[string]bool
	patterns int
	// names holds all files below root, once a pattern has asked for them.
	names []string
}

// read reads a file, and what it names below some folders and around itself. What cannot be read is not there.
func (r *decidingReader) read(name string, folders []string) {
	if _, known := r.all[name]; known {
		return
	}
	data, err := source.ReadBounded(r.root, name, largest)
	if err != nil {
		return
	}
	r.all[name] = data
	if !isRunFile(name) || len(data) > largestText {
		return
	}
	folders = slices.Clip(folders)
	if folder := path.Dir(name); !slices.Contains(folders, folder) {
		folders = append(folders, folder)
	}
	r.followNames(variables.ReplaceAll(data, nil), folders)
	if isYAML(name) && utf8.Valid(data) {
		var reader syntax.Reader
		roots, _ := reader.YAML(source.NewFile(name, data)) // what is not YAML includes nothing
		left := maxNodes
		for _, root := range roots {
			r.readIncluded(root, false, &left)
		}
	}
}

func (r *decidingReader) readFolder(folder string, folders []string, wanted func(name string) bool) {
	_ = fs.WalkDir(r.root, folder, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && wanted(name) {
			r.read(name, folders)
		}
		return nil
	})
}

// isRunFile reports whether a file is one that is run, or that says what is: a list of owners names files for other reasons.
func isRunFile(name string) bool {
	switch base := path.Base(name); path.Ext(base) {
	case ".sh", ".bash", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".mk", ".just", ".star", ".groovy", ".yml", ".yaml":
		return true
	case ".json", ".ini":
		return base == "package.json" || base == "tox.ini"
	case "":
		return base != "CODEOWNERS" && !strings.HasPrefix(base, "OWNERS")
	}
	return false
}

// reads are programs that read a file which nobody names.
var reads = map[string]string{
	"make": "Makefile", "task": "Taskfile.yml", "just": "justfile", "rake": "Rakefile", "earthly": "Earthfile", "nox": "noxfile.py",
	"tox": "tox.ini", "npm": "package.json", "yarn": "package.json", "pnpm": "package.json",
}

var (
	// named are words of a pipeline that may be files, folders of actions, or programs that read a file.
	named = regexp.MustCompile(`\b(?:make|task|just|rake|earthly|nox|tox|p?npm|yarn)\b|[\w.-]*/[\w./-]+|\./|[\w.-]+\.[A-Za-z]\w*`)
	// interpreted are words after a shell, which may be a file without an ending.
	interpreted = regexp.MustCompile(`(?:\b(?:ba|da|k|z)?sh|\bsource|\bpython3?)\s+(?:-\w+\s+)*([\w-]+)`)
	// entered are words before a folder in which something runs.
	entered = regexp.MustCompile(`(?i)(?:\b(?:cd|pushd|dir|working[-_]?dir(?:ectory)?)\b["']?\s*[:(]?|\s-C|--directory)` +
		`[\s="']*([\w./-]+)`)
	// variables are mostly the top of the checkout, or the folder of the file.
	variables = regexp.MustCompile(`\$\{\{[^}]*\}\}|\$\{[^}]*\}|\$\((?:(?:dirname|git|pwd)\b[^()]*|[\w.-]+)\)|\$\w+`)
)

// followNames reads the files and actions that a text names, below folders and those that it enters.
func (r *decidingReader) followNames(text []byte, folders []string) {
	for _, match := range entered.FindAllSubmatch(text, -1) {
		for _, folder := range slices.Clone(folders) {
			next := path.Join(folder, string(match[1]))
			if info, err := fs.Stat(r.root, next); len(folders) < maxFolders && err == nil && info.IsDir() &&
				!slices.Contains(folders, next) {
				folders = append(folders, next)
			}
		}
	}
	words := named.FindAllString(string(text), -1)
	for _, match := range interpreted.FindAllSubmatch(text, -1) {
		words = append(words, string(match[1]))
	}
	for _, word := range words {
		for _, folder := range folders {
			r.readNamed(path.Join(folder, cmp.Or(reads[word], word)), folders)
		}
	}
}

// readNamed reads a file if it is one that is run, or the action that is in a folder.
func (r *decidingReader) readNamed(name string, folders []string) {
	top, _, _ := strings.Cut(name, "/")
	if r.looked[name] || slices.Contains(specs, top) {
		return
	}
	r.looked[name] = true
	info, err := fs.Stat(r.root, name)
	switch {
	case err != nil:
	case !info.IsDir() && isRunFile(name):
		r.read(name, folders)
	case info.IsDir():
		for _, action := range []string{"action.yml", "action.yaml"} {
			action = path.Join(name, action)
			if r.read(action, folders); r.all[action] != nil && name != "." {
				r.readFolder(name, folders, isRunFile)
			}
		}
	}
}

// readIncluded reads the files that a pipeline of GitLab includes, itself or as its child.
func (r *decidingReader) readIncluded(n *syntax.Node, included bool, left *int) {
	switch *left--; {
	case *left < 0:
	case n.Kind == syntax.Alias && included:
		r.readIncluded(n.Target, true, left)
	case n.Kind == syntax.Scalar && included:
		r.readMatching(path.Join("/", variables.ReplaceAllString(n.Value, "*"))[1:])
	case n.Kind == syntax.Sequence:
		for item := n.First; item != nil; item = item.Next {
			r.readIncluded(item, included, left)
		}
	case n.Kind == syntax.Mapping:
		for key := n.First; key != nil; key = key.Next.Next {
			r.readIncluded(key.Next, key.Value == "include" || included && key.Value == "local", left)
		}
	}
}

// readMatching reads the pipelines that a pattern of GitLab means: `*` stays in a folder, `**` does not.
func (r *decidingReader) readMatching(pattern string) {
	fixed, _, isPattern := strings.Cut(pattern, "*")
	switch key := "include " + pattern; {
	case !isYAML(pattern) || r.looked[key] || isPattern && r.patterns == maxPatterns:
	case !isPattern:
		r.read(pattern, []string{"."})
	default:
		r.looked[key] = true
		r.patterns++
		text := strings.NewReplacer(`\*\*`, ".*", `\*`, "[^/]*").Replace(regexp.QuoteMeta(pattern))
		matches := regexp.MustCompile("^" + text + "$").MatchString
		for _, name := range r.listNames() {
			if strings.HasPrefix(name, fixed) && matches(name) {
				r.read(name, []string{"."})
			}
		}
	}
}

func (r *decidingReader) listNames() []string {
	if r.names == nil {
		_ = fs.WalkDir(r.root, ".", func(name string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				r.names = append(r.names, name)
			}
			return nil
		})
	}
	return r.names
}

func isYAML(name string) bool { return path.Ext(name) == ".yml" || path.Ext(name) == ".yaml" }

const (
	// largest bounds a script, a pipeline or a bundled action, in bytes: a larger file is a program or data.
	largest = 16 << 20
	// largestText bounds, in bytes, the texts that are searched for names: larger ones are not written by hand.
	largestText = 1 << 20
	// maxFolders and maxNodes bound what one file may make the review look at: a pipeline has fewer.
	maxFolders, maxNodes = 16, 100_000
	// maxPatterns bounds the includes with a pattern. GitLab runs no pipeline with more than 150 includes by default.
	maxPatterns = 1000
)
