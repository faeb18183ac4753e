package chart

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Process is a started process that runs Serve on its standard input and output.
type Process interface {
	io.ReadWriter
	// End ends the process and returns why it had ended before, or "".
	End() string
}

// Apart renders in a process of its own.
type Apart struct {
	// Start starts one, with limits.
	Start func() (Process, error)
	// Limits says in a message what they are.
	Limits string
}

// Render implements Renderer. One process renders the charts until it ends; the chart in its hands is tried once more in a fresh one,
// because its predecessors may have used up the limits, and the rest goes on in another.
func (a Apart) Render(charts []Chart) []Rendered {
	rendered := make([]Rendered, len(charts))
	for next := 0; next < len(charts); {
		next = a.run(charts, rendered, next)
	}
	return rendered
}

// run renders from a chart on, and returns the first chart that has no result yet.
func (a Apart) run(charts []Chart, rendered []Rendered, first int) (next int) {
	process, err := a.Start()
	if err != nil {
		rendered[first].Failed = err.Error()
		return first + 1
	}
	encoder, decoder := json.NewEncoder(process), json.NewDecoder(process)
	for i := first; i < len(charts); i++ {
		failed := errors.Join(encoder.Encode(charts[i]), decoder.Decode(&rendered[i]))
		if failed == nil {
			continue
		}
		reason := process.End()
		if reason == "" {
			reason = fmt.Sprintf("it gave no result: %v", failed)
		}
		if i > first {
			return i
		}
		rendered[i] = Rendered{Failed: fmt.Sprintf("the rendering was ended: %s (it may take %s)", reason, a.Limits)}
		return i + 1
	}
	process.End()
	return len(charts)
}

// Serve renders what arrives until the input ends. It is the other side of Apart.
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
