package main

import (
	"context"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/jobs/fetch"
)

// completeJobs offers the names of jobs to the shell.
func (k *kube) completeJobs(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	names, _, _ := k.listNames(cmd.Context(), "trainjobs") // a shell shows no errors
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeRuntimes offers the names of runtimes.
func (k *kube) completeRuntimes(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	shared, _, _ := k.listNames(cmd.Context(), "clustertrainingruntimes")
	own, _, _ := k.listNames(cmd.Context(), "trainingruntimes")
	return append(shared, own...), cobra.ShellCompDirectiveNoFileComp
}

// completeClaims offers the names of claims, with the beginning of their folder.
func (k *kube) completeClaims(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	names, _, _ := k.listNames(cmd.Context(), claimResource)
	for i := range names {
		names[i] += ":/"
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// listNames returns the names of the objects of a resource in the namespace.
func (k *kube) listNames(ctx context.Context, resource string) (names []string, namespace string, err error) {
	c, err := k.Client()
	if err != nil {
		return nil, "", err
	}
	if namespace, err = k.Namespace(); err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, hintTimeout)
	defer cancel()
	names, err = fetch.ListNames(ctx, c, resource, client.InNamespace(namespace))
	return names, namespace, err
}
