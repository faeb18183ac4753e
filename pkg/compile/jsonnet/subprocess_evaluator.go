package jsonnet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/compile/subprocess"
)

// SubprocessEvaluator evaluates in a process of its own, which runs Serve on its standard input and output.
type SubprocessEvaluator struct {
	// Start starts one, with limits.
	Start func() (subprocess.Process, error)
	// Limits says in a message what they are.
	Limits string
}

// Evaluate implements Evaluator.
func (a SubprocessEvaluator) Evaluate(root fs.FS, files []*source.File) []Result {
	p := a.newClient(root)
	defer p.End()
	results := make([]Result, len(files))
	for i, file := range files {
		results[i] = p.Call(file, "")
	}
	return results
}

// Open implements Evaluator. The functions share a process, which is started when the first is called.
func (a SubprocessEvaluator) Open(root fs.FS) FunctionCaller { return a.newClient(root) }

func (a SubprocessEvaluator) newClient(root fs.FS) *workerClient {
	return &workerClient{SubprocessEvaluator: a, root: root, worker: subprocess.Worker{Start: a.Start}}
}

// workerClient is our side of the process.
type workerClient struct {
	SubprocessEvaluator
	root   fs.FS
	worker subprocess.Worker
}

// workerRequest is what the parent writes: a program to evaluate or to call, or the answer to a question.
type workerRequest struct {
	Program string `json:",omitempty"`
	// Argument is in JSON what the program, a function, is called with; empty for one that is a value.
	Argument string `json:",omitempty"`
	Data     []byte `json:",omitempty"`
	Failed   string `json:",omitempty"`
}

// workerReply is what the process writes: a question for an import, or a result.
type workerReply struct {
	Import string  `json:",omitempty"`
	Result *Result `json:",omitempty"`
}

// Call implements FunctionCaller; without an argument it evaluates the program.
func (p *workerClient) Call(file *source.File, argument string) (result Result) {
	err := p.worker.Do(func(line subprocess.JSONPipe) (err error) {
		result, err = p.evaluateInWorker(line, workerRequest{Program: file.Path, Data: file.Data, Argument: argument})
		return err
	})
	if err != nil {
		return Result{Err: p.failureOf(file, err)}
	}
	locateError(&result, file, p.root)
	return result
}

func (p *workerClient) End() { p.worker.End() }

// failureOf is the error of a program that has no result.
func (p *workerClient) failureOf(file *source.File, err error) *Error {
	var ended *subprocess.EndedError
	if !errors.As(err, &ended) {
		return &Error{Path: file.Path, Message: fmt.Sprintf("cannot be evaluated: no process: %v", err)}
	}
	return &Error{
		Path: file.Path, Limit: true,
		Message: fmt.Sprintf("the evaluation was ended: %s", ended.Reason),
		Help:    "evaluation may take " + p.Limits + ": look for a recursion or a loop that does not end",
	}
}

// evaluateInWorker sends a program and answers the questions about its imports. An error is that of the process.
func (p *workerClient) evaluateInWorker(line subprocess.JSONPipe, question workerRequest) (Result, error) {
	for {
		var r workerReply
		if err := line.Ask(question, &r); err != nil {
			return Result{}, err
		}
		if r.Result != nil {
			return *r.Result, nil
		}
		question = p.answerImport(r.Import)
	}
}

// answerImport reads an import. The name is checked here too, since the process is not trusted.
func (p *workerClient) answerImport(name string) workerRequest {
	name, err := resolveImport("", name)
	if err != nil {
		return workerRequest{Failed: err.Error()}
	}
	data, err := readImport(p.root, name)
	if err != nil {
		return workerRequest{Failed: err.Error()}
	}
	return workerRequest{Data: data}
}

func (s *vmSession) runRequest(program workerRequest) Result {
	if program.Argument != "" {
		return s.callFunction(program.Program, program.Argument)
	}
	return s.evaluate(program.Program)
}

// Serve evaluates what arrives until the input ends. It is the other side of SubprocessEvaluator.
func Serve(r io.Reader, w io.Writer) error {
	encoder, decoder := json.NewEncoder(w), json.NewDecoder(r)
	s := newSession(func(name string) ([]byte, error) {
		var answer workerRequest
		if err := errors.Join(encoder.Encode(workerReply{Import: name}), decoder.Decode(&answer)); err != nil {
			return nil, err
		}
		if answer.Failed != "" {
			return nil, errors.New(answer.Failed)
		}
		return answer.Data, nil
	})
	for {
		var program workerRequest
		if err := decoder.Decode(&program); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a program: %w", err)
		}
		s.addProgram(program.Program, program.Data)
		result := s.runRequest(program)
		if err := encoder.Encode(workerReply{Result: &result}); err != nil {
			return fmt.Errorf("write a result: %w", err)
		}
	}
}
