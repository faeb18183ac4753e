package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/jobs/bundle/gather"
)

func newBundle(k *kube) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "bundle JOB",
		Short: "Pack what is known of a job into an archive, for somebody who helps",
		Long: fmt.Sprintf(`Write a .tar.gz with the TrainJob and its conditions, JobSet, Jobs, pods, events, runtime and the last %d lines of each pod. No Secret is read, and
what looks like a secret is taken out; look through it all the same before you pass it on.`, gather.Lines),
		Example:           "  kubectl mpi bundle train --file train.tar.gz",
		Args:              cli.ArgsBetween(1, 1),
		ValidArgsFunction: k.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" {
				file = args[0] + ".tar.gz"
			}
			return k.writeBundle(cmd.Context(), args[0], file)
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "the archive to write; without it JOB.tar.gz. What is there already is not overwritten")
	return cmd
}

func (k *kube) writeBundle(ctx context.Context, name, file string) error {
	job, err := k.trainJob(ctx, name)
	if err != nil {
		return err
	}
	core, err := k.CoreClient()
	if err != nil {
		return err
	}
	b, err := gather.Bundle(ctx, k.reader, core, job, "kubectl-mpi "+cli.Version())
	if err != nil {
		return err
	}
	// Others on this machine need not read it.
	to, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return cli.Failure(fmt.Errorf("%s is there already: --file names another", file))
	}
	if err != nil {
		return cli.Failure(err)
	}
	if err := errors.Join(b.WriteArchive(to, time.Now()), to.Close()); err != nil {
		return cli.Failure(errors.Join(err, os.Remove(file))) // half an archive helps nobody
	}
	fmt.Fprintf(k.streams.Out, "%s: %d files. What looks like a secret was taken out; look through it before you pass it on\n", file, len(b.FileNames())+1)
	return nil
}
