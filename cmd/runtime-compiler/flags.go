package main

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/pkg/compile"
)

// inputFlags are common to the commands that compile.
type inputFlags struct {
	root, cluster string
	// workers is 0 for as many as there are processors.
	workers int
}

func (f *inputFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.root, "root", ".", "folder with catalog/, tenants/ and overlays/")
	flags.StringVar(&f.cluster, "cluster", "", "compile this cluster only")
}

// registerWorkers adds the flag of commands that compile everything.
func (f *inputFlags) registerWorkers(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.workers, "workers", 0, "how many units are compiled at one time, and processors used; 0 means one per processor")
}

func (f *inputFlags) validate() error {
	if f.workers < 0 {
		return fmt.Errorf("--workers is %d: 0 means one per processor, more a number of your own", f.workers)
	}
	return nil
}

// limit keeps the whole process, its collector included, to as many processors as there are workers.
func (f *inputFlags) limit() {
	if f.workers > 0 {
		runtime.GOMAXPROCS(f.workers)
	}
}

// options say what to compile, and that dates are judged by today's, everywhere the same.
func (f *inputFlags) options() compile.Options {
	return compile.Options{Cluster: f.cluster, Today: time.Now().UTC().Format(time.DateOnly), Workers: cmp.Or(f.workers, runtime.GOMAXPROCS(0)), Jsonnet: evaluator(), Charts: charts()}
}

// open opens the root. Nothing outside of it can be read, not even through symbolic links: the specs of a change that nobody has
// reviewed yet must not show files of the machine that compiles them. A path that is no folder is a mistake on the command line.
func (f *inputFlags) open() (*os.Root, error) {
	info, err := os.Stat(f.root)
	if err != nil {
		return nil, fmt.Errorf("open --root: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("open --root: `%s` is not a folder", f.root)
	}
	root, err := os.OpenRoot(f.root)
	if err != nil {
		return nil, fmt.Errorf("open --root: %w", err)
	}
	return root, nil
}
