package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/view"
)

// jobKey returns the key of a TrainJob of a name. `trainjob/NAME`, as `-o name` prints it, is taken too.
func (k *kube) jobKey(name string) (client.ObjectKey, error) {
	namespace, err := k.Namespace()
	return client.ObjectKey{Namespace: namespace, Name: strings.TrimPrefix(name, namePrefix)}, err
}

const namePrefix = "trainjob/"

// commandHint returns a command line that somebody can type in the shell in which this one was typed: with the namespace, unless the kubeconfig says the same.
func (k *kube) commandHint(namespace, format string, args ...any) string {
	line := "kubectl mpi " + fmt.Sprintf(format, args...)
	if own, err := k.Namespace(); *k.flags.Namespace != "" || err != nil || own != namespace {
		line += " --namespace " + namespace
	}
	return "`" + line + "`"
}

// readJob reads a job.
func (k *kube) readJob(ctx context.Context, name string) (view.Job, error) {
	objects, err := k.readObjects(ctx, name)
	if err != nil {
		return view.Job{}, err
	}
	return view.JobOf(objects), nil
}

// readObjects reads a job and what belongs to it.
func (k *kube) readObjects(ctx context.Context, name string) (view.JobObjects, error) {
	key, err := k.jobKey(name)
	if err != nil {
		return view.JobObjects{}, err
	}
	c, err := k.Client()
	if err != nil {
		return view.JobObjects{}, err
	}
	return fetch.ReadJob(ctx, c, key)
}

// agoText says how long ago something was.
func agoText(at, now time.Time) string {
	return duration.HumanDuration(max(0, now.Sub(at))) + " ago"
}

// printWithheld names what could not be seen.
func printWithheld(w io.Writer, list []view.Withheld) {
	for _, what := range list {
		fmt.Fprintf(w, "Not shown: %s: %s\n", what.What, what.Why)
	}
}
