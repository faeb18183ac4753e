package jsonnet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"lockstep.dev/lockstep/pkg/compile/source"
)

// Process is a started process that runs Serve on its standard input and output.
type Process interface {
	io.ReadWriter
	// End ends the process and returns why it had ended before, or "".
	End() string
}

// Apart evaluates in a process of its own.
type Apart struct {
	// Start starts one, with limits.
	Start func() (Process, error)
	// Limits says in a message what they are.
	Limits string
}

// request is what the parent writes: a program to evaluate or to call, or the answer to a question.
type request struct {
	Program string `json:",omitempty"`
	// Argument is in JSON what the program, a function, is called with; empty for one that is a value.
	Argument string `json:",omitempty"`
	Data     []byte `json:",omitempty"`
	Failed   string `json:",omitempty"`
}

// reply is what the process writes: a question for an import, or a result.
type reply struct {
	Import string  `json:",omitempty"`
	Result *Result `json:",omitempty"`
}

// Evaluate implements Evaluator. One process evaluates the files until it ends; the file in its hands is tried once more in a fresh
// one, because its predecessors may have used up the limits, and the rest goes on in another.
func (a Apart) Evaluate(root fs.FS, files []*source.File) []Result {
	results := make([]Result, len(files))
	for next := 0; next < len(files); {
		next = a.run(root, files, results, next)
	}
	return results
}

// run evaluates from a file on, and returns the first file that has no result yet.
func (a Apart) run(root fs.FS, files []*source.File, results []Result, first int) (next int) {
	process, err := a.Start()
	if err != nil {
		results[first].Err = &Error{Path: files[first].Path, Message: fmt.Sprintf("cannot be evaluated: no process: %v", err)}
		return first + 1
	}
	p := parent{root: root, encoder: json.NewEncoder(process), decoder: json.NewDecoder(process)}
	for i := first; i < len(files); i++ {
		result, err := p.ask(request{Program: files[i].Path, Data: files[i].Data})
		if err == nil {
			locate(&result, files[i], root)
			results[i] = result
			continue
		}
		reason := process.End()
		if reason == "" {
			reason = fmt.Sprintf("it gave no result: %v", err)
		}
		if i > first {
			return i
		}
		results[i].Err = a.ended(files[i], reason)
		return i + 1
	}
	process.End()
	return len(files)
}

// ended is the error of a program that ended its process.
func (a Apart) ended(file *source.File, reason string) *Error {
	return &Error{
		Path: file.Path, Limit: true,
		Message: fmt.Sprintf("the evaluation was ended: %s", reason),
		Help:    "evaluation may take " + a.Limits + ": look for a recursion or a loop that does not end",
	}
}

type parent struct {
	root    fs.FS
	encoder *json.Encoder
	decoder *json.Decoder
}

// ask sends a program and answers the questions about its imports. An error is that of the process.
func (p parent) ask(program request) (Result, error) {
	if err := p.encoder.Encode(program); err != nil {
		return Result{}, err
	}
	for {
		var r reply
		if err := p.decoder.Decode(&r); err != nil {
			return Result{}, err
		}
		if r.Result != nil {
			return *r.Result, nil
		}
		if err := p.encoder.Encode(p.answer(r.Import)); err != nil {
			return Result{}, err
		}
	}
}

// answer reads an import. The name is checked here too, since the process is not trusted.
func (p parent) answer(name string) request {
	name, err := resolve("", name)
	if err != nil {
		return request{Failed: err.Error()}
	}
	data, err := readImport(p.root, name)
	if err != nil {
		return request{Failed: err.Error()}
	}
	return request{Data: data}
}

func (s *session) run(program request) Result {
	if program.Argument != "" {
		return s.call(program.Program, program.Argument)
	}
	return s.evaluate(program.Program)
}

// Serve evaluates what arrives until the input ends. It is the other side of Apart.
func Serve(r io.Reader, w io.Writer) error {
	encoder, decoder := json.NewEncoder(w), json.NewDecoder(r)
	s := newSession(func(name string) ([]byte, error) {
		var answer request
		if err := errors.Join(encoder.Encode(reply{Import: name}), decoder.Decode(&answer)); err != nil {
			return nil, err
		}
		if answer.Failed != "" {
			return nil, errors.New(answer.Failed)
		}
		return answer.Data, nil
	})
	for {
		var program request
		if err := decoder.Decode(&program); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a program: %w", err)
		}
		s.add(program.Program, program.Data)
		result := s.run(program)
		if err := encoder.Encode(reply{Result: &result}); err != nil {
			return fmt.Errorf("write a result: %w", err)
		}
	}
}
