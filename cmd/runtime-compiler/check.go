package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/pkg/compile"
)

func newCheck() *cobra.Command {
	var input inputFlags
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Report every mistake in the specs and write nothing",
		Example: `  runtime-compiler check
  runtime-compiler check --root ~/platform --cluster local
  runtime-compiler check -o json | jq -r '.diagnostics[] | "\(.file):\(.line): \(.message)"'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return check(cmd, &input) },
	}
	input.register(cmd)
	return cmd
}

func check(cmd *cobra.Command, input *inputFlags) error {
	asJSON, err := input.json()
	if err != nil {
		return err
	}
	root, err := input.open()
	if err != nil {
		return err
	}
	defer root.Close()
	clusters, list := compile.Compile(root.FS(), compile.Options{Cluster: input.cluster})
	return tell(cmd, asJSON, list, summarize(clusters), func(s clusterSummary) string {
		return fmt.Sprintf("%s: %d objects, no mistakes", s.Name, s.Objects)
	})
}

func summarize(clusters []compile.Cluster) []clusterSummary {
	var summaries []clusterSummary
	for _, c := range clusters {
		summaries = append(summaries, clusterSummary{Name: c.Name, Objects: c.Objects.Len()})
	}
	return summaries
}
