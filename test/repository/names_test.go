package repository_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	goFile     = regexp.MustCompile(`(^|[^\w/*-])([a-z0-9_]+\.go)\b`)
	camelCase  = regexp.MustCompile(`\b[A-Za-z]*[a-z][A-Z][A-Za-z0-9]*\b`)
	reference  = regexp.MustCompile(`\bsee ([A-Z]\w+)`)
	wordInText = regexp.MustCompile(`\w+`)
	// foreign comments name code of others by the path of its package or file, or by its address.
	foreign = regexp.MustCompile(`pkg/([\w-]+)|https://`)
)

// notOurs are names of products and of code of others that no literal of ours has.
var notOurs = wordSet(`AddressSanitizer CamelCase CustomTrainer GraphQL JitterFactor LimitMEMLOCK NumPy OpenAI
	PyPI macOS eventTime firstTimestamp trainerStatus`)

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(text) {
		set[word] = true
	}
	return set
}

// sourceFile is a Go file with the names that its code has: identifiers, and words of literals.
type sourceFile struct {
	path     string
	comments []*ast.CommentGroup
	names    map[string]bool
}

func parseSources(t *testing.T, set *token.FileSet, paths []string) []sourceFile {
	t.Helper()
	var sources []sourceFile
	for _, path := range paths {
		parsed, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		source := sourceFile{path: path, comments: parsed.Comments, names: map[string]bool{}}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				source.names[n.Name] = true
			case *ast.BasicLit:
				for _, word := range wordInText.FindAllString(n.Value, -1) {
					source.names[word] = true
				}
			}
			return true
		})
		sources = append(sources, source)
	}
	return sources
}

// TestNamesInComments: a comment names no file and no identifier that a rename took away.
func TestNamesInComments(t *testing.T) {
	set := token.NewFileSet()
	sources := parseSources(t, set, findFiles(t, ".go"))
	everywhere, files := map[string]bool{}, map[string]bool{}
	packages := map[string]map[string]bool{}
	for _, source := range sources {
		files[filepath.Base(source.path)] = true
		dir := filepath.Dir(source.path)
		if packages[dir] == nil {
			packages[dir] = map[string]bool{}
		}
		for name := range source.names {
			everywhere[name], packages[dir][name] = true, true
		}
	}
	for _, source := range sources {
		for _, group := range source.comments {
			text := group.Text()
			missing := func(name, where string) {
				t.Errorf("%s: the comment names %s, which is not in %s: write today's name, or add it to notOurs",
					set.Position(group.Pos()), name, where)
			}
			for _, found := range reference.FindAllStringSubmatch(text, -1) {
				if !packages[filepath.Dir(source.path)][found[1]] {
					missing(found[1], "this package")
				}
			}
			if isForeign(text) {
				continue
			}
			for _, found := range goFile.FindAllStringSubmatch(text, -1) {
				if !files[found[2]] {
					missing(found[2], "the repository")
				}
			}
			for _, name := range camelCase.FindAllString(text, -1) {
				if singular := strings.TrimSuffix(name, "s"); !everywhere[name] && !everywhere[singular] && !notOurs[name] {
					missing(name, "the repository")
				}
			}
		}
	}
}

// isForeign reports whether a comment names an address, or a package that is not ours.
func isForeign(text string) bool {
	for _, found := range foreign.FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join("../../pkg", found[1])); found[1] == "" || err != nil {
			return true
		}
	}
	return false
}
