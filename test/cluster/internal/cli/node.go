package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
)

func nodeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "node",
		Short: "Kill a node, or start it again",
		Long: `node is for tests of what happens when a machine is lost. Node 0 is the control
plane and stays.`,
		Example: `  cluster node kill 1
  cluster node start 1`,
	}
	cmd.AddCommand(
		onNode("kill", "Kill the first process of a node, and with it everything on the node",
			func(ctx context.Context, s session, index int) error { return s.cluster.KillNode(ctx, index) }),
		onNode("start", "Start a node that was killed, and wait until it is ready",
			func(ctx context.Context, s session, index int) error { return s.cluster.StartNode(ctx, index) }))
	return cmd
}

func onNode(verb, short string, do func(context.Context, session, int) error) *cobra.Command {
	return &cobra.Command{
		Use: verb + " NUMBER", Short: short, Example: "  cluster node " + verb + " 1", Args: usage(cobra.ExactArgs(1)),
		RunE: withCluster("node "+verb, func(cmd *cobra.Command, args []string, s session) error {
			index, err := strconv.Atoi(args[0])
			if err != nil {
				return usageError{fmt.Errorf("%q is no number of a node", args[0])}
			}
			return do(cmd.Context(), s, index)
		}),
	}
}
