package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/jobs/view"
	"lockstep.dev/lockstep/pkg/mpi"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
)

func newArtifacts(k *kube) *cobra.Command {
	var o outputFlag
	cmd := &cobra.Command{
		Use:   "artifacts NAME",
		Short: "Show the place of the artifacts of a job, and how far their copy is",
		Long: `Show the place of the artifacts of a job, and how far their copy is. Ranks write them to $` +
			mpi.ArtifactsVariable + `.

The copy has a file ` + jobv1.ManifestName + `, which names the job, its inputs and each file with its checksum.`,
		Example: `  kubectl mpi submit train --artifacts s3://models/runs,secret=bucket -- mpirun python3 train.py
  kubectl mpi artifacts train

  # Get them, from the volume
  kubectl mpi cp train:` + mpi.ArtifactsDir + ` .

  # Their place, for a script
  kubectl mpi artifacts train -o jsonpath='{.to}'`,
		Args:              cli.ArgsBetween(1, 1),
		ValidArgsFunction: k.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			found, namespace, err := k.readArtifacts(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			text := func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "%s\nin folder %s of claim %s: %s gets them\n", view.ArtifactsText(*found),
					mpi.ArtifactsPath(found.Folder), found.Claim, k.commandHint(namespace, "cp %s:%s .", args[0], mpi.ArtifactsDir))
				return err
			}
			return o.printResult(k.streams.Out, printable{value: found, names: []string{namePrefix + args[0]}, text: text})
		},
	}
	o.registerFlag(cmd, false)
	return cmd
}

// readArtifacts returns the artifacts of a job with its namespace; before its end only their place.
func (k *kube) readArtifacts(ctx context.Context, name string) (*jobv1.Artifacts, string, error) {
	objects, _, err := k.readLiveOrKept(ctx, name)
	if err != nil {
		return nil, "", err
	}
	j := view.JobOf(objects)
	if j.Artifacts != nil {
		return j.Artifacts, j.Namespace, nil
	}
	wanted, err := mpijob.ArtifactsOf(objects.TrainJob)
	switch {
	case err != nil:
		return nil, "", cli.Failure(err)
	case wanted == nil:
		return nil, "", cli.Failure(fmt.Errorf("`%s` keeps no artifacts: submit it with `--artifacts`", name))
	}
	planned := jobv1.Artifacts{Claim: wanted.Claim, Folder: wanted.Folder}
	if wanted.To != "" && !j.Phase.IsFinal() {
		planned.To = wanted.Destination(j.Name, objects.TrainJob.UID)
	}
	return &planned, j.Namespace, nil
}
