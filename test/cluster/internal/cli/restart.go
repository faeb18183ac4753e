package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/test/cluster/internal/network"
	"lockstep.dev/lockstep/test/cluster/internal/node"
)

func restartCommand() *cobra.Command {
	return onComponent(&cobra.Command{
		Use:   "restart COMPONENT",
		Short: "End a component of a node; its supervisor starts it again",
		Long: `restart sends SIGTERM to a component and waits until it runs again. It is for
tests of what survives, and for components that look at the world only at start:
kube-controller-manager looks for new kinds every 30 s otherwise, and until then
a quota on their number refuses them all.`,
		Example: `  cluster restart kube-controller-manager
  cluster restart kubelet --node 1`,
	}, func(ctx context.Context, s session, component string, index int) error {
		return s.cluster.Restart(ctx, component, index)
	})
}

func stopCommand() *cobra.Command {
	return onComponent(&cobra.Command{
		Use:   "stop COMPONENT",
		Short: "End a component of a node until it is started",
		Long: `stop sends SIGTERM to a component and waits until it has ended. It stays so until
` + "`cluster start`" + ` or ` + "`cluster up`" + `; status calls the cluster broken meanwhile. It is for measurements
in which the component has nothing to do but takes time.`,
		Example: `  cluster stop kube-router
  cluster stop kube-router --node 1`,
	}, func(ctx context.Context, s session, component string, index int) error {
		return s.cluster.Stop(ctx, component, index)
	})
}

func startCommand() *cobra.Command {
	return onComponent(&cobra.Command{
		Use:   "start COMPONENT",
		Short: "Start a component of a node that was stopped",
		Example: `  cluster start kube-router
  cluster start kube-router --node 1`,
	}, func(ctx context.Context, s session, component string, index int) error {
		return s.cluster.Start(ctx, component, index)
	})
}

// onComponent completes a command about one component of one node.
func onComponent(cmd *cobra.Command, do func(ctx context.Context, s session, component string, index int) error) *cobra.Command {
	index := cmd.Flags().Int("node", 0, fmt.Sprintf("number of the node, below %d", network.MaxNodes))
	cmd.ValidArgs = node.ComponentNames()
	cmd.Args = usage(cobra.MatchAll(cobra.ExactArgs(1), knownComponent))
	cmd.RunE = withCluster(cmd.Name(), func(cmd *cobra.Command, args []string, s session) error {
		return do(cmd.Context(), s, args[0], *index)
	})
	return cmd
}

func knownComponent(cmd *cobra.Command, args []string) error {
	if !slices.Contains(cmd.ValidArgs, args[0]) {
		return fmt.Errorf("unknown component %q: known are %s", args[0], strings.Join(cmd.ValidArgs, ", "))
	}
	return nil
}
