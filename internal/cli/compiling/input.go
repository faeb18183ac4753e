package compiling

import (
	"cmp"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/api/v1alpha1"
	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/internal/sandbox"
	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/scaffold"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// Input is the flags that are common to the commands that compile.
type Input struct {
	// Root is the folder of the specs, Cluster the only one that is compiled, "" for all.
	Root, Cluster string
	// Workers is 0 for as many as there are processors.
	Workers int
}

// maxWorkers is more than any machine has processors for. Each worker may need a thread while it reads, and a system has few thousands.
const maxWorkers = 1024

// RegisterFlags adds the flags that say what is compiled.
func (f *Input) RegisterFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Root, "root", ".", "folder with catalog/, tenants/ and overlays/")
	flags.StringVar(&f.Cluster, "cluster", "", "compile this cluster only")
	cli.CompleteFlagWith(cmd, "cluster", f.completeClusters)
}

// completeClusters offers the names of the clusters that the specs below --root have.
func (f *Input) completeClusters(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	root, err := f.OpenRoot()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer root.Close()
	all := *f
	all.Cluster = ""
	return scaffold.ReadExisting(root.FS(), all.Options()).Names(v1alpha1.ClusterKind), cobra.ShellCompDirectiveNoFileComp
}

// RegisterWorkers adds the flag of commands that compile everything.
func (f *Input) RegisterWorkers(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.Workers, "workers", 0, "how many units are compiled at one time, and processors used; 0 means one per processor, 1024 are the most")
}

// Validate refuses numbers that mean nothing, and to compile in a pipeline without schemas.
func (f *Input) Validate() error {
	if f.Workers < 0 || f.Workers > maxWorkers {
		return fmt.Errorf("--workers is %d: 0 means one per processor, 1 to %d a number of your own", f.Workers, maxWorkers)
	}
	return requireSchemas()
}

// LimitProcessors keeps the whole process, its collector included, to as many processors as there are workers, and to those that the machine has.
func (f *Input) LimitProcessors() {
	if f.Workers > 0 {
		runtime.GOMAXPROCS(min(f.Workers, runtime.NumCPU()))
	}
}

// Options say what to compile, and that dates are judged by today's, everywhere the same.
func (f *Input) Options() compile.Options {
	return compile.Options{Cluster: f.Cluster, Today: time.Now().UTC().Format(time.DateOnly), Workers: cmp.Or(f.Workers, runtime.GOMAXPROCS(0)), Jsonnet: sandbox.JsonnetEvaluator(), Charts: sandbox.ChartRenderer()}
}

// Root is the open folder of the specs.
type Root struct{ *os.Root }

// FS returns the files that specs may name. The specs of a change that is not reviewed yet must not show files of the
// machine that compiles them, nor hidden ones.
func (r *Root) FS() fs.FS { return source.Visible(r.Root.FS()) }

// OpenRoot opens the root. A path that is not a folder is a mistake on the command line.
func (f *Input) OpenRoot() (*Root, error) {
	info, err := os.Stat(f.Root)
	if err != nil {
		return nil, fmt.Errorf("open --root `%s`: %w", f.Root, source.Reason(err))
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("open --root: `%s` is not a folder", f.Root)
	}
	root, err := os.OpenRoot(f.Root)
	if err != nil {
		return nil, fmt.Errorf("open --root `%s`: %w", f.Root, source.Reason(err))
	}
	return &Root{root}, nil
}

// PathInCheckout returns the path of a file below Root for services that know the checkout, not --root: relative to where the command runs, which
// is the root of the checkout in a pipeline.
func (f *Input) PathInCheckout(name string) string { return path.Join(filepath.ToSlash(f.Root), name) }

// URI returns a path that PathInCheckout has returned as a URI reference.
func URI(located string) string {
	if path.IsAbs(located) {
		return (&url.URL{Scheme: "file", Path: located}).String()
	}
	return (&url.URL{Path: located}).String()
}
