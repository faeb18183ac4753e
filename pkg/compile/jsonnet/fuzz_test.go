package jsonnet

import (
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/google/go-jsonnet/formatter"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// FuzzLiterals parses anything and looks for its literals. Every place must be in the file. Nothing is evaluated: that belongs into a
// process of its own, see SubprocessEvaluator.
func FuzzLiterals(f *testing.F) {
	for _, seed := range []string{
		`{a: 1, "b": [2, {c: 3}], 'd'+: {e:: 4}, [f]: 5, g(x): 6, local h = 7, assert true}`, `local a = {b: 1}, c(x) = x; a { d: a } + (a) + c(1)`,
		"|||\n  x\n|||", `[x for x in [1]]`, "import 'x'", `local a = a; a`, "{ 'ä': 'ö', /* ü */ x: 1 }", `{a: 1} {a+: {b: 2}}`, `local a = b, b = a; b`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 || !utf8.ValidString(text) {
			return
		}
		program, _, err := formatter.SnippetToRawAST("a.jsonnet", text)
		if err != nil {
			// Syntax errors come before evaluation.
			if r := (InProcessEvaluator{}).Evaluate(fstest.MapFS{}, []*source.File{source.NewFile("a.jsonnet", []byte(text))})[0]; r.Err == nil {
				t.Fatalf("no error, but %v", err)
			}
			return
		}
		file := source.NewFile("a.jsonnet", []byte(text))
		for path, literal := range literalsOf(program) {
			for _, r := range []Range{literal.Key, literal.Value} {
				span := r.Span(file)
				if end := span.Column + span.Length - 1; r.Line > 0 && end > max(1, utf8.RuneCountInString(file.Line(span.Line))) {
					t.Errorf("%s is at %s, which ends at %d", path, span, end)
				}
			}
		}
	})
}
