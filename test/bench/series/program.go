package series

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"lockstep.dev/lockstep/test/bench/meter"
	"lockstep.dev/lockstep/test/bench/tool"
	"lockstep.dev/lockstep/test/bench/workload"
	"lockstep.dev/lockstep/test/testjob"
)

// LeastObjects is about the number that promises for a large repository are made for; a smaller workload does not judge them.
const LeastObjects = 40000

// Options are the command line that the measurements of the compiler share.
type Options struct {
	workload.Options
	// Runs is the number of runs of each series.
	Runs int
	// Alone leaves the other tools out.
	Alone bool
	// Compiler is the program to measure, Dir where to work, see Folder.
	Compiler, Dir string
	// Out is the file that the numbers are written to, Table that of earlier ones.
	Out, Table string
}

// Register adds the flags.
func (o *Options) Register(flags *flag.FlagSet) {
	flags.IntVar(&o.Tenants, "tenants", 1000, "`number` of tenants")
	flags.IntVar(&o.Clusters, "clusters", 3, "`number` of clusters")
	flags.Uint64Var(&o.Seed, "seed", 1, "`number` that selects the workload")
	flags.IntVar(&o.Runs, "runs", 5, "`number` of runs of each series")
	flags.StringVar(&o.Compiler, "compiler", "build/bin/runtime-compiler", "`program` to measure")
	flags.BoolVar(&o.Alone, "alone", false, "measure runtime-compiler only")
	flags.StringVar(&o.Dir, "dir", "", "`folder` for specs and output; missing means memory (/dev/shm) where there is some, or TMPDIR")
	flags.StringVar(&o.Out, "out", os.Getenv("OUT"), "write the numbers as JSON to this `file` (OUT)")
	flags.StringVar(&o.Table, "table", "", "print the Markdown table of an earlier `file` and measure nothing")
}

// Report is what a measurement fills, and writes as JSON.
type Report interface {
	// WriteTable writes the numbers as Markdown.
	WriteTable(to io.Writer) error
}

// Run fills the report with what is measured, or reads an earlier one, and prints its table.
func (o *Options) Run(report Report, measure func() error) error {
	if o.Table != "" {
		if err := read(o.Table, report); err != nil {
			return err
		}
		return report.WriteTable(os.Stdout)
	}
	if err := measure(); err != nil {
		return err
	}
	if o.Out != "" {
		if err := testjob.WriteJSON(o.Out, report); err != nil {
			return err
		}
	}
	return report.WriteTable(os.Stdout)
}

func read(name string, report Report) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, report); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// Bench is what a measurement works with.
type Bench struct {
	// Dir is a folder of its own.
	Dir      string
	Compiler tool.Tool
	// Peers are the other tools by name; none of them where the compiler is measured alone.
	Peers map[string]tool.Tool
	Meter *meter.Meter

	name string
}

// Open makes the bench of the program of a name. Peers builds the other tools.
func Open(ctx context.Context, name string, o *Options, peers func(say func(string, ...any)) (map[string]tool.Tool, error)) (b *Bench, err error) {
	b = &Bench{name: name}
	if b.Compiler, err = tool.Ours(ctx, o.Compiler); err != nil {
		return nil, err
	}
	if !o.Alone {
		if b.Peers, err = peers(b.Say); err != nil {
			return nil, err
		}
	}
	if b.Dir, err = os.MkdirTemp(Folder(o.Dir), name+"-"); err != nil {
		return nil, err
	}
	if b.Meter, err = meter.New(ctx, b.Dir); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// Close removes the folder.
func (b *Bench) Close() error { return os.RemoveAll(b.Dir) }

// Say tells how far the program has come.
func (b *Bench) Say(format string, args ...any) {
	_, _ = fmt.Fprintf(os.Stderr, b.name+": "+format+"\n", args...)
}

// Tools are the compiler and those of the peers that are there, in the order of their names.
func (b *Bench) Tools(peers ...string) []tool.Tool {
	tools := []tool.Tool{b.Compiler}
	for _, name := range peers {
		if t, ok := b.Peers[name]; ok {
			tools = append(tools, t)
		}
	}
	return tools
}

// Main is the whole of a program. It ends it with exit code 1 after a failure; Ctrl-C ends run, which cleans up.
func Main(name string, run func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1) //nolint:gocritic // run has cleaned up
	}
}
