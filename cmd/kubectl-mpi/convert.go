package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/jobs/convert"
)

// convertFlags are the flags of convert.
type convertFlags struct {
	files         []string
	recursive     bool
	catalog       string
	output        string
	specs         string
	mpiVersion    string
	dryRun        string
	check         bool
	fromCluster   bool
	allNamespaces bool
}

var (
	convertOutputs = []string{"text", "yaml", "json"}
	dryRuns        = []string{"none", "server"}
)

func newConvert(k *kube) *cobra.Command {
	f := &convertFlags{}
	cmd := &cobra.Command{
		Use:   "convert (-f FILE… | --from-cluster)",
		Short: "Turn MPIJobs of mpi-operator into TrainJobs",
		Long: `Turn MPIJobs of mpi-operator (kubeflow.org/v2beta1, and simple ones of v1) into TrainJobs, and say of every value what became of it:
carried over, carried by the runtime, behaves differently, or not possible.

A TrainJob names a runtime. It is looked for in the catalog of a repository (--catalog), and where none fits, its spec is written
(--specs): the platform team adds it to the catalog. Nothing in a cluster is changed.

Exit code 0: converted. 1: something cannot be read; with --check also: something needs hands.`,
		Example: `  # What would become of this job, line by line
  kubectl mpi convert -f mpijob.yaml --catalog .

  # The TrainJobs of a folder, and the runtimes that the catalog lacks
  kubectl mpi convert -f jobs/ -R --catalog . --specs . -o yaml > trainjobs.yaml

  # Would the API server take them?
  kubectl mpi convert -f mpijob.yaml --catalog . --dry-run=server

  # Who still has MPIJobs, and how many
  kubectl mpi convert --from-cluster -A`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.validate(); err != nil {
				return err
			}
			return k.runConvert(cmd, f)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.files, "filename", "f", nil, "a file or folder with MPIJobs; - is standard input (may be repeated)")
	flags.BoolVarP(&f.recursive, "recursive", "R", false, "go into the folders below")
	flags.StringVar(&f.catalog, "catalog", "", "a repository whose catalog has the runtimes (its root)")
	flags.StringVarP(&f.output, "output", "o", "text", "what to print: text, the report; yaml, the TrainJobs; json, both")
	flags.StringVar(&f.specs, "specs", "", "write the specs that the catalog lacks below this folder; what is there stays")
	flags.StringVar(&f.mpiVersion, "mpi-version", "", "the version of MPI in the images, such as 5.0.7")
	flags.StringVar(&f.dryRun, "dry-run", "none", "server: ask the API server whether it would take the TrainJobs")
	flags.BoolVar(&f.check, "check", false, "end with exit code 1 if anything needs hands")
	flags.BoolVar(&f.fromCluster, "from-cluster", false, "convert the MPIJobs of the cluster, and count who has how many")
	flags.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "with --from-cluster: those of all namespaces")
	cli.CompleteFlag(cmd, "output", convertOutputs...)
	cli.CompleteFlag(cmd, "dry-run", dryRuns...)
	return cmd
}

func (f *convertFlags) validate() error {
	switch {
	case f.fromCluster == (len(f.files) > 0):
		return usageErrorf("say what to convert: files (-f), or the MPIJobs of the cluster (--from-cluster)")
	case f.allNamespaces && !f.fromCluster:
		return usageErrorf("`--all-namespaces` is for `--from-cluster`")
	case !slices.Contains(convertOutputs, f.output):
		return usageErrorf("invalid value `%s` for `--output`: must be one of %s", f.output, strings.Join(convertOutputs, ", "))
	case !slices.Contains(dryRuns, f.dryRun):
		return usageErrorf("invalid value `%s` for `--dry-run`: must be one of %s", f.dryRun, strings.Join(dryRuns, ", "))
	}
	if err := convert.CheckMPIVersion(f.mpiVersion); err != nil {
		return usageErrorf("%w", err)
	}
	return nil
}

