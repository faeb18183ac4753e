package main

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxColumns is the length of a line in characters, a tab counts as one.
const maxColumns = 120

// tic is a turn of phrase that makes a sentence read translated. mark is how many of 1,000 words may be one.
type tic struct {
	name    string
	pattern *regexp.Regexp
	mark    float64
	remedy  string
}

// tics are counted in comments and in documents.
var tics = []tic{
	{"is-what", words(`(?:is|are|was|were) (?:what|those that|that there)`), 0.5, "name the thing, then what it does"},
	{"somebody", words(`(?:some|no|any|every)body|whoever|whom`), 0.5, "name the subject: user, tenant, controller"},
	{"say-tell", words(`says?|said|tells?|told`), 2, "write report, show, print, list, record, set"},
	{"where-if", words(`where (?:it|there|the|an?|that|this|they|one|nothing|no|its|some)`), 1, "write if, when, without"},
	{"that-of", words(`(?:that|those) of|(?:ones?|those) that|of (?:its|their) own`), 1, "write the noun or its genitive"},
}

func words(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b(?:` + pattern + `)\b`) }

// The folders that prose and product lines are counted in. Long lines are counted everywhere.
var (
	proseRoots   = []string{"api", "cmd", "internal", "pkg", "python/src", "docs", "README.md"}
	productRoots = []string{"api", "cmd", "internal", "pkg", "python/src"}
)

// notOurs are folders with inputs of tests, and with files of other projects; built are folders with output.
var notOurs, built = []string{"testdata", "node_modules"}, []string{"build", "dist"}

// place is a line with something that is counted.
type place struct {
	line int
	what string
}

// fileCount holds the counts of a file that may not rise: long lines, and tics in the order of the table.
type fileCount struct {
	long int
	// above holds the tics of each kind that exceeds its mark.
	above [5]int
	// tics holds all of them, in a text of so many words. Both are zero in a record.
	tics   [5]int
	words  int
	places []place
	// kind is comments or documents.
	kind string
}

// recorded returns the numbers of a file in the record.
func (f fileCount) recorded() [6]int {
	return [6]int{f.long, f.above[0], f.above[1], f.above[2], f.above[3], f.above[4]}
}

// counts holds the lines of product code per package, and what files have.
type counts struct {
	packages map[string]int
	files    map[string]fileCount
}

// countCheckout counts what is below the root of the checkout, without hidden folders, build, dist, testdata and
// node_modules, and without generated code. It does not ask git.
func countCheckout(root fs.FS) (counts, error) {
	all := counts{packages: map[string]int{}, files: map[string]fileCount{}}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			base := entry.Name()
			if name != "." && strings.HasPrefix(base, ".") || slices.Contains(notOurs, base) || slices.Contains(built, name) {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() { // links, such as the locks of Emacs, lead nowhere or to what is counted anyway
			return nil
		}
		if strings.HasPrefix(entry.Name(), "zz_generated.") { // by the name: a header can claim it of any file
			return nil
		}
		if !slices.Contains([]string{".go", ".py", ".ts", ".tsx", ".md"}, path.Ext(name)) {
			return nil
		}
		content, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		all.files[name] = countFile(name, string(content))
		if below(name, productRoots) && path.Ext(name) != ".md" && !isTest(name) {
			all.packages[path.Dir(name)] += codeLines(name, content)
		}
		return nil
	})
	return all, err
}

func below(name string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return name == root || strings.HasPrefix(name, root+"/") })
}

func isTest(name string) bool { return strings.HasSuffix(name, "_test.go") }

// countFile counts the long lines of a source file and, in the product and its documents, the tics.
func countFile(name, content string) fileCount {
	var file fileCount
	if path.Ext(name) != ".md" {
		number := 0
		for line := range strings.Lines(content) {
			number++
			if columns := utf8.RuneCountInString(strings.TrimRight(line, "\r\n")); columns > maxColumns {
				file.long++
				file.places = append(file.places, place{number, fmt.Sprintf("%d columns, %d at most", columns, maxColumns)})
			}
		}
	}
	if !below(name, proseRoots) || isTest(name) {
		return file
	}
	file.kind = "comments"
	if path.Ext(name) == ".md" {
		file.kind = "documents"
	}
	text, lineAt := proseOf(name, content)
	file.words = len(strings.Fields(text))
	for i, t := range tics {
		for _, at := range t.pattern.FindAllStringIndex(text, -1) {
			file.tics[i]++
			file.places = append(file.places, place{lineAt(at[0]), fmt.Sprintf("%q: %s", text[at[0]:at[1]], t.remedy)})
		}
		if 1000*float64(file.tics[i]) > t.mark*float64(file.words) {
			file.above[i] = file.tics[i]
		}
	}
	return file
}

// proseOf returns the comments of a source file as one line, or a document without its blocks of code. lineAt returns
// the line of an offset.
func proseOf(name, content string) (text string, lineAt func(offset int) int) {
	var b strings.Builder
	var starts, numbers []int
	mark, fenced, number := map[string]string{".py": "#", ".md": ""}[path.Ext(name)], false, 0
	if mark == "" && path.Ext(name) != ".md" {
		mark = "//"
	}
	for line := range strings.Lines(content) {
		number++
		line = strings.TrimSpace(line)
		if path.Ext(name) == ".md" && strings.HasPrefix(line, "```") {
			fenced = !fenced
			continue
		}
		if rest, isProse := strings.CutPrefix(line, mark); isProse && !fenced {
			starts, numbers = append(starts, b.Len()), append(numbers, number)
			b.WriteString(rest + " ")
		}
	}
	return b.String(), func(offset int) int {
		i, found := slices.BinarySearch(starts, offset)
		if !found {
			i--
		}
		return numbers[i]
	}
}

// codeLines counts lines with code: no blank ones and no comments.
func codeLines(name string, content []byte) int {
	if path.Ext(name) == ".go" {
		return goLines(content)
	}
	n := 0
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	return n
}

func goLines(content []byte) int {
	var s scanner.Scanner
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(content))
	s.Init(file, content, nil, 0)
	lines := map[int]bool{}
	for {
		at, kind, literal := s.Scan()
		if kind == token.EOF {
			return len(lines)
		}
		if kind == token.SEMICOLON && literal == "\n" {
			continue
		}
		first := file.PositionFor(at, false).Line // whatever a //line comment claims
		for line := first; line <= first+strings.Count(literal, "\n"); line++ {
			lines[line] = true
		}
	}
}

// table shows the sums, as tics per 1,000 words beside their marks.
func (c counts) table() string {
	words, found := map[string]int{}, map[string]*[5]int{"comments": {}, "documents": {}}
	long, lines := 0, 0
	for _, file := range c.files {
		long += file.long
		if file.kind == "" {
			continue
		}
		words[file.kind] += file.words
		for i, n := range file.tics {
			found[file.kind][i] += n
		}
	}
	for _, n := range c.packages {
		lines += n
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d lines of product code in %d packages\n", lines, len(c.packages))
	fmt.Fprintf(&b, "%d lines over %d columns\n", long, maxColumns)
	for _, kind := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintf(&b, "%s, %d words; of 1,000:", kind, words[kind])
		for i, t := range tics {
			fmt.Fprintf(&b, " %s %.1f (mark %g)", t.name, 1000*float64(found[kind][i])/float64(max(words[kind], 1)), t.mark)
		}
		b.WriteString("\n")
	}
	return b.String()
}
