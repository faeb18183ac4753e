package convert

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"lockstep.dev/lockstep/pkg/compile/decode/syntax"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// The limits of one file, against text that is small and means very much.
const (
	maxDepth  = 64
	maxValues = 200_000
)

// Problem is text that cannot be read as MPIJobs, or an MPIJob that the API server would refuse.
type Problem struct {
	At source.Span
	// Message says what was found and what is allowed.
	Message string
}

// OtherObject is an object of another kind in the same file. It is left as it is.
type OtherObject struct {
	At   source.Span
	Kind string
	Name string
}

// Input is what files hold.
type Input struct {
	Jobs     []*MPIJob
	Others   []OtherObject
	Problems []Problem
}

// ReadInput reads the documents of a file. A list (kind List or MPIJobList) counts as what it holds.
func ReadInput(file *source.File) Input {
	var in Input
	if file.Err != nil {
		in.addProblem(source.WholeFile(file), "%s", source.Reason(file.Err))
		return in
	}
	if !utf8.Valid(file.Data) {
		in.addProblem(source.WholeFile(file), "the file is not UTF-8 text")
		return in
	}
	var reader syntax.Reader
	documents, err := reader.YAML(file)
	if err != nil {
		at := source.WholeFile(file)
		if located, ok := err.(*syntax.Error); ok { //nolint:errorlint // the reader returns it as it is
			at, err = located.At, fmt.Errorf("%s", located.Message)
		}
		in.addProblem(at, "no YAML: %v%s", err, templateHint(file))
	}
	for _, document := range documents {
		in.readDocument(file, document)
	}
	return in
}

// Append adds what another file holds.
func (in *Input) Append(other Input) {
	in.Jobs = append(in.Jobs, other.Jobs...)
	in.Others = append(in.Others, other.Others...)
	in.Problems = append(in.Problems, other.Problems...)
}

func (in *Input) addProblem(at source.Span, format string, args ...any) {
	in.Problems = append(in.Problems, Problem{At: at, Message: fmt.Sprintf(format, args...)})
}

func (in *Input) readDocument(file *source.File, root *syntax.Node) {
	root = root.Follow()
	if root.Kind != syntax.Mapping {
		in.addProblem(root.At.In(file), "a document is a mapping with `apiVersion` and `kind`")
		return
	}
	kind, version := scalarOf(root, "kind"), scalarOf(root, "apiVersion")
	if kind == "List" || kind == "MPIJobList" {
		in.readList(file, root)
		return
	}
	if kind != kindMPIJob {
		name := ""
		if metadata := root.Get("metadata"); metadata != nil {
			name = scalarOf(metadata.Follow(), "name")
		}
		in.Others = append(in.Others, OtherObject{At: root.At.In(file), Kind: kind, Name: name})
		return
	}
	if version != versionV2beta1 && version != versionV1 {
		in.addProblem(root.At.In(file), "apiVersion is `%s`; MPIJobs of `%s` and `%s` are read: let the operator that runs it write it as one of these", version, versionV2beta1, versionV1)
		return
	}
	d := &yamlDocument{file: file, at: root.At.In(file), places: map[string]source.Span{}, values: map[string]string{}}
	value, err := d.buildValue(root, "", 0)
	if err == nil {
		var job *MPIJob
		if job, err = decodeJob(d, version, value); err == nil {
			in.Jobs = append(in.Jobs, job)
			return
		}
	}
	at := d.at
	if located, ok := err.(*placedError); ok { //nolint:errorlint // our own, never wrapped
		at = located.at
	}
	in.addProblem(at, "%v%s", err, templateHint(file))
}

// templateHint says what to do with a template of Helm, which is not YAML before it is rendered.
func templateHint(file *source.File) string {
	if strings.Contains(file.Text(), "{{") {
		return "; a template is rendered first, as by `helm template`"
	}
	return ""
}

func (in *Input) readList(file *source.File, root *syntax.Node) {
	items := root.Get("items")
	if items == nil || items.Follow().Kind != syntax.Sequence {
		in.addProblem(root.At.In(file), "a list has `items`")
		return
	}
	for item := items.Follow().First; item != nil; item = item.Next {
		if scalarOf(item.Follow(), "kind") == "List" {
			in.addProblem(item.At.In(file), "a list in a list")
			continue
		}
		in.readDocument(file, item)
	}
}

func scalarOf(n *syntax.Node, key string) string {
	if n == nil || n.Kind != syntax.Mapping {
		return ""
	}
	if value := n.Get(key); value != nil && value.Follow().Kind == syntax.Scalar {
		return value.Follow().Value
	}
	return ""
}

// yamlDocument is one object as text: the places and the leaves of its values, by path.
type yamlDocument struct {
	file *source.File
	at   source.Span
	// places are those of keys, or of the items of lists.
	places map[string]source.Span
	// leaves are the paths of all scalars but null, in the order of the text, and values what they say.
	leaves []string
	values map[string]string
	count  int
}