func (k *kube) runConvert(cmd *cobra.Command, f *convertFlags) error {
	catalog, err := k.loadConvertCatalog(f)
	if err != nil {
		return err
	}
	in, err := k.readConvertInput(cmd.Context(), f)
	if err != nil {
		return err
	}
	results := make([]*convert.Result, 0, len(in.Jobs))
	for _, job := range in.Jobs {
		results = append(results, convert.Convert(job, catalog, convert.Options{MPIVersion: f.mpiVersion}))
	}
	if err := k.printConverted(f, in, results); err != nil {
		return err
	}
	if err := k.writeSpecs(f.specs, results); err != nil {
		return err
	}
	if f.dryRun == "server" {
		if err := k.dryRunTrainJobs(cmd.Context(), results); err != nil {
			return err
		}
	}
	return f.conversionError(in, results)
}

// conversionError is the error that stands for the exit code.
func (f *convertFlags) conversionError(in convert.Input, results []*convert.Result) error {
	if len(in.Problems) > 0 {
		return cli.Failure(fmt.Errorf("%s cannot be converted", countedWord(len(in.Problems), "document")))
	}
	if len(results) == 0 && !f.fromCluster {
		return cli.Failure(fmt.Errorf("there is not an MPIJob in %s", strings.Join(f.files, ", ")))
	}
	hands := 0
	for _, r := range results {
		if r.CountToReview() > 0 {
			hands++
		}
	}
	if f.check && hands > 0 {
		return cli.Failure(fmt.Errorf("%d of %d MPIJobs need hands", hands, len(results)))
	}
	return nil
}

func (k *kube) loadConvertCatalog(f *convertFlags) (*convert.Catalog, error) {
	if f.catalog == "" {
		return &convert.Catalog{}, nil
	}
	catalog := convert.LoadCatalog(os.DirFS(f.catalog))
	for _, unread := range catalog.Unread {
		fmt.Fprintf(k.streams.ErrOut, "warning: %s is not looked at: %s\n", unread.At, unread.Message)
	}
	if catalog.IsEmpty() {
		return nil, cli.Failure(fmt.Errorf("there is no runtime below %s: name the root of a repository, which has `catalog/runtimes`", f.catalog))
	}
	return catalog, nil
}

func (k *kube) printConverted(f *convertFlags, in convert.Input, results []*convert.Result) error {
	switch {
	case f.output == "json":
		return cli.WriteJSON(k.streams.Out, convert.NewReport(in, results))
	case f.output == "yaml":
		for i, r := range results {
			if i > 0 {
				fmt.Fprintln(k.streams.Out, "---")
			}
			if _, err := io.WriteString(k.streams.Out, r.YAML()); err != nil {
				return err
			}
		}
		return convert.WriteText(k.streams.ErrOut, convert.Input{Problems: in.Problems, Others: in.Others}, nil)
	case f.fromCluster:
		return remainingTable(k.streams.Out, convert.CountRemaining(results))
	}
	return convert.WriteText(k.streams.Out, in, results)
}

func remainingTable(w io.Writer, counts []convert.RemainingJobs) error {
	if len(counts) == 0 {
		_, err := fmt.Fprintln(w, "no MPIJobs")
		return err
	}
	rows := [][]string{{"NAMESPACE", "MPIJOBS", "UNFINISHED", "NEED HANDS", "NEWEST"}}
	for _, c := range counts {
		rows = append(rows, []string{c.Namespace, fmt.Sprint(c.Jobs), fmt.Sprint(c.Unfinished), fmt.Sprint(c.NeedHands), c.Newest.UTC().Format(time.DateOnly)})
	}
	return writeTable(w, rows)
}

// writeSpecs writes what the catalog lacks. A file that is there is somebody's.
func (k *kube) writeSpecs(folder string, results []*convert.Result) error {
	if folder == "" {
		return nil
	}
	for _, r := range results {
		for _, spec := range r.Specs {
			path := filepath.Join(folder, filepath.FromSlash(spec.Path))
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				return cli.Failure(err)
			}
			file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
			if err != nil {
				return cli.Failure(fmt.Errorf("write a spec: %w", err))
			}
			_, err = io.WriteString(file, spec.Text)
			if closed := file.Close(); err == nil {
				err = closed
			}
			if err != nil {
				return cli.Failure(fmt.Errorf("write %s: %w", path, err))
			}
			fmt.Fprintf(k.streams.ErrOut, "wrote %s\n", filepath.ToSlash(filepath.Join(folder, spec.Path)))
		}
	}
	return nil
}
