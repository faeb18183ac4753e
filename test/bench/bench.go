// Package bench is what the measurements on a real cluster share: each brings Lockstep up on two machines, measures, prints
// a table, and writes its numbers as JSON to the file of -out, by default that of the environment variable OUT.
//
// A measurement registers its own flags first, then calls Main, which parses them. What Main started it also stops, after a
// failure or Ctrl-C too. A measurement that was cut off, by Ctrl-C, its own limit or a failure, still prints and writes what it
// has: the first field of its JSON is then "error", and its exit code is 1.
package bench

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/testjob"
)

// Machines is the number of nodes of the cluster.
const Machines = 2

// How long Finally gives: enough for thousands of pods, and little to somebody who pressed Ctrl-C and waits. What was told to
// go and has not gone by then goes later.
const (
	cleanLimit       = 10 * time.Minute
	interruptedLimit = time.Minute
)

// Report is what was measured. Its JSON is an object that is not empty, and belongs into docs/benchmarks.md.
type Report interface {
	// Print writes a table for people.
	Print(out io.Writer)
	// Verdict is an error where the numbers show a defect. They are written all the same.
	Verdict() error
}

// Drawn is a Report that has a drawing, which comes beside the JSON.
type Drawn interface {
	// Drawing is SVG.
	Drawing() string
}

// Finally is deferred: it does what a measurement owes however it ends, such as removing what it made, in a context that lives on
// for a limited time when that of the measurement has ended. It joins the error to that of the measurement.
func Finally(ctx context.Context, err *error, do func(context.Context) error) {
	limit := cleanLimit
	if ctx.Err() != nil {
		limit = interruptedLimit
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), limit, fmt.Errorf("no end within %s", limit))
	defer cancel()
	*err = errors.Join(*err, do(ctx))
}

// Main is the whole of a program. It ends it with exit code 1 after a failure.
func Main[R Report](measure func(context.Context, *platform.Platform) (R, error)) {
	out := flag.String("out", os.Getenv("OUT"), "write the numbers as JSON to this `file` (OUT)")
	flag.Parse()
	if err := run(measure, *out); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
		os.Exit(1)
	}
}

func run[R Report](measure func(context.Context, *platform.Platform) (R, error), out string) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	tools, err := platform.DefaultTools(os.Stderr)
	if err != nil {
		return err
	}
	p, err := platform.Up(ctx, tools, Machines, platform.NewProgress(os.Stderr))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close(context.Background())) }()
	report, err := measure(ctx, p)
	return errors.Join(err, publish(os.Stdout, out, report, err))
}

// publish prints and writes a report. Numbers that are not complete are not judged: cut says why they are not.
func publish(stdout io.Writer, out string, report Report, cut error) error {
	report.Print(stdout)
	if cut != nil {
		_, _ = fmt.Fprintln(stdout, "NOT COMPLETE: see the error")
		return write(out, report, cut)
	}
	return errors.Join(write(out, report, nil), report.Verdict())
}

// result is a report with the reason why it is not complete, or nil.
type result struct {
	report Report
	cut    error
}

// MarshalJSON puts the error first, where nobody overlooks it.
func (r result) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(r.report)
	if err != nil || r.cut == nil {
		return text, err
	}
	message, err := json.Marshal(r.cut.Error())
	return slices.Concat([]byte(`{"error":`), message, []byte(","), text[1:]), err
}

func write(out string, report Report, cut error) error {
	if out == "" {
		return nil
	}
	if drawn, ok := report.(Drawn); ok {
		if err := os.WriteFile(strings.TrimSuffix(out, ".json")+".svg", []byte(drawn.Drawing()), 0o644); err != nil {
			return err
		}
	}
	return testjob.WriteJSON(out, result{report, cut})
}
