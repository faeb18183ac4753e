package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/preflight"
)

func newPreflight(k *kube) *cobra.Command {
	var f submitFlags
	var out outputFlag
	var file string
	cmd := &cobra.Command{
		Use:   "preflight [-f FILE | NAME [flags] -- COMMAND]",
		Short: "Say whether a job would fit now, wait, or never run, before it is made",
		Long: `Check a job against the cluster's rules (by a dry run), your rights, quota and LimitRange, its queue, machines and volumes. What you may not
read is listed as unknown. Where the job does not fit, the largest number of nodes that fits is shown.

The exit code is 6 for a job that can never run as it is.`,
		Example: `  kubectl mpi preflight -f train.yaml
  kubectl mpi preflight train --nodes 16 -- mpirun ./train`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.validate(); err != nil {
				return err
			}
			var jobs []*trainer.TrainJob
			var err error
			switch {
			case file != "" && len(args) > 0:
				return usageErrorf("a file or a name, not both")
			case file != "":
				jobs, err = k.readJobs(file)
			case len(args) == 0:
				return usageErrorf("say which job: `-f FILE`, or the name and flags of `submit`")
			default:
				var job *trainer.TrainJob
				job, err = k.assembleJob(cmd.Context(), args[0], args[1:], f)
				jobs = []*trainer.TrainJob{job}
			}
			if err != nil {
				return err
			}
			for _, job := range jobs {
				if err := k.runPreflight(cmd, job, out); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&file, "filename", "f", "", "the file with TrainJobs, - for standard input")
	f.registerFlags(cmd, k)
	out.registerFlag(cmd, false)
	return cmd
}

func (k *kube) runPreflight(cmd *cobra.Command, job *trainer.TrainJob, out outputFlag) error {
	c, err := k.Client()
	if err != nil {
		return err
	}
	in, err := fetch.PreflightInput(cmd.Context(), c, job)
	if err != nil {
		return err
	}
	answer := preflight.JudgeInput(in)
	if err := out.printResult(k.streams.Out, printable{value: answer, text: func(w io.Writer) error {
		_, err := io.WriteString(w, answer.Text())
		return err
	}}); err != nil {
		return err
	}
	switch {
	case answer.Verdict != preflight.Never:
		return nil
	case len(in.Rights) > 0:
		return exitWith(exitForbidden, errors.New("you may not make this job"))
	}
	return exitWith(exitRefused, errors.New("this job can never run as it is"))
}
