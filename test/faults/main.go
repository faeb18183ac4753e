package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/testjob"
)

func main() {
	if err := run(); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

func run() error {
	runs := flag.Int("runs", 1, "`number` of runs of each fault")
	only := flag.String("fault", "", "run only the faults with these `names`, separated by semicolons")
	out := flag.String("out", os.Getenv("OUT"), "write the rows as JSON to this `file` (OUT)")
	markdown := flag.String("markdown", "", "write the rows of the `file` of -out, or of several separated by commas, as docs/faults.md to this one, and run nothing")
	note := flag.String("note", "", "a `sentence` about the machine, for -markdown")
	list := flag.Bool("list", false, "list the faults")
	flag.Parse()
	if *list {
		for _, f := range catalog() {
			fmt.Printf("%-32s  %s\n", f.Name, f.How)
		}
		return nil
	}
	if *markdown != "" {
		return render(*out, *markdown, *note)
	}
	faults, err := choose(*only)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return inject(ctx, faults, *runs, *out)
}

func choose(names string) ([]Fault, error) {
	all := catalog()
	if names == "" {
		return all, nil
	}
	var chosen []Fault
	for _, name := range strings.Split(names, ";") {
		i := slices.IndexFunc(all, func(f Fault) bool { return f.Name == strings.TrimSpace(name) })
		if i < 0 {
			return nil, fmt.Errorf("there is no fault %q: `faults -list` shows all", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func inject(ctx context.Context, faults []Fault, runs int, out string) (err error) {
	tools, err := platform.DefaultTools(os.Stderr)
	if err != nil {
		return err
	}
	p, err := platform.Up(ctx, tools, machines, platform.NewProgress(os.Stdout))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close(context.Background())) }()
	l, err := open(ctx, p)
	if err != nil {
		return err
	}
	var rows []Row
	for run := range runs {
		for _, f := range faults {
			row, err := l.try(ctx, f, run+1)
			if ctx.Err() != nil {
				return ctx.Err() // What was cut off is neither right nor wrong.
			}
			if err != nil {
				row.Note = err.Error()
			}
			rows = append(rows, row)
			printRow(row)
			if out == "" {
				continue
			}
			// Each row is kept at once: a run of all faults takes long.
			if err := testjob.WriteJSON(out, rows); err != nil {
				return err
			}
		}
	}
	return nil
}

func printRow(r Row) {
	word := "RIGHT"
	if !r.Right {
		word = "wrong"
	}
	fmt.Printf("%s %-30s %-20s %6.2f s  %-8s left %d  took %.0f s  %s\n", word, r.Fault, r.Reason, r.Seconds, cmp.Or(r.Ended, "no end"), r.Leftovers, r.Took,
		oneLine(r.Message))
	if r.EndReason != "" {
		fmt.Printf("      ended after %.2f s: %s: %s\n", r.EndSeconds, r.EndReason, oneLine(r.EndMessage))
	}
	if r.Lacks != "" {
		fmt.Printf("      the message lacks %q\n", r.Lacks)
	}
	if r.Note != "" {
		fmt.Println("      note:", r.Note)
	}
	if len(r.Left) > 0 {
		fmt.Println("      left:", strings.Join(r.Left, ", "))
	}
}

func oneLine(text string) string { return strings.ReplaceAll(text, "\n", " / ") }
