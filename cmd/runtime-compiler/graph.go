package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/compile/graph"
	"lockstep.dev/lockstep/pkg/compile/object"
)

// The formats of a graph.
const (
	formatSVG = "svg"
	formatDOT = "dot"
)

func newGraph() *cobra.Command {
	a := queryOptions{format: cli.FormatText}
	var format string
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "Draw which specs feed which compiled objects",
		Long: `graph draws the specs on the left, the compiled objects on the right, and a line wherever a value of the objects comes from the
spec. Objects of a kind in one folder are one box; more than eight tenants are one box too.`,
		Example: `  runtime-compiler graph --cluster local > graph.svg
  runtime-compiler graph -o dot | dot -Tpdf > graph.pdf`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return drawGraph(cmd, &a, format) },
	}
	a.input.RegisterFlags(cmd)
	cmd.Flags().StringVarP(&format, "output", "o", formatSVG, "the language of the picture: svg or dot")
	cli.CompleteFlag(cmd, "output", formatSVG, formatDOT)
	return cmd
}

func drawGraph(cmd *cobra.Command, a *queryOptions, format string) error {
	if format != formatSVG && format != formatDOT {
		return fmt.Errorf("unknown format `%s`: allowed are `svg` and `dot`", format)
	}
	var g graph.Graph
	if err := a.compileUnits(cmd, func(cluster string, objects []object.Object) { g.Add(cluster, objects) }); err != nil {
		return err
	}
	drawing := g.Drawing()
	picture := drawing.SVG()
	if format == formatDOT {
		picture = drawing.DOT()
	}
	if _, err := io.WriteString(cmd.OutOrStdout(), picture); err != nil {
		return cli.Failure(fmt.Errorf("write the graph: %w", err))
	}
	return nil
}
