package main

import (
	"context"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/jobs/submit"
)

func newClone(k *kube) *cobra.Command {
	var set []string
	var files string
	var resume bool
	var launch launchFlags
	cmd := &cobra.Command{
		Use:   "clone JOB [NAME] [flags] [-- COMMAND [ARGUMENT…]]",
		Short: "Run a job again, with changes",
		Long: `Make a job like another one. What a job is cannot be changed once it exists, so this is also how a job is edited.

Files that were taken along go with it, as they were; --files takes those of a folder instead. Without a name it is
called as the old one, with the next number.

` + commandText,
		Example: `  kubectl mpi clone train --set nodes=8
  kubectl mpi clone train again --set env.LR=0.01 --set resources.memory=32Gi --follow
  # The script as it is now
  kubectl mpi clone train --files . --follow
  # From the last checkpoint of the old job
  kubectl mpi clone train --resume
  # Another command
  kubectl mpi clone train -- mpirun python train.py --resume`,
		Args: func(cmd *cobra.Command, args []string) error {
			named := len(args)
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				named = at
			}
			if named < 1 || named > 2 {
				return usageErrorf("name the job, and if you like the new one: `kubectl mpi clone JOB [NAME]`")
			}
			return launch.validate()
		},
		ValidArgsFunction: k.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			var command []string
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				args, command = args[:at], args[at:]
			}
			job, err := k.cloneJob(cmd.Context(), args, set, files, command, resume)
			if err != nil {
				return err
			}
			return k.launchJobs(cmd.Context(), []*trainer.TrainJob{job}, launch)
		},
	}
	cmd.Flags().StringArrayVar(&set, "set", nil, "what is different: nodes=8, slots=2, image=… (empty for the runtime's), queue=…, runtime=…, trace=…, env.NAME=…, resources.NAME=…")
	cmd.Flags().StringVar(&files, "files", "", "a folder whose text files it takes along, in place of those of the old job")
	cmd.Flags().BoolVar(&resume, "resume", false, "go on with the artifacts of the old job, such as its checkpoints")
	cli.CompleteFlagWith(cmd, "set", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return submit.SettingNames(), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
	launch.registerFlags(cmd)
	return cmd
}

// cloneJob returns the new job.
func (k *kube) cloneJob(
	ctx context.Context, args, set []string, files string, command []string, resume bool,
) (*trainer.TrainJob, error) {
	old, err := k.trainJob(ctx, args[0])
	if err != nil {
		return nil, err
	}
	var name string
	if len(args) == 2 {
		name = args[1]
	} else {
		taken, err := fetch.ListNames(ctx, k.reader, "trainjobs", client.InNamespace(old.Namespace))
		if err != nil {
			return nil, err
		}
		name = submit.NextName(old.Name, taken)
	}
	job, err := submit.CloneJob(old, name)
	if err != nil {
		return nil, usageErrorf("%w", err)
	}
	for _, assignment := range set {
		if err := submit.SetField(job, assignment); err != nil {
			return nil, usageErrorf("--set: %w", err)
		}
	}
	if resume {
		if err := submit.Resume(job, old); err != nil {
			return nil, usageErrorf("--resume: %w", err)
		}
	}
	if files != "" {
		taken, err := readFolderFiles(files)
		if err == nil {
			err = submit.SetFiles(job, taken)
		}
		if err != nil {
			return nil, cli.Failure(err)
		}
	}
	if len(command) > 0 {
		submit.SetCommand(job, command)
	}
	return job, nil
}
