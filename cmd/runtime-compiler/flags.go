package main

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/scaffold"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// inputFlags are common to the commands that compile.
type inputFlags struct {
	root, cluster string
	// workers is 0 for as many as there are processors.
	workers int
}

// maxWorkers is more than any machine has processors for. Each worker may need a thread while it reads, and a system has few thousands.
const maxWorkers = 1024

func (f *inputFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.root, "root", ".", "folder with catalog/, tenants/ and overlays/")
	flags.StringVar(&f.cluster, "cluster", "", "compile this cluster only")
	_ = cmd.RegisterFlagCompletionFunc("cluster", f.completeClusters) // fails only for a flag that does not exist
}

// completeClusters offers the names of the clusters that the specs below --root have.
func (f *inputFlags) completeClusters(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	root, err := f.open()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer root.Close()
	all := *f
	all.cluster = ""
	return scaffold.Know(root.FS(), all.options()).Names(v1alpha1.ClusterKind), cobra.ShellCompDirectiveNoFileComp
}

// registerWorkers adds the flag of commands that compile everything.
func (f *inputFlags) registerWorkers(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.workers, "workers", 0, "how many units are compiled at one time, and processors used; 0 means one per processor, 1024 are the most")
}

func (f *inputFlags) validate() error {
	if f.workers < 0 || f.workers > maxWorkers {
		return fmt.Errorf("--workers is %d: 0 means one per processor, 1 to %d a number of your own", f.workers, maxWorkers)
	}
	return nil
}

// limit keeps the whole process, its collector included, to as many processors as there are workers, and to those that the machine has.
func (f *inputFlags) limit() {
	if f.workers > 0 {
		runtime.GOMAXPROCS(min(f.workers, runtime.NumCPU()))
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
		return nil, fmt.Errorf("open --root `%s`: %w", f.root, source.Reason(err))
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("open --root: `%s` is not a folder", f.root)
	}
	root, err := os.OpenRoot(f.root)
	if err != nil {
		return nil, fmt.Errorf("open --root `%s`: %w", f.root, source.Reason(err))
	}
	return root, nil
}
