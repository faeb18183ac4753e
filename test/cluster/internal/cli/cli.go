// Package cli is the command line of the local cluster.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"lockstep.dev/lockstep/test/cluster/internal/cluster"
	"lockstep.dev/lockstep/test/cluster/internal/dirs"
	"lockstep.dev/lockstep/test/cluster/internal/preflight"
	"lockstep.dev/lockstep/test/cluster/internal/progress"
)

// usageError is a mistake on the command line; its exit code is 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Main runs the command line and returns the exit code: 0 when all is well, 1
// for a failure, 2 for wrong usage.
func Main(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	defer stop()
	root := newRoot(stdout, stderr)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintf(stderr, "cluster: %v\n", err)
	if errors.As(err, new(usageError)) || strings.HasPrefix(err.Error(), "unknown command") {
		return 2
	}
	return 1
}

func newRoot(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "cluster",
		Short: "Run a real Kubernetes cluster on this machine",
		Long: `cluster runs a real Kubernetes cluster on one Linux machine: every node in
namespaces of its own, every program built from pinned Go modules. It needs
root, Go, and a few Debian packages that it installs or names.`,
		Example: `  cluster up --wait          # two nodes, CoreDNS and JobSet ready
  eval "$(cluster env)"      # kubectl on PATH, KUBECONFIG set
  cluster load image.tar     # an image into every node
  cluster logs kubelet -f --node 1
  cluster down`,
		SilenceErrors: true, SilenceUsage: true,
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(upCommand(), downCommand(), statusCommand(), loadCommand(), addonCommand(), kubeconfigCommand(), envCommand(),
		logsCommand(), restartCommand(), stopCommand(), startCommand(), nodeCommand(), buildCommand(), assetsCommand(), nodeInitCommand())
	return root
}

// exactly, atLeast and none turn wrong numbers of arguments into usage errors.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{fmt.Errorf("%w: see `cluster %s --help`", err, cmd.Name())}
		}
		return nil
	}
}

// session is what most commands work with.
type session struct {
	dirs    dirs.Dirs
	cluster *cluster.Cluster
	say     *progress.Reporter
}

// withCluster opens the cluster for a command that needs root, and reports
// progress on stderr.
func withCluster(purpose string, do func(cmd *cobra.Command, args []string, s session) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := preflight.Root(purpose); err != nil {
			return err
		}
		d, err := dirs.Find()
		if err != nil {
			return err
		}
		say := progress.New(cmd.ErrOrStderr())
		defer say.Close()
		c, err := cluster.Open(d, say)
		if err != nil {
			return err
		}
		return do(cmd, args, session{dirs: d, cluster: c, say: say})
	}
}

// outputFlag adds -o and returns how to ask for JSON.
func outputFlag(cmd *cobra.Command) func() (json bool, err error) {
	format := cmd.Flags().StringP("output", "o", "text", "how to print the result: text or json")
	if err := cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err)
	}
	return func() (bool, error) {
		switch *format {
		case "text":
			return false, nil
		case "json":
			return true, nil
		}
		return false, usageError{fmt.Errorf("unknown output %q: text and json are possible", *format)}
	}
}
