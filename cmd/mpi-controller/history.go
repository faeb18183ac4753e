package main

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/history"
	"lockstep.dev/lockstep/pkg/history/store"
)

// historyService is the Service by which the API server asks.
const historyService = "mpi-history"

// newHistoryCommand keeps jobs that are over.
func newHistoryCommand() *cobra.Command {
	var c controllerConfig
	var o history.Options
	var days int
	storage, perJob, perNamespace := quantity("20Gi"), quantity("256Mi"), quantity("5Gi")
	command := &cobra.Command{
		Use:   "history",
		Short: "Keep jobs that are over, with the output of their pods",
		Long: `Follow the logs of all pods of TrainJobs, keep them in a folder with record, pods and events of the jobs,
and serve them as the API history.lockstep.dev, to users who may read keptjobs in the namespace of a job. There may be
one such process.`,
		Example: `  mpi-controller history --folder /var/lib/lockstep/history --storage 50Gi --days 14`,
		RunE: func(command *cobra.Command, _ []string) error {
			if days < 1 || storage.Sign() <= 0 || perJob.Sign() <= 0 || perNamespace.Sign() <= 0 {
				return usageError{fmt.Errorf("--days, --storage, --per-job and --per-namespace must be more than 0")}
			}
			kubeconfig, err := c.connect()
			if err != nil {
				return err
			}
			// Of a disk a tenth is left for what is no log.
			o.Limits = store.Limits{
				For:    time.Duration(days) * 24 * time.Hour,
				PerJob: perJob.Value(), PerNamespace: perNamespace.Value(), Total: storage.Value() / 10 * 9,
			}
			o.Host = historyService + "." + c.options.Namespace + ".svc"
			return history.Run(command.Context(), kubeconfig, o)
		},
	}
	flags := command.Flags()
	flags.StringVar(&c.kubeconfigPath, "kubeconfig", "", "kubeconfig file; empty uses the service account of the pod")
	flags.StringVar(&c.options.Namespace, "namespace", os.Getenv("POD_NAMESPACE"),
		"namespace of the Service "+historyService+", by which the API server asks (default $POD_NAMESPACE)")
	flags.StringVar(&o.Folder, "folder", "/var/lib/lockstep/history", "folder where jobs are kept")
	flags.Var(&storage, "storage", "how much the folder may hold: nine tenths of it for logs; the oldest jobs go first")
	flags.Var(&perJob, "per-job", "how much of compressed logs is kept of a job; the oldest lines go first")
	flags.Var(&perNamespace, "per-namespace",
		"how much of compressed logs is kept of a namespace; the oldest jobs go first")
	flags.IntVar(&days, "days", 7, "for how many days after its end a job is kept")
	flags.StringVar(&o.Address, "bind-address", ":8444", "address that serves the API, by HTTPS")
	flags.StringVar(&o.ProbeAddress, "health-probe-bind-address", ":8081",
		"address that serves /healthz; 0 turns it off")
	flags.TextVar(&c.logLevel, "log-level", slog.LevelInfo, "least level that is logged: debug, info, warn or error")
	return command
}

func quantity(text string) resource.QuantityValue {
	return resource.QuantityValue{Quantity: resource.MustParse(text)}
}
