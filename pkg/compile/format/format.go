// Package format writes spec files in one way, so that reviews are about what specs say.
//
// Keys have the order of api/v1alpha1, unknown keys and those of maps stay where they are; two spaces, lists indented, quotes only
// where a value needs them, one `---` between documents, no blank line twice. Flow collections stay as they are on one line and are
// written out where they are long or hold comments. Every comment stays with its entry: those above it and the one beside it move with
// it; those at the end of a block stay at its end; those at the top of a document stay there.
//
// The flow is text → library's nodes → blocks of entries (block.go) → comments placed (comment.go) → text (write.go). Formatting never
// changes what a file says: the result is read again, values and comments are compared with those of the input, and where they differ
// there is an error and no result. Formatting twice is formatting once.
package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/go-jsonnet/formatter"
	"go.yaml.in/yaml/v4"

	"lockstep.dev/lockstep/pkg/compile/decode/syntax"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// maxProgram is the largest Jsonnet file that is formatted, in bytes: go-jsonnet's parser has no limit for the depth of brackets.
const maxProgram = 256 << 10

// Refusal says why a valid file is not formatted.
type Refusal struct {
	At      source.Span
	Message string
}

func (r *Refusal) Error() string { return r.At.String() + ": " + r.Message }

func refusalOf(file *source.File, node *yaml.Node, message string, args ...any) error {
	return &Refusal{At: syntax.PlaceOf(file, node).In(file), Message: fmt.Sprintf(message, args...)}
}

// File returns the formatted content of a file: Jsonnet if its name ends in .jsonnet or .libsonnet, YAML otherwise. The error
// is a *syntax.Error for what is not YAML, a *Refusal for YAML that specs do not use, or says why else there is no result.
func File(file *source.File) ([]byte, error) {
	if strings.HasSuffix(file.Path, ".jsonnet") || strings.HasSuffix(file.Path, ".libsonnet") {
		return formatJsonnet(file)
	}
	return formatYAML(file)
}

// formatJsonnet formats Jsonnet with go-jsonnet's own formatter, which sometimes needs a second pass to reach the form that it keeps.
func formatJsonnet(file *source.File) ([]byte, error) {
	if len(file.Data) > maxProgram {
		return nil, fmt.Errorf("the file is larger than %d bytes: split it", maxProgram)
	}
	if !utf8.Valid(file.Data) {
		return nil, errors.New("the file is not UTF-8: save it as UTF-8")
	}
	options := formatter.DefaultOptions()
	options.SortImports = false // it would move the comments of imports
	text := file.Text()
	for range maxPasses {
		formatted, err := formatter.Format(file.Path, text, options)
		if err != nil {
			first, _, _ := strings.Cut(err.Error(), "\n")
			return nil, errors.New(first)
		}
		if formatted == text {
			return []byte(text), nil
		}
		text = formatted
	}
	return nil, errors.New("the formatter of Jsonnet does not come to an end with this file")
}

// maxPasses is how often a program is formatted to find the form that no longer changes.
const maxPasses = 5

func formatYAML(file *source.File) ([]byte, error) {
	if !utf8.Valid(file.Data) {
		return nil, errors.New("the file is not UTF-8: save it as UTF-8")
	}
	documents, err := parseDocuments(file)
	if err != nil {
		return nil, err
	}
	if len(documents) == 0 {
		return formatOnlyComments(file), nil
	}
	t := newText(file)
	comments := t.findComments(documents)
	var roots []*block
	for _, document := range documents {
		b := blockBuilder{text: t, comments: comments}
		root, err := b.buildRoot(document)
		if err != nil {
			return nil, err
		}
		roots = append(roots, root)
	}
	placeComments(roots, comments, t)
	for _, root := range roots {
		root.sortByType()
	}
	result := writeBlocks(roots)
	if err := checkSameContent(file, source.NewFile(file.Path, result), comments); err != nil {
		return nil, err
	}
	return result, nil
}

// formatOnlyComments formats a file without values: only its line ends are put right.
func formatOnlyComments(file *source.File) []byte {
	var b bytes.Buffer
	for _, line := range strings.FieldsFunc(file.Text(), func(c rune) bool { return c == '\n' || c == '\r' }) {
		if line = strings.TrimRight(line, " \t"); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.Bytes()
}

// parseDocuments returns the documents that are not empty.
func parseDocuments(file *source.File) ([]*yaml.Node, error) {
	var documents []*yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(file.Data))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, syntax.LocateError(file, err)
		}
		if root := document.Content[0]; root.Kind == yaml.MappingNode {
			documents = append(documents, root)
		} else if root.ShortTag() != "!!null" {
			return nil, refusalOf(file, root, "a document must be a mapping")
		}
		if len(documents) > syntax.MaxDocuments {
			return nil, syntax.ErrTooMany
		}
	}
}

// errLossy says that formatting would lose something. It should not occur: the file is left alone.
var errLossy = errors.New("the file cannot be formatted without changing what it says")

// checkSameContent compares values and comments.
func checkSameContent(before, after *source.File, comments []*comment) error {
	var was, is syntax.Reader
	old, err := was.YAML(before)
	if err != nil {
		return err
	}
	now, err := is.YAML(after)
	if err != nil || !slices.EqualFunc(old, now, func(a, b *syntax.Node) bool { return equalValues(a, b, 0) }) {
		return errLossy
	}
	documents, err := parseDocuments(after)
	if err != nil {
		return errLossy
	}
	t := newText(after)
	if !slices.Equal(commentTexts(comments), commentTexts(t.findComments(documents))) {
		return fmt.Errorf("%w: a comment would be lost", errLossy)
	}
	return nil
}

func commentTexts(comments []*comment) []string {
	var all []string
	for _, c := range comments {
		all = append(all, c.text)
	}
	slices.Sort(all)
	return all
}

// equalValues compares values; the order of keys does not count.
func equalValues(a, b *syntax.Node, depth int) bool {
	if a.Kind != b.Kind || a.Tag != b.Tag || a.Foreign != b.Foreign || depth > maxDepth {
		return false
	}
	switch a.Kind {
	case syntax.Alias:
		return a.Value == b.Value
	case syntax.Scalar:
		return a.Tag == syntax.Null || a.Value == b.Value
	case syntax.Mapping:
		return slices.EqualFunc(sortedKeys(a), sortedKeys(b), func(x, y *syntax.Node) bool {
			return x.Value == y.Value && equalValues(x.Next, y.Next, depth+1)
		})
	}
	x, y := a.First, b.First
	for x != nil && y != nil && equalValues(x, y, depth+1) {
		x, y = x.Next, y.Next
	}
	return x == nil && y == nil
}

// sortedKeys returns the keys of a mapping by name; those with one name keep their order.
func sortedKeys(mapping *syntax.Node) []*syntax.Node {
	var keys []*syntax.Node
	for key := mapping.First; key != nil; key = key.Next.Next {
		keys = append(keys, key)
	}
	slices.SortStableFunc(keys, func(a, b *syntax.Node) int { return strings.Compare(a.Value, b.Value) })
	return keys
}
