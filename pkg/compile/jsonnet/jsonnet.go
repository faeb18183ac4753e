// Package jsonnet evaluates spec files that are Jsonnet programs. A program yields one document or an array of documents; or it is a
// function that overlays change objects with (function_caller.go).
//
// Programs are pure: no external variables, no native functions, no clock, no network. Imports (import, importstr,
// importbin) are relative to the file that imports and lead to regular files below the root of the repository.
// Callers pass a root that confines symbolic links (source.Visible).
//
// go-jsonnet has a limit for the depth of calls, but none for steps and memory, and a tail call that never ends crashes the whole
// process (the overflow of a Go stack cannot be caught). Programs of strangers are therefore evaluated by SubprocessEvaluator: in a process of its
// own, which has limits on processor time, memory and stack from the operating system and is ended when it reaches one; the file in
// its hands is then reported and the others go on. The process opens no file: it asks for imports, and the repository, which may be
// the tree of a git revision, stays here. InProcessEvaluator has no limits.
package jsonnet

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// The limits of one file.
const (
	// MaxStack is how deep calls may be nested, tail calls aside.
	MaxStack = 200
	// MaxOutput is the size of all documents of a file as JSON, in bytes.
	MaxOutput = 4 << 20
	// MaxImport is the size of an imported file, in bytes.
	MaxImport = source.MaxFileSize
)

// Evaluator evaluates programs. It returns one result per file, in their order.
type Evaluator interface {
	Evaluate(root fs.FS, files []*source.File) []Result
	// Open returns what calls functions below a root.
	Open(root fs.FS) FunctionCaller
}

// Result is what a program gave: documents or an error.
type Result struct {
	Documents []Document
	// Literals are the places of what is written literally in the program, by JSON pointer (RFC 6901) from the program's value, in
	// which Items stands for all items that a comprehension makes. A computed value is in the literal around it.
	Literals map[string]Literal
	Err      *Error
}

// Document is one value.
type Document struct {
	// JSON is the value.
	JSON string
	// Path of the document in the program's value: empty, or "/0" for the first of an array.
	Path string
}

// Items is the part of a path that stands for all items of a comprehension. No key of a spec is like it.
const Items = "\x00"

// Literal is where a value is written.
type Literal struct {
	// Key is the name of a field; the zero Range for others.
	Key Range
	// Value is the expression.
	Value Range
	// Shared says that several values may be written here: in a function or a comprehension.
	Shared bool
}

// Range is a piece of a file. Columns count bytes, from 1; the end belongs to it no more. The zero Range is nowhere.
type Range struct {
	Line, Column, EndLine, EndColumn int
}

// Error is why a program gave nothing.
type Error struct {
	// Path is the file with the mistake, which may be an imported one; At is where.
	Path string
	At   Range
	// Message has no place in it.
	Message string
	// Help is what to do, where that is known.
	Help string
	// Trace are the calls that led there, innermost first.
	Trace []string
	// Limit says that the program is too complex, not wrong.
	Limit bool

	file *source.File
}

func (e *Error) Error() string { return e.Path + ": " + e.Message }

// Span returns the place of the mistake; file is the program.
func (e *Error) Span(file *source.File) source.Span {
	if e.file != nil {
		file = e.file
	}
	return e.At.Span(file)
}

// Span returns the range in characters: to its end, or to the end of its first line.
func (r Range) Span(file *source.File) source.Span {
	line := file.Line(r.Line)
	if r.Line == 0 || line == "" {
		return source.WholeFile(file)
	}
	begin := min(max(1, r.Column), len(line)) - 1
	end := len(line)
	if r.EndLine == r.Line {
		end = min(max(begin+1, r.EndColumn-1), len(line))
	}
	return file.Token(r.Line, utf8.RuneCountInString(line[:begin])+1, utf8.RuneCountInString(line[begin:end]))
}

// resolveImport returns the path of an import, relative to the root.
func resolveImport(from, imported string) (string, error) {
	if path.IsAbs(imported) || strings.Contains(imported, `\`) {
		return "", fmt.Errorf("cannot import `%s`: the path must be relative to the file, with slashes", imported)
	}
	name := path.Join(path.Dir(from), imported)
	if name == "." || !fs.ValidPath(name) {
		return "", fmt.Errorf("cannot import `%s`: it is not below the root of the repository", imported)
	}
	return name, nil
}

// readImport returns the content of a file that resolve returned.
func readImport(root fs.FS, name string) ([]byte, error) {
	data, err := source.ReadBounded(root, name, MaxImport)
	if err != nil {
		return nil, fmt.Errorf("cannot import `%s`: %w", name, source.Reason(err))
	}
	return data, nil
}

// InProcessEvaluator evaluates in this process, for programs that are trusted.
type InProcessEvaluator struct{}

// Evaluate implements Evaluator.
func (InProcessEvaluator) Evaluate(root fs.FS, files []*source.File) []Result {
	s := newSession(func(name string) ([]byte, error) { return readImport(root, name) })
	results := make([]Result, len(files))
	for i, file := range files {
		s.addProgram(file.Path, file.Data)
		results[i] = s.evaluate(file.Path)
		locateError(&results[i], file, root)
	}
	return results
}

// locateError finds the file of an error that is not in the program itself.
func locateError(result *Result, program *source.File, root fs.FS) {
	if result.Err == nil || result.Err.Path == program.Path || result.Err.Path == "" {
		return
	}
	if data, err := readImport(root, result.Err.Path); err == nil {
		result.Err.file = source.NewFile(result.Err.Path, data)
	}
}
