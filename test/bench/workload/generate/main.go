// Command generate writes a repository of specs of any size into a new folder, lets runtime-compiler compile it, and says how
// many objects that makes. Below peers/ are the inputs with which other tools make the same objects.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"lockstep.dev/lockstep/test/bench/workload"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch err := run(ctx, os.Args[1:], os.Stdout); {
	case err == nil, errors.Is(err, flag.ErrHelp):
	default:
		fmt.Fprintln(os.Stderr, "bench-workload:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to clean up
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("bench-workload", flag.ContinueOnError)
	var o workload.Options
	flags.IntVar(&o.Tenants, "tenants", 1000, "`number` of tenants")
	flags.IntVar(&o.Clusters, "clusters", 3, "`number` of clusters")
	flags.Uint64Var(&o.Seed, "seed", 1, "`number` that selects the workload")
	out := flags.String("out", "", "new `folder` for the specs")
	compiler := flags.String("compiler", "build/bin/runtime-compiler", "`program` that compiles them")
	sample := flags.Int("sample", 50, "`number` of tenants that get inputs for kustomize")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *out == "" {
		return errors.New("--out is missing: name a new folder, for example OUT=/tmp/workload")
	}
	w, err := workload.Generate(*out, o)
	if err != nil {
		return err
	}
	count, err := compile(ctx, *compiler, *out, w, *sample)
	if err != nil {
		return err
	}
	for _, c := range count.Clusters {
		fmt.Fprintf(stdout, "%s: %d objects\n", c.Name, c.Objects)
	}
	_, err = fmt.Fprintf(stdout, "%s: %d spec files, %d tenants, %d clusters, %d objects, %d warnings\n",
		*out, w.Files, len(w.Tenants), len(w.Clusters), count.Objects(), count.Warnings)
	return err
}

// compile compiles into a folder that is removed again: only the count and the finished objects for other tools are wanted.
func compile(ctx context.Context, compiler, root string, w *workload.Workload, sample int) (workload.Count, error) {
	compiled, err := os.MkdirTemp("", "bench-workload-")
	if err != nil {
		return workload.Count{}, err
	}
	defer os.RemoveAll(compiled)
	count, err := workload.Compile(ctx, compiler, root, compiled)
	if err != nil {
		return count, err
	}
	return count, workload.WritePeers(root, compiled, w, w.Sample(sample))
}
