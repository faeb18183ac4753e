// Package bench is what the measurements on a real cluster share: each brings Lockstep up on two machines, measures, prints
// a table, and writes its numbers as JSON to the file of -out, by default that of the environment variable OUT.
//
// A measurement registers its own flags first, then calls Main, which parses them. What Main started it also stops, after a
// failure or Ctrl-C too.
package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/trial"
)

// Machines is the number of nodes of the cluster.
const Machines = 2

// Report is what was measured. Its JSON belongs into docs/benchmarks.md.
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
	p, err := platform.Up(ctx, tools, Machines, platform.NewProgress(os.Stdout))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close(context.Background())) }()
	report, err := measure(ctx, p)
	if err != nil {
		return err
	}
	report.Print(os.Stdout)
	return errors.Join(write(out, report), report.Verdict())
}

func write(out string, report Report) error {
	if out == "" {
		return nil
	}
	if drawn, ok := report.(Drawn); ok {
		if err := os.WriteFile(strings.TrimSuffix(out, ".json")+".svg", []byte(drawn.Drawing()), 0o644); err != nil {
			return err
		}
	}
	return trial.WriteJSON(out, report)
}
