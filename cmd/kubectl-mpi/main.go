// Command kubectl-mpi is `kubectl mpi`: a person runs, watches, understands and repeats MPI jobs with it.
//
// It is wiring: a file per command, and no logic. What a job is, why it waits or has failed, and what may be said of it is decided in
// pkg/jobs, which a dashboard imports too. It needs no rights beyond those of an editor of a tenant, and what somebody may not see is named.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"

	"lockstep.dev/lockstep/internal/cli"
)

func main() {
	// The first signal ends what waits or follows, with words; the second one ends the program.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop)
	klog.LogToStderr(false) // client-go logs what errors say in words
	klog.SetOutput(io.Discard)
	os.Exit(run(ctx, cobraArguments(os.Args), newKube(genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr})))
}

// completionName is what kubectl looks for when somebody asks it to complete `kubectl mpi`: a link to this program.
const completionName = "kubectl_complete-mpi"

// cobraArguments returns what a command line asks for.
func cobraArguments(line []string) []string {
	if filepath.Base(line[0]) == completionName {
		return append([]string{cobra.ShellCompRequestCmd}, line[1:]...)
	}
	return line[1:]
}

// run runs a command line and returns the exit code.
func run(ctx context.Context, args []string, k *kube) int {
	root := newRoot(k)
	root.SetContext(ctx)
	root.SetIn(k.streams.In)
	return cli.Run(root, args, k.streams.Out, k.streams.ErrOut)
}
