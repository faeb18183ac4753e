package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/reconciler"
)

// controllerConfig is everything that a deployment decides, validated.
type controllerConfig struct {
	// kubeconfigPath is empty in a pod: then the service account is used.
	kubeconfigPath string
	logLevel       slog.Level
	options        reconciler.Options
}

const (
	exitFailure = 1
	exitUsage   = 2
)

// usageError is a mistake on the command line.
type usageError struct{ error }

// runCommandLine parses the command line and runs the controller. It returns the exit code: 0 after a clean end, 1 for a
// failure, 2 for a mistake on the command line.
func runCommandLine(ctx context.Context, args []string, stdout, stderr io.Writer, run func(context.Context, controllerConfig) error) int {
	command := newCommand(run)
	command.SetArgs(args)
	command.SetOut(stdout)
	command.SetErr(stderr)
	err := command.ExecuteContext(ctx)
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		_, _ = fmt.Fprintf(stderr, "mpi-controller: %v\nsee `mpi-controller --help`\n", err)
		return exitUsage
	}
	_, _ = fmt.Fprintf(stderr, "mpi-controller: %v\n", err)
	return exitFailure
}

func newCommand(run func(context.Context, controllerConfig) error) *cobra.Command {
	var c controllerConfig
	command := &cobra.Command{
		Use:   "mpi-controller",
		Short: "Run TrainJobs of MPI runtimes",
		Long: `mpi-controller runs TrainJobs whose runtime is an MPI runtime, compiled by Lockstep or of upstream's OpenSSH kind; all others
it leaves alone.
For each it creates a key, a hostfile, network policies and a JobSet, hands the launcher the addresses of its nodes,
and reports progress and the cause of failures in the TrainJob's conditions, as events and as metrics.

Beside Kubeflow Trainer, which creates key, hostfile and JobSet itself, run it with --mode companion. As executor it
waits, alive and not ready, while Trainer runs: both would write the same objects.`,
		Example: `  # in a pod: service account, namespace from the downward API, one leader at a time
  mpi-controller --leader-elect

  # beside Kubeflow Trainer, which runs the TrainJobs itself
  mpi-controller --leader-elect --mode companion

  # outside the cluster, with a kubeconfig
  mpi-controller --kubeconfig ~/.kube/config --namespace lockstep-system --log-level debug`,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := c.validate(); err != nil {
				return usageError{err}
			}
			return run(command.Context(), c)
		},
	}
	command.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	command.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usageError{fmt.Errorf("unexpected argument `%s`: there are only flags", args[0])}
		}
		return nil
	}
	c.addFlags(command)
	command.AddCommand(newHistoryCommand())
	return command
}

func (c *controllerConfig) addFlags(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&c.kubeconfigPath, "kubeconfig", "", "kubeconfig file; empty uses the service account of the pod")
	flags.StringVar(&c.options.Namespace, "namespace", os.Getenv("POD_NAMESPACE"), "namespace of the controller's own pods, which launchers admit, and of its lease (default $POD_NAMESPACE)")
	flags.StringVar((*string)(&c.options.Mode), "mode", string(reconciler.Executor), "who runs TrainJobs: executor (this controller) or companion (Kubeflow Trainer, which this controller stands beside)")
	flags.StringVar(&c.options.Identity, "identity", "", "holder of the lease; a process that comes back under the same name goes on at once (default in a pod its host name, which is the name of the pod, otherwise a new name each time)")
	flags.StringSliceVar(&c.options.TrainerNamespaces, "trainer-namespaces", mpi.TrainerNamespaces(), "namespaces in which Kubeflow Trainer may be installed: an executor waits while somebody keeps Trainer's lease in one of them, and only warns of such a lease elsewhere")
	flags.StringVar(&c.options.WebhookAddress, "webhook-bind-address", ":9443", "address where a companion answers for pods, so that nodes get image and environment of their TrainJob; 0 turns it off")
	flags.StringVar(&c.options.MetricsAddress, "metrics-bind-address", ":8443", "address that serves /metrics, by HTTPS; 0 turns it off")
	flags.BoolVar(&c.options.MetricsAuthentication, "metrics-authentication", true, "let those only read metrics who show a token that the API server knows, and may get the path /metrics")
	flags.StringVar(&c.options.ProbeAddress, "health-probe-bind-address", ":8081", "address that serves /healthz and /readyz; 0 turns it off")
	flags.BoolVar(&c.options.LeaderElection, "leader-elect", false, "work only while holding the lease, so that several replicas can run")
	flags.IntVar(&c.options.Concurrency, "concurrency", 10, "how many TrainJobs are reconciled at a time")
	flags.TextVar(&c.logLevel, "log-level", slog.LevelInfo, "least level that is logged: debug, info, warn or error")
}

func (c *controllerConfig) validate() error {
	switch problems := validation.IsDNS1123Label(c.options.Namespace); {
	case c.options.Namespace == "":
		return errors.New("--namespace is empty: give it, or set POD_NAMESPACE by the downward API")
	case len(problems) > 0:
		return fmt.Errorf("--namespace `%s` is not a name of a namespace: %s", c.options.Namespace, problems[0])
	case !slices.Contains(reconciler.Modes(), c.options.Mode):
		return fmt.Errorf("--mode `%s` is not known: allowed are %v", c.options.Mode, reconciler.Modes())
	case firstInvalidNamespace(c.options.TrainerNamespaces) != "":
		return fmt.Errorf("--trainer-namespaces has `%s`, which is not the name of a namespace", firstInvalidNamespace(c.options.TrainerNamespaces))
	case c.options.Concurrency < 1:
		return fmt.Errorf("--concurrency is %d, at least 1 is needed", c.options.Concurrency)
	}
	return nil
}

// firstInvalidNamespace returns the first of some names that no namespace can have, or nothing.
func firstInvalidNamespace(namespaces []string) string {
	for _, name := range namespaces {
		if len(validation.IsDNS1123Label(name)) > 0 {
			return cmp.Or(name, "(nothing)")
		}
	}
	return ""
}

// leaseIdentity is the holder of the lease. With a kubeconfig several processes may share a host; in a pod there is one.
func (c *controllerConfig) leaseIdentity() (string, error) {
	if c.options.Identity != "" || c.kubeconfigPath != "" {
		return c.options.Identity, nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("find the name of the pod (give --identity): %w", err)
	}
	return name, nil
}

func (c *controllerConfig) restConfig() (*rest.Config, error) {
	if c.kubeconfigPath == "" {
		loaded, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("load the service account of the pod (outside a cluster give --kubeconfig): %w", err)
		}
		return loaded, nil
	}
	loaded, err := clientcmd.BuildConfigFromFlags("", c.kubeconfigPath)
	if err != nil {
		return nil, fmt.Errorf("load kubeconfig: %w", err)
	}
	return loaded, nil
}
