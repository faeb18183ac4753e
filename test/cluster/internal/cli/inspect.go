package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/test/cluster/internal/cluster"
	"lockstep.dev/lockstep/test/cluster/internal/network"
	"lockstep.dev/lockstep/test/cluster/internal/node"
)

func statusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show nodes and components; exit 0 only when all is well",
		Example: `  cluster status
  cluster status -o json`,
		Args: usage(cobra.NoArgs),
	}
	asJSON := outputFlag(cmd)
	cmd.RunE = withCluster("status", func(cmd *cobra.Command, _ []string, s session) error {
		wantJSON, err := asJSON()
		if err != nil {
			return err
		}
		status, err := s.cluster.Status(cmd.Context())
		if err != nil {
			return err
		}
		if wantJSON {
			err = printJSON(cmd.OutOrStdout(), status)
		} else {
			err = printStatus(cmd.OutOrStdout(), status)
		}
		if err == nil && status.State != "running" {
			err = fmt.Errorf("the cluster is %s", status.State)
		}
		return err
	})
	return cmd
}

func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

func printStatus(out io.Writer, s cluster.Status) error {
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	row := func(format string, args ...any) { _, _ = fmt.Fprintf(table, format+"\n", args...) }
	row("cluster\t%s", s.State)
	row("cgroup\tv%d", s.Cgroup)
	if s.Kubeconfig != "" {
		row("kubeconfig\t%s", s.Kubeconfig)
		row("add-ons\t%s", word(s.Addons, "ready", "not ready"))
	}
	for _, n := range s.Nodes {
		row("%s\t%s\tpid %d\tlogs %s", n.Name, word(n.Ready, "ready", "not ready"), n.PID, n.Logs)
		for _, component := range n.Components {
			row("  %s\t%s\tstarts %d\t%s", component.Name, word(component.PID != 0, "runs", "waits"), component.Starts, component.LastExit)
		}
	}
	for _, problem := range s.Problems {
		row("problem\t%s", problem)
	}
	return table.Flush()
}

func word(ok bool, yes, no string) string {
	if ok {
		return yes
	}
	return no
}

func kubeconfigCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "kubeconfig",
		Short:   "Print the path of the administrator's kubeconfig",
		Example: `  kubectl --kubeconfig "$(cluster kubeconfig)" get nodes`,
		Args:    usage(cobra.NoArgs),
		RunE: withCluster("kubeconfig", func(cmd *cobra.Command, _ []string, s session) error {
			kubeconfig, _, err := s.cluster.Env()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), kubeconfig)
			return err
		}),
	}
}

func envCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "env",
		Short:   "Print shell commands that set KUBECONFIG and put kubectl on PATH",
		Example: `  eval "$(cluster env)"`,
		Args:    usage(cobra.NoArgs),
		RunE: withCluster("env", func(cmd *cobra.Command, _ []string, s session) error {
			kubeconfig, bin, err := s.cluster.Env()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "export KUBECONFIG=%s\nexport PATH=%s:\"$PATH\"\n", quote(kubeconfig), quote(bin))
			return err
		}),
	}
}

// quote makes one word of a text for a POSIX shell.
func quote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

func logsCommand() *cobra.Command {
	var (
		index  int
		follow bool
	)
	cmd := &cobra.Command{
		Use:   "logs COMPONENT",
		Short: "Print the log of a component of a node",
		Long:  "logs prints what a component wrote since the node started. It also works after down.",
		Example: `  cluster logs kube-apiserver
  cluster logs kubelet --node 1 -f
  cluster logs audit`,
		Args:      usage(cobra.ExactArgs(1)),
		ValidArgs: append(node.ComponentNames(), "init", node.AuditLog),
		RunE: withCluster("logs", func(cmd *cobra.Command, args []string, s session) error {
			if !slices.Contains(cmd.ValidArgs, args[0]) {
				return usageError{fmt.Errorf("unknown component %q: known are %s", args[0], strings.Join(cmd.ValidArgs, ", "))}
			}
			path, err := s.cluster.LogFile(args[0], index)
			if err != nil {
				return err
			}
			return printLog(cmd.Context(), cmd.OutOrStdout(), path, follow)
		}),
	}
	cmd.Flags().IntVar(&index, "node", 0, fmt.Sprintf("number of the node, below %d", network.MaxNodes))
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what is written from now on")
	return cmd
}

// printLog copies a file, and then whatever is added to it until the context
// ends.
func printLog(ctx context.Context, out io.Writer, path string, follow bool) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	for {
		if _, err := io.Copy(out, file); err != nil {
			return err
		}
		if !follow {
			return nil
		}
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), context.Canceled) {
				return nil
			}
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}
