// Command start measures how long a user waits for the first rank: the seconds from the creation of a TrainJob to the
// first line of a rank in the launcher's log, for every implementation of the catalog, with fresh names and with a name
// that is created again at once.
//
// It judges nothing but correctness: a run with a missing rank or a restarted launcher ends it with exit code 1. The
// numbers belong into docs/benchmarks.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"text/tabwriter"

	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/trial"
)

const (
	tenant       = "team-vision"
	machines     = 2
	nodes, slots = 2, 2
)

var runtimes = []string{"openmpi4-cpu", "openmpi5-cpu", "mpich-cpu"}

// series is the starts of one runtime under one kind of name.
type series struct {
	Runtime string `json:"runtime"`
	// Names is `fresh` or `again`.
	Names            string    `json:"names"`
	FirstRankSeconds []float64 `json:"firstRankSeconds"`
	CompleteSeconds  []float64 `json:"completeSeconds"`
	LauncherRestarts int       `json:"launcherRestarts"`
}

func main() {
	if err := run(); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench-start:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	runs := flag.Int("runs", 5, "`number` of starts of each series")
	out := flag.String("out", os.Getenv("OUT"), "write the numbers as JSON to this `file` (OUT)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	tools, err := platform.DefaultTools(os.Stdout)
	if err != nil {
		return err
	}
	p, err := platform.Up(ctx, tools, machines, platform.NewProgress(os.Stdout))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close(context.Background())) }()
	all, err := measure(ctx, p, *runs)
	if err != nil {
		return err
	}
	printTable(os.Stdout, all)
	if *out == "" {
		return nil
	}
	return trial.WriteJSON(*out, all)
}

func measure(ctx context.Context, p *platform.Platform, runs int) ([]series, error) {
	editor, err := p.Editor(tenant)
	if err != nil {
		return nil, err
	}
	var all []series
	for _, runtime := range runtimes {
		for _, names := range []string{"fresh", "again"} {
			s := series{Runtime: runtime, Names: names}
			for i := range runs {
				if err := s.start(ctx, editor, i); err != nil {
					return nil, fmt.Errorf("%s, %s name, run %d: %w", runtime, names, i+1, err)
				}
			}
			all = append(all, s)
		}
	}
	return all, nil
}

// start runs one job and deletes it. Under `again` the next job has the same name and follows without a pause.
func (s *series) start(ctx context.Context, editor trial.User, i int) error {
	job := trial.Job{
		Name: "start-" + s.Runtime, Namespace: tenant, Runtime: s.Runtime, Nodes: nodes, Slots: slots,
		Command: []string{"mpirun", "-n", fmt.Sprint(nodes * slots), "mpi-hello"},
	}
	if s.Names == "fresh" {
		job.Name = fmt.Sprintf("start-%s-%d", s.Runtime, i)
	}
	result, err := trial.Run(ctx, editor, job, io.Discard)
	if err != nil {
		return err
	}
	if err := result.Check(machines); err != nil {
		return err
	}
	s.FirstRankSeconds = append(s.FirstRankSeconds, result.FirstRank.Seconds())
	s.CompleteSeconds = append(s.CompleteSeconds, result.End.Seconds())
	s.LauncherRestarts += result.LauncherRestarts
	return editor.Client.Delete(ctx, job.TrainJob())
}

func printTable(out io.Writer, all []series) {
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "\nRUNTIME\tNAMES\tFIRST RANK min\tmedian\tmax\tCOMPLETE median\tRESTARTS")
	for _, s := range all {
		first, complete := slices.Sorted(slices.Values(s.FirstRankSeconds)), slices.Sorted(slices.Values(s.CompleteSeconds))
		_, _ = fmt.Fprintf(table, "%s\t%s\t%.2f s\t%.2f s\t%.2f s\t%.2f s\t%d\n", s.Runtime, s.Names,
			first[0], first[len(first)/2], first[len(first)-1], complete[len(complete)/2], s.LauncherRestarts)
	}
	_ = table.Flush()
}
