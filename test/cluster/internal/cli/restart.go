package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/test/cluster/internal/network"
	"lockstep.dev/lockstep/test/cluster/internal/node"
)

func restartCommand() *cobra.Command {
	var index int
	cmd := &cobra.Command{
		Use:   "restart COMPONENT",
		Short: "End a component of a node; its supervisor starts it again",
		Long: `restart sends SIGTERM to a component and waits until it runs again. It is for
tests of what survives, and for components that look at the world only at start:
kube-controller-manager looks for new kinds every 30 s otherwise, and until then
a quota on their number refuses them all.`,
		Example: `  cluster restart kube-controller-manager
  cluster restart kubelet --node 1`,
		Args:      usage(cobra.ExactArgs(1)),
		ValidArgs: node.ComponentNames(),
		RunE: withCluster("restart", func(cmd *cobra.Command, args []string, s session) error {
			if !slices.Contains(cmd.ValidArgs, args[0]) {
				return usageError{fmt.Errorf("unknown component %q: known are %s", args[0], strings.Join(cmd.ValidArgs, ", "))}
			}
			return s.cluster.Restart(cmd.Context(), args[0], index)
		}),
	}
	cmd.Flags().IntVar(&index, "node", 0, fmt.Sprintf("number of the node, below %d", network.MaxNodes))
	return cmd
}
