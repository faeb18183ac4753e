package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/view"
)

// key returns the key of a TrainJob of a name. `trainjob/NAME`, as `-o name` prints it, is taken too.
func (k *kube) key(name string) (client.ObjectKey, error) {
	namespace, err := k.Namespace()
	return client.ObjectKey{Namespace: namespace, Name: strings.TrimPrefix(name, namePrefix)}, err
}

const namePrefix = "trainjob/"

// hint returns a command line that somebody can type in the shell in which this one was typed: with the namespace, unless the kubeconfig says the same.
func (k *kube) hint(namespace, format string, args ...any) string {
	line := "kubectl mpi " + fmt.Sprintf(format, args...)
	if own, err := k.Namespace(); *k.flags.Namespace != "" || err != nil || own != namespace {
		line += " --namespace " + namespace
	}
	return "`" + line + "`"
}

// job reads a job.
func (k *kube) job(ctx context.Context, name string) (view.Job, error) {
	objects, err := k.objects(ctx, name)
	if err != nil {
		return view.Job{}, err
	}
	return view.JobOf(objects), nil
}

// objects reads a job and what belongs to it.
func (k *kube) objects(ctx context.Context, name string) (view.Objects, error) {
	key, err := k.key(name)
	if err != nil {
		return view.Objects{}, err
	}
	c, err := k.Client()
	if err != nil {
		return view.Objects{}, err
	}
	return fetch.Job(ctx, c, key)
}

// completeJobs offers the names of jobs to the shell.
func (k *kube) completeJobs(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return k.names(cmd.Context(), "trainjobs"), cobra.ShellCompDirectiveNoFileComp
}

// completeRuntimes offers the names of runtimes.
func (k *kube) completeRuntimes(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return append(k.names(cmd.Context(), "clustertrainingruntimes"), k.names(cmd.Context(), "trainingruntimes")...), cobra.ShellCompDirectiveNoFileComp
}

// completionTimeout is how long somebody waits for the shell.
const completionTimeout = 2 * time.Second

// names are none where they cannot be read: a shell shows no errors.
func (k *kube) names(ctx context.Context, resource string) []string {
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

// ago says how long ago something was.
func ago(at, now time.Time) string {
	return duration.HumanDuration(max(0, now.Sub(at))) + " ago"
}

// withheld names what could not be seen.
func withheld(w io.Writer, list []view.Withheld) {
	for _, what := range list {
		fmt.Fprintf(w, "Not shown: %s: %s\n", what.What, what.Why)
	}
}
