package main

import (
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
)

// dashboardVariable holds the address of the dashboard of a cluster.
const dashboardVariable = "LOCKSTEP_DASHBOARD"

func newOpen(k *kube) *cobra.Command {
	var f dashboardFlags
	var address string
	cmd := &cobra.Command{
		Use:   "open NAME",
		Short: "Print and open the page of a job",
		Long: `Print the address of a job's page and open it in the browser.

With --dashboard, or ` + dashboardVariable + ` in the environment, it is a page of the dashboard in your
cluster. Without, the command serves the page on this machine until Ctrl-C, as ` + "`kubectl mpi dashboard`" + ` does.`,
		Example: `  kubectl mpi open train

  # In the dashboard of the cluster
  kubectl mpi open train --dashboard https://jobs.example.com`,
		Args:              cli.ArgsBetween(1, 1),
		ValidArgsFunction: k.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			job, err := k.trainJob(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			f.first = "/jobs/" + url.PathEscape(job.Namespace) + "/" + url.PathEscape(job.Name)
			if address == "" {
				return k.serveDashboard(cmd.Context(), f)
			}
			at, err := pageAddress(address, f.first)
			if err != nil {
				return err
			}
			fmt.Fprintln(k.streams.Out, at)
			if f.noBrowser {
				return nil
			}
			if err := startBrowser(cmd.Context(), at); err != nil {
				fmt.Fprintf(k.streams.ErrOut, "note: no browser was opened: %v\n", err)
			}
			return nil
		},
	}
	f.registerFlags(cmd)
	cmd.Flags().StringVar(&address, "dashboard", os.Getenv(dashboardVariable),
		"address of the dashboard in the cluster; else $"+dashboardVariable)
	cmd.Flags().Lookup("dashboard").DefValue = "" // in texts, whatever the environment has
	return cmd
}

// pageAddress returns the address of a page of a dashboard.
func pageAddress(dashboard, path string) (string, error) {
	at, err := url.Parse(dashboard)
	if err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" {
		return "", usageErrorf("`%s` is no address of a dashboard: give one such as `https://jobs.example.com`", dashboard)
	}
	return at.Scheme + "://" + at.Host + strings.TrimSuffix(at.Path, "/") + path, nil
}
