// Command mpi-controller runs TrainJobs of MPI runtimes: it gives each a key, a hostfile, network policies and a JobSet,
// hands the launcher the addresses of its nodes, and says in the status of the TrainJob what goes on and what went wrong.
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"lockstep.dev/lockstep/internal/version"
	"lockstep.dev/lockstep/pkg/mpi/reconciler"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := runCommandLine(ctx, os.Args[1:], os.Stdout, os.Stderr, runController)
	stop()
	os.Exit(code)
}

// runController works until the context ends.
func runController(ctx context.Context, c controllerConfig) error {
	kubeconfig, err := c.connect()
	if err != nil {
		return err
	}
	if c.options.Identity, err = c.leaseIdentity(); err != nil {
		return err
	}
	ctrl.Log.Info("starting", "version", version.String(), "mode", c.options.Mode, "namespace", c.options.Namespace, "leaderElection", c.options.LeaderElection)
	return reconciler.Run(ctx, kubeconfig, c.options)
}

// connect begins to log, and returns how the cluster is reached.
func (c controllerConfig) connect() (*rest.Config, error) {
	log := logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: c.logLevel}))
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	return c.restConfig()
}
