package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/jobs/act"
	"lockstep.dev/lockstep/pkg/jobs/logs"
	"lockstep.dev/lockstep/pkg/jobs/results"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

func newCp(k *kube) *cobra.Command {
	var o outputFlag
	cmd := &cobra.Command{
		Use:   "cp JOB:PATH [DESTINATION]",
		Short: "Copy a file or a folder that a job wrote to a volume",
		Long: `Copy a file or a folder from a claim that a job mounts, also after the job has ended. Editors may
do this: a small job mounts the same claims, prints the files, and is deleted. It waits for a place as other jobs do.

It reads about 1.5 MB per second, and users who may read logs can read along. For many gigabytes let the job write to an
object store.`,
		Example: `  # A file, into this folder
  kubectl mpi cp train:/results/model.pt .

  # A folder, under another name
  kubectl mpi cp train:/results run-7`,
		Args:              cli.ArgsBetween(1, 2),
		ValidArgsFunction: k.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			name, file, found := strings.Cut(args[0], ":")
			destination := "."
			if len(args) == 2 {
				destination = args[1]
			}
			switch {
			case !found && strings.Contains(destination, ":"):
				return usageErrorf("`cp` only copies out of a job: files get in with `submit --files`, or in the image")
			case !found || name == "" || !path.IsAbs(file):
				return usageErrorf("`%s` is not JOB:PATH with a path from the root, such as `train:/results/model.pt`", args[0])
			}
			copied, err := k.copyResults(cmd.Context(), name, path.Clean(file), destination)
			if err != nil {
				return err
			}
			for _, skipped := range copied.Skipped {
				fmt.Fprintf(k.streams.ErrOut, "note: `%s` was not copied: "+
					"it is a device, a pipe or a link that leads out of the folder\n", skipped)
			}
			text := func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "files: %d, bytes: %d\n", copied.Files, copied.Bytes)
				return err
			}
			return o.printResult(k.streams.Out, printable{value: copied, text: text})
		},
	}
	o.registerFlag(cmd, false)
	return cmd
}

// copyResults copies a file or folder of a job to a destination, as cp does: into it if it is a folder.
func (k *kube) copyResults(ctx context.Context, name, file, destination string) (results.Copied, error) {
	folder, called := destination, path.Base(file)
	if info, err := os.Stat(destination); err != nil || !info.IsDir() {
		folder, called = filepath.Split(filepath.Clean(destination))
	}
	root, err := os.OpenRoot(cmp.Or(folder, "."))
	if err != nil {
		return results.Copied{}, cli.Failure(fmt.Errorf("cannot write to `%s`: %w", destination, err))
	}
	defer root.Close()
	job, err := k.newCopyJob(ctx, name, file)
	if err != nil {
		return results.Copied{}, err
	}
	c, err := k.Client()
	if err != nil {
		return results.Copied{}, err
	}
	act.Sign(ctx, c, job)
	if err := c.Create(ctx, job); err != nil {
		return results.Copied{}, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), hintTimeout)
		defer cancel()
		err := c.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil {
			hint := k.commandHint(job.Namespace, "delete %s", job.Name)
			fmt.Fprintf(k.streams.ErrOut, "note: the job of the copy is left: %s deletes it\n", hint)
		}
	}()
	w := &waitCommand{kube: k, what: forStarted, seen: true, failFast: true}
	switch j, err := w.waitForJob(ctx, client.ObjectKeyFromObject(job)); {
	case ctx.Err() != nil:
		return results.Copied{}, exitWith(exitInterrupted, errInterrupted)
	case err != nil && j.Cause != nil:
		return results.Copied{}, cli.Failure(fmt.Errorf("the copy cannot run: %s", diagnose.StripEscapes(causeText(j))))
	case err != nil:
		return results.Copied{}, err
	}
	return k.unpackLog(ctx, job, root, called)
}

// newCopyJob returns the job that prints a file of another one.
func (k *kube) newCopyJob(ctx context.Context, name, file string) (*trainer.TrainJob, error) {
	old, err := k.readObjects(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case old.JobSet == nil:
		return nil, cli.Failure(fmt.Errorf("`%s` has not run, so it has no files: %s says why",
			name, k.commandHint(old.TrainJob.Namespace, "why %s", name)))
	case old.Runtime == nil || !old.Runtime.IsCompiled():
		return nil, cli.Failure(fmt.Errorf("the runtime of `%s` is gone or has no agent, which would read the files: "+
			"mount the claim in a job of another runtime with `--pvc`, and copy from that", name))
	}
	if err := results.CheckPath(name, file, results.Claims(old.JobSet)); err != nil {
		return nil, cli.Failure(err)
	}
	return results.CopyJob(old, "cp-"+rand.String(8), file)
}

// unpackLog writes the files that a job prints.
func (k *kube) unpackLog(
	ctx context.Context, job *trainer.TrainJob, root *os.Root, name string,
) (copied results.Copied, broken error) {
	read, write := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		copied, broken = results.Extract(read, root, name)
		read.CloseWithError(broken)
	}()
	line := cli.NewProgress(k.streams.ErrOut)
	defer line.ClearLine()
	begun := time.Now()
	archive := &results.Archive{To: write}
	_, err := k.readLogs(ctx, job, logsFlags{follow: true, tail: -1, most: maxLogs}, func(lines []logs.Line) error {
		line.ShowText(fmt.Sprintf("copying for %s", time.Since(begun).Round(time.Second)))
		return archive.Take(lines)
	})
	write.Close()
	<-done
	line.ClearLine()
	switch {
	case ctx.Err() != nil:
		return copied, exitWith(exitInterrupted, errInterrupted)
	case isLocal(broken):
		return copied, cli.Failure(fmt.Errorf("cannot write: %w", broken))
	case archive.Failure != "":
		return copied, cli.Failure(fmt.Errorf("not all files can be read: %s", diagnose.StripEscapes(archive.Failure)))
	case !archive.Ended && err == nil:
		return copied, cli.Failure(fmt.Errorf("the job of the copy ended early: its image or machine may be gone; try again"))
	case broken != nil:
		return copied, cli.Failure(fmt.Errorf("the copy is not complete, and the files may be wrong: %w. "+
			"A slow connection loses lines of the log: copy less at a time", broken))
	case err != nil && !errors.Is(err, io.ErrClosedPipe):
		return copied, err
	}
	return copied, nil
}

// isLocal reports whether an error is about a file of this machine.
func isLocal(err error) bool {
	var file *os.PathError
	var link *os.LinkError
	return errors.As(err, &file) || errors.As(err, &link)
}
