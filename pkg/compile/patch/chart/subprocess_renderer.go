package chart

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"lockstep.dev/lockstep/pkg/compile/subprocess"
)

// SubprocessRenderer renders in a process of its own, which runs Serve on its standard input and output.
type SubprocessRenderer struct {
	// Start starts one, with limits.
	Start func() (subprocess.Process, error)
	// Limits says in a message what they are.
	Limits string
}

// Render implements Renderer.
func (a SubprocessRenderer) Render(charts []Chart) []Rendered {
	worker := subprocess.Worker{Start: a.Start}
	defer worker.End()
	results := make([]Rendered, len(charts))
	for i := range charts {
		var rendered Rendered
		if err := worker.Do(func(line subprocess.JSONPipe) error { return line.Ask(charts[i], &rendered) }); err != nil {
			rendered = Rendered{Failed: a.failureText(err)}
		}
		results[i] = rendered
	}
	return results
}

// failureText says why a chart was not rendered.
func (a SubprocessRenderer) failureText(err error) string {
	if ended := (*subprocess.EndedError)(nil); errors.As(err, &ended) {
		return fmt.Sprintf("the rendering was ended: %s (it may take %s)", ended.Reason, a.Limits)
	}
	return err.Error()
}

// Serve renders what arrives until the input ends. It is the other side of SubprocessRenderer.
func Serve(r io.Reader, w io.Writer, renderer Renderer) error {
	encoder, decoder := json.NewEncoder(w), json.NewDecoder(r)
	for {
		var c Chart
		if err := decoder.Decode(&c); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a chart: %w", err)
		}
		if err := encoder.Encode(renderer.Render([]Chart{c})[0]); err != nil {
			return fmt.Errorf("write a result: %w", err)
		}
	}
}
