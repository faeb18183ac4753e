// Package subprocess asks processes that may come to their end over it: what strangers wrote is evaluated and rendered in processes with
// limits, so that it can neither crash nor occupy the compiler. What is asked, and how a process is started, is the business of others.
//
// One process answers until it ends. What was in its hands is then asked once more of a fresh one, because those before it may have used
// up the limits; what ends a fresh process is itself the reason.
package subprocess

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Process is a started process that answers on its standard output what it reads on its standard input.
type Process interface {
	io.ReadWriter
	// End ends the process and returns why it had ended before, or "".
	End() string
}

// Worker is a process that is started when it is asked, and replaced when it ended. It is for one goroutine at a time.
type Worker struct {
	// Start starts a process, with limits.
	Start func() (Process, error)

	process Process
	line    JSONPipe
}

// EndedError is the error of what ended a fresh process.
type EndedError struct{ Reason string }

func (e *EndedError) Error() string { return e.Reason }

// Do lets ask talk to the process. An error of ask is that of the process, which has ended or is ended; then ask may be called once more,
// with another. Do returns an error of Start as it is, or an *EndedError.
func (w *Worker) Do(ask func(JSONPipe) error) error {
	used := w.process != nil
	err := w.tryOnce(ask)
	if ended := (*EndedError)(nil); used && errors.As(err, &ended) {
		return w.tryOnce(ask)
	}
	return err
}

func (w *Worker) tryOnce(ask func(JSONPipe) error) error {
	if w.process == nil {
		process, err := w.Start()
		if err != nil {
			return err
		}
		w.process, w.line = process, JSONPipe{json.NewEncoder(process), json.NewDecoder(process)}
	}
	failed := ask(w.line)
	if failed == nil {
		return nil
	}
	reason := w.End()
	if reason == "" {
		reason = fmt.Sprintf("it gave no result: %v", failed)
	}
	return &EndedError{reason}
}

// End ends the process, if there is one, and returns why it had ended before, or "". More may be asked afterwards.
func (w *Worker) End() string {
	if w.process == nil {
		return ""
	}
	process := w.process
	w.process = nil
	return process.End()
}

// JSONPipe is JSON in both directions between us and a process.
type JSONPipe struct {
	encoder *json.Encoder
	decoder *json.Decoder
}

// Ask writes a question and reads the answer.
func (l JSONPipe) Ask(question, answer any) error {
	if err := l.encoder.Encode(question); err != nil {
		return err
	}
	return l.decoder.Decode(answer)
}
