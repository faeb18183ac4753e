package jsonnet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"

	gojsonnet "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"
	"github.com/google/go-jsonnet/formatter"
)

// vmSession evaluates programs with one virtual machine, so that what they share is read and evaluated once.
type vmSession struct {
	vm *gojsonnet.VM
	*cachingImporter
}

func newSession(open func(name string) ([]byte, error)) *vmSession {
	s := &vmSession{vm: gojsonnet.MakeVM(), cachingImporter: &cachingImporter{open: open, contents: map[string]gojsonnet.Contents{}}}
	s.vm.MaxStack = MaxStack
	s.vm.Importer(s.cachingImporter)
	s.vm.SetTraceOut(io.Discard)
	return s
}

// cachingImporter gives files to the virtual machine, each once.
type cachingImporter struct {
	open     func(name string) ([]byte, error)
	contents map[string]gojsonnet.Contents
}

// Import implements gojsonnet.Importer.
func (i *cachingImporter) Import(from, imported string) (gojsonnet.Contents, string, error) {
	if from == "" { // a program
		return i.contents[imported], imported, nil
	}
	name, err := resolveImport(from, imported)
	if err != nil {
		return gojsonnet.Contents{}, "", err
	}
	if known, found := i.contents[name]; found {
		return known, name, nil
	}
	data, err := i.open(name)
	if err != nil {
		return gojsonnet.Contents{}, "", err
	}
	i.addProgram(name, data)
	return i.contents[name], name, nil
}

// addProgram makes the content of a program known.
func (i *cachingImporter) addProgram(name string, data []byte) {
	if _, found := i.contents[name]; !found {
		i.contents[name] = gojsonnet.MakeContentsRaw(bytes.TrimPrefix(data, []byte("\ufeff")))
	}
}

// evaluate evaluates a program that was added.
func (s *vmSession) evaluate(name string) Result {
	node, _, err := s.vm.ImportAST("", name)
	if err != nil {
		return Result{Err: explainError(name, err)}
	}
	output, err := s.vm.Evaluate(node)
	if err != nil {
		return Result{Err: explainError(name, err)}
	}
	if len(output) > MaxOutput {
		return Result{Err: tooLongError(name)}
	}
	return Result{Documents: splitDocuments(output), Literals: s.literals(name)}
}

func tooLongError(name string) *Error {
	return &Error{Path: name, Limit: true, Message: fmt.Sprintf("the program yields more than %d bytes of JSON", MaxOutput), Help: "split the file"}
}

// splitDocuments returns the documents of a program's value: those of an array, or the value itself. A null is not a document.
func splitDocuments(output string) []Document {
	var items []json.RawMessage
	if strings.HasPrefix(output, "[") && json.Unmarshal([]byte(output), &items) == nil {
		documents := make([]Document, 0, len(items))
		for i, item := range items {
			if string(item) != "null" {
				documents = append(documents, Document{JSON: string(item), Path: fmt.Sprintf("/%d", i)})
			}
		}
		return documents
	}
	if strings.TrimSpace(output) == "null" {
		return nil
	}
	return []Document{{JSON: output}}
}

// literals returns where the program writes its value.
func (s *vmSession) literals(name string) map[string]Literal {
	raw, _, err := formatter.SnippetToRawAST(name, s.contents[name].String())
	if err != nil {
		return nil // it was parsed before
	}
	return literalsOf(raw)
}

// locatedError is implemented by the errors of go-jsonnet's parser, whose type is internal.
type locatedError interface {
	error
	Loc() ast.LocationRange
}

func explainError(name string, err error) *Error {
	var static locatedError
	if errors.As(err, &static) {
		loc := static.Loc()
		message := strings.TrimSpace(strings.TrimPrefix(static.Error(), loc.String()))
		return withPlace(name, loc, &Error{Message: "not valid Jsonnet: " + message})
	}
	var failed gojsonnet.RuntimeError
	if !errors.As(err, &failed) {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return &Error{Path: name, Message: "cannot be evaluated: " + first}
	}
	result := &Error{Path: name, Message: "cannot be evaluated: " + failed.Msg}
	if imported := ofImport().FindStringSubmatch(failed.Msg); imported != nil {
		line, _ := strconv.Atoi(imported[2]) // digits
		column, _ := strconv.Atoi(imported[3])
		result = &Error{Path: imported[1], At: Range{Line: line, Column: column, EndLine: line, EndColumn: column + 1}, Message: "not valid Jsonnet: " + imported[4]}
	}
	if failed.Msg == "max stack frames exceeded." {
		result.Message, result.Limit = fmt.Sprintf("calls are nested more than %d deep", MaxStack), true
		result.Help = "end the recursion, or use std.foldl"
	}
	return withTrace(name, failed.StackTrace, result)
}

// ofImport is how go-jsonnet words a mistake in the text of an imported file: the file, where the mistake begins, its end, what is wrong.
var ofImport = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([^\s:]+):\(?(\d+):(\d+)\)?(?:-[()\d:]+)? (.*)`)
})

// maxTrace is how many calls an error shows.
const maxTrace = 5

// withTrace puts an error at the innermost place that is in a file, and keeps some of those around it.
func withTrace(name string, frames []gojsonnet.TraceFrame, e *Error) *Error {
	for i := len(frames) - 1; i >= 0; i-- { // go-jsonnet has the innermost frame last
		loc := frames[i].Loc
		switch {
		case !loc.IsSet() || loc.FileName == "":
		case e.At == (Range{}):
			e = withPlace(name, loc, e)
		case len(e.Trace) < maxTrace:
			e.Trace = append(e.Trace, fmt.Sprintf("used at %s:%d:%d", loc.FileName, loc.Begin.Line, loc.Begin.Column))
		}
	}
	return e
}

func withPlace(name string, loc ast.LocationRange, e *Error) *Error {
	e.Path = name
	if loc.FileName != "" {
		e.Path = loc.FileName
	}
	e.At = rangeOf(loc)
	return e
}

func rangeOf(loc ast.LocationRange) Range {
	return Range{Line: loc.Begin.Line, Column: loc.Begin.Column, EndLine: loc.End.Line, EndColumn: loc.End.Column}
}