// placedError is an error with a place.
type placedError struct {
	at      source.Span
	message string
}

func (p *placedError) Error() string { return p.message }

func (d *yamlDocument) errorAt(n *syntax.Node, format string, args ...any) error {
	return &placedError{at: n.At.In(d.file), message: fmt.Sprintf(format, args...)}
}

// buildValue returns a value as encoding/json has it, and notes places and leaves.
func (d *yamlDocument) buildValue(n *syntax.Node, path string, depth int) (any, error) {
	n = n.Follow()
	if d.count++; d.count > maxValues || depth > maxDepth {
		return nil, d.errorAt(n, "too much: a document has at most %d values, %d deep", maxValues, maxDepth)
	}
	switch n.Kind {
	case syntax.Mapping:
		result := map[string]any{}
		return result, d.buildEntries(n, path, depth, result, false)
	case syntax.Sequence:
		result := make([]any, 0, n.Len())
		for item := n.First; item != nil; item = item.Next {
			at := path + "[" + strconv.Itoa(len(result)) + "]"
			d.places[at] = item.At.In(d.file)
			value, err := d.buildValue(item, at, depth+1)
			if err != nil {
				return nil, err
			}
			result = append(result, value)
		}
		return result, nil
	}
	value, err := d.buildScalar(n)
	if value != nil {
		d.leaves = append(d.leaves, path)
		d.values[path] = n.Value
	}
	return value, err
}

// buildEntries fills a mapping. What is merged (`<<`) gives way to what is written.
func (d *yamlDocument) buildEntries(n *syntax.Node, path string, depth int, result map[string]any, merged bool) error {
	for key := n.First; key != nil; key = key.Next.Next {
		name, value := key.Follow(), key.Next
		if name.Kind != syntax.Scalar {
			return d.errorAt(key, "a key is a text")
		}
		if name.Tag == syntax.Merge {
			continue
		}
		if _, twice := result[name.Value]; twice {
			if merged {
				continue
			}
			return d.errorAt(key, "`%s` is there twice: keep one", name.Value)
		}
		below := childPath(path, name.Value)
		d.places[below] = key.At.In(d.file)
		made, err := d.buildValue(value, below, depth+1)
		if err != nil {
			return err
		}
		result[name.Value] = made
	}
	return d.buildMerges(n, path, depth, result)
}

func (d *yamlDocument) buildMerges(n *syntax.Node, path string, depth int, result map[string]any) error {
	for key := n.First; key != nil; key = key.Next.Next {
		if key.Follow().Tag != syntax.Merge {
			continue
		}
		from := key.Next.Follow()
		if from.Kind != syntax.Mapping || depth > maxDepth {
			return d.errorAt(key, "`<<` merges one mapping")
		}
		if err := d.buildEntries(from, path, depth+1, result, true); err != nil {
			return err
		}
	}
	return nil
}

// decimal is a number that all readers of YAML take for the same.
var decimal = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

func (d *yamlDocument) buildScalar(n *syntax.Node) (any, error) {
	switch n.Tag {
	case syntax.Null:
		return nil, nil
	case syntax.Bool:
		return strings.EqualFold(n.Value, "true"), nil
	case syntax.Int, syntax.Float:
		if !decimal.MatchString(n.Value) {
			return nil, d.errorAt(n, "`%s` means different numbers to different readers of YAML: write it in decimal, or in quotes if it is a text", n.Value)
		}
		return json.Number(n.Value), nil
	case syntax.Foreign:
		return nil, d.errorAt(n, "the tag `%s` has no meaning in an MPIJob", n.Foreign)
	}
	return n.Value, nil
}

// plain are keys that need no quotes in a path.
var plain = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// childPath is the path of an entry, as kubectl writes it.
func childPath(path, key string) string {
	switch {
	case !plain.MatchString(key):
		return path + "[" + strconv.Quote(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// isWithinPath reports whether a path is another or below it.
func isWithinPath(path, above string) bool {
	rest, found := strings.CutPrefix(path, above)
	return found && (rest == "" || above == "" || rest[0] == '.' || rest[0] == '[')
}

// parentPath is the path of what holds a value.
func parentPath(path string) string {
	inQuotes := false
	for i := len(path) - 1; i >= 0; i-- {
		switch c := path[i]; {
		case c == '"' && (i == 0 || path[i-1] != '\\'):
			inQuotes = !inQuotes
		case !inQuotes && (c == '.' || c == '['):
			return path[:i]
		}
	}
	return ""
}

// placeOf is where a path is, or the nearest that holds it.
func (d *yamlDocument) placeOf(path string) source.Span {
	for ; path != ""; path = parentPath(path) {
		if at, found := d.places[path]; found {
			return at
		}
	}
	return d.at
}

// hasPath reports whether the document says anything at a path.
func (d *yamlDocument) hasPath(path string) bool {
	_, found := d.places[path]
	return found
}
