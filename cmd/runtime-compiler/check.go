package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/internal/cli/compiling"
)

func newCheck() *cobra.Command {
	var input compiling.Input
	var reports reportOptions
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Report every mistake in the specs and write nothing",
		Long: `check compiles in memory, reports every mistake with its place, and writes nothing.

Exit codes: 0 fine, 1 a mistake in the specs or a failure, 2 a mistake on the command line, 3 warnings with --fail-on warning.
"runtime-compiler codes LS2003" explains a code.`,
		Example: `  runtime-compiler check
  runtime-compiler check --root ~/platform --cluster local --fail-on warning
  runtime-compiler check --format json | jq -r '.diagnostics[] | "\(.file):\(.line): \(.message)"'

  # Comments beside the lines of a pull request, by GitHub Actions or by code scanning
  runtime-compiler check --format github
  runtime-compiler check --format sarif > lockstep.sarif`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return check(cmd, &input, &reports) },
	}
	input.RegisterFlags(cmd)
	input.RegisterWorkers(cmd)
	reports.register(cmd, &input)
	return cmd
}

func check(cmd *cobra.Command, input *compiling.Input, reports *reportOptions) error {
	if err := cmp.Or(reports.validate(), input.Validate()); err != nil {
		return err
	}
	input.LimitProcessors()
	root, err := input.OpenRoot()
	if err != nil {
		return err
	}
	defer root.Close()
	shown := cli.NewProgress(cmd.ErrOrStderr())
	summaries, list, err := compileInto(cmd.Context(), root.FS(), input.Options(), nil, shown.ShowUnits)
	shown.ClearLine()
	if err != nil {
		return cli.Failure(err)
	}
	return reports.write(cmd, list, summaries, func(s clusterSummary) string {
		return fmt.Sprintf("%s: %d objects, %s", s.Name, s.Objects, warningsVerdict(list.Warnings()))
	})
}

// warningsVerdict is what people read about specs that compile. Warnings are those of all clusters.
func warningsVerdict(warnings int) string {
	switch warnings {
	case 0:
		return "no mistakes"
	case 1:
		return "no errors, 1 warning"
	}
	return fmt.Sprintf("no errors, %d warnings", warnings)
}
