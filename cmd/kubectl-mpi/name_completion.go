package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/jobs/fetch"
)

// completeJobs offers the names of jobs to the shell.
func (k *kube) completeJobs(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return k.completionNames(cmd.Context(), "trainjobs"), cobra.ShellCompDirectiveNoFileComp
}

// completeRuntimes offers the names of runtimes.
func (k *kube) completeRuntimes(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return append(k.completionNames(cmd.Context(), "clustertrainingruntimes"), k.completionNames(cmd.Context(), "trainingruntimes")...), cobra.ShellCompDirectiveNoFileComp
}

// completionTimeout is how long somebody waits for the shell.
const completionTimeout = 2 * time.Second

// completionNames are none where they cannot be read: a shell shows no errors.
func (k *kube) completionNames(ctx context.Context, resource string) []string {
	c, err := k.Client()
	if err != nil {
		return nil
	}
	namespace, err := k.Namespace()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	names, err := fetch.ListNames(ctx, c, resource, client.InNamespace(namespace))
	if err != nil {
		return nil
	}
	return names
}
