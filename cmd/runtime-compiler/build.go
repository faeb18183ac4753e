package main

import (
	"cmp"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/internal/cli/compiling"
)

func newBuild() *cobra.Command {
	var input compiling.Input
	var reports reportOptions
	var verify bool
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Compile the specs into one folder per cluster",
		Long: `build writes <out>/<cluster>/ for every cluster, or for the one named with --cluster. It writes nothing if there is a
mistake, or a warning with --fail-on warning. Files whose content is right are not rewritten; files that it wrote earlier and that
are no longer compiled are removed; other files are never touched.

A build that fails leaves the old tree. One that is killed may leave a mixture, which the next build repairs.

Exit codes: 0 fine, 1 a mistake in the specs or a failure, 2 a mistake on the command line, 3 warnings with --fail-on warning.`,
		Example: `  runtime-compiler build
  runtime-compiler build --cluster local --out /tmp/dist
  runtime-compiler build --format json | jq .clusters

  # In a pipeline: prove that the committed tree is what the specs compile to, byte by byte, in whatever order and with whatever
  # number of workers; write nothing
  runtime-compiler build --verify`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return build(cmd, &input, &reports, verify) },
	}
	input.RegisterFlags(cmd)
	input.RegisterWorkers(cmd)
	reports.register(cmd, &input)
	cmd.Flags().StringVar(&reports.out, "out", "dist", "output folder")
	cmd.Flags().BoolVar(&verify, "verify", false, "compile in several ways and compare them and the output folder byte by byte; write nothing")
	return cmd
}

func build(cmd *cobra.Command, input *compiling.Input, reports *reportOptions, verify bool) error {
	if err := cmp.Or(reports.validate(), input.Validate()); err != nil {
		return err
	}
	if err := rejectUnsafeOutputFolder(input.Root, reports.out); err != nil {
		return err
	}
	input.LimitProcessors()
	root, err := input.OpenRoot()
	if err != nil {
		return err
	}
	defer root.Close()
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if verify {
		v := buildVerifier{ctx: ctx, root: root, options: input.Options(), out: reports.out, report: cmd.ErrOrStderr()}
		summaries, list, err := v.verify()
		if err != nil {
			return cli.Failure(err)
		}
		return reports.write(cmd, list, summaries, func(s clusterSummary) string { return fmt.Sprintf("%s: %d objects, verified", s.Name, s.Objects) })
	}
	b := outputBuilder{ctx: ctx, root: root, options: input.Options(), reports: reports}
	shown := cli.NewProgress(cmd.ErrOrStderr())
	summaries, list, err := b.build(shown.ShowUnits)
	shown.ClearLine()
	if err != nil {
		return cli.Failure(err)
	}
	return reports.write(cmd, list, summaries, clusterSummary.buildLine)
}

// buildLine is what people read about a build of a cluster.
func (s clusterSummary) buildLine() string {
	return fmt.Sprintf("%s: %d objects, files: %d written, %d unchanged, %d removed", s.Name, s.Objects, s.Written, s.Unchanged, s.Removed)
}
