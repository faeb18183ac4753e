package jsonnet

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	gojsonnet "github.com/google/go-jsonnet"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// FunctionCaller calls programs that are functions of one argument, as `function(object) object { … }`, with one value after the other.
// It is for one goroutine at a time.
type FunctionCaller interface {
	// Call calls the function in a file with a value in JSON.
	Call(file *source.File, argument string) Result
	// End gives back what the calls needed. There may be more calls afterwards.
	End()
}

// Open implements Evaluator.
func (InProcessEvaluator) Open(root fs.FS) FunctionCaller {
	return &inProcessCaller{newSession(func(name string) ([]byte, error) { return readImport(root, name) }), root}
}

type inProcessCaller struct {
	*vmSession
	root fs.FS
}

func (h *inProcessCaller) Call(file *source.File, argument string) Result {
	h.addProgram(file.Path, file.Data)
	result := h.callFunction(file.Path, argument)
	locateError(&result, file, h.root)
	return result
}

func (h *inProcessCaller) End() {}

// calling is the name of the program that calls a function, in traces. No file has it.
const calling = "\x00call"

// caller is the program that calls: the name of the function's file and the argument are JSON, which Jsonnet is too.
const caller = "local f = import %s; if std.isFunction(f) && std.length(f) == 1 then f(%s) else error " +
	"'the file must hold a function of one argument, as `function(object) object { … }`'"

// callFunction calls the function in a file that was added.
func (s *vmSession) callFunction(name, argument string) Result {
	if _, _, err := s.vm.ImportAST("", name); err != nil {
		return Result{Err: explainError(name, err)}
	}
	quoted, _ := json.Marshal(name)
	node, err := gojsonnet.SnippetToAST(calling, fmt.Sprintf(caller, quoted, argument))
	if err != nil {
		return Result{Err: withoutCaller(name, explainError(name, err))}
	}
	output, err := s.vm.Evaluate(node)
	switch {
	case err != nil:
		return Result{Err: withoutCaller(name, explainError(name, err))}
	case len(output) > MaxOutput:
		return Result{Err: tooLongError(name)}
	}
	return Result{Documents: splitDocuments(output), Literals: s.literals(name)}
}

// withoutCaller is an error without the program that calls.
func withoutCaller(name string, e *Error) *Error {
	e.Trace = slices.DeleteFunc(e.Trace, func(frame string) bool { return strings.Contains(frame, calling) })
	if e.Path == calling {
		e.Path, e.At = name, Range{}
	}
	return e
}

// Place returns where a program writes a value, or what is around it; path leads from the program's value, with the index of an item of
// a list. Nothing is said of values that the program does not write.
func (r Result) Place(path []string) (at Range, found bool) {
	pointer := ""
	for _, key := range path {
		next := pointer + "/" + EscapePointer(key)
		if _, known := r.Literals[next]; !known {
			next = pointer + "/" + Items
		}
		if _, known := r.Literals[next]; !known {
			break
		}
		pointer = next
	}
	literal, found := r.Literals[pointer]
	return literal.Value, found
}
