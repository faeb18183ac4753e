package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/jobs/act"
)

func newSuspend(k *kube) *cobra.Command {
	return &cobra.Command{
		Use:   "suspend NAME",
		Short: "Stop a job and take its pods away, so that it can be resumed",
		Long: `Stop a job and take its pods away. Its command starts from its beginning when the job is resumed: what it has computed is kept only
where it writes checkpoints.`,
		Example:           "  kubectl mpi suspend train",
		Args:              cli.ArgsBetween(1, 1),
		ValidArgsFunction: k.completeJobs,
		RunE:              func(cmd *cobra.Command, args []string) error { return k.setSuspended(cmd, args[0], true) },
	}
}

func newResume(k *kube) *cobra.Command {
	return &cobra.Command{
		Use:               "resume NAME",
		Short:             "Start a job again that was suspended",
		Example:           "  kubectl mpi resume train",
		Args:              cli.ArgsBetween(1, 1),
		ValidArgsFunction: k.completeJobs,
		RunE:              func(cmd *cobra.Command, args []string) error { return k.setSuspended(cmd, args[0], false) },
	}
}

// setSuspended suspends or resumes a job.
func (k *kube) setSuspended(cmd *cobra.Command, name string, suspend bool) error {
	key, err := k.jobKey(name)
	if err != nil {
		return err
	}
	c, err := k.Client()
	if err != nil {
		return err
	}
	changed, err := act.Suspend(cmd.Context(), c, key, "", suspend)
	var refusal *act.SuspendRefusal
	switch {
	case errors.As(err, &refusal) && refusal.Queue != "":
		return cli.Failure(fmt.Errorf("%w. %s takes it out of the queue", err, k.commandHint(key.Namespace, "delete %s", key.Name)))
	case errors.As(err, &refusal):
		return cli.Failure(fmt.Errorf("%w. %s starts another one like it", err, k.commandHint(key.Namespace, "clone %s", key.Name)))
	case err != nil:
		return err
	case !changed:
		word := map[bool]string{true: "suspended", false: "not suspended"}[suspend]
		_, err := fmt.Fprintf(k.streams.Out, "trainjob/%s is %s already\n", key.Name, word)
		return err
	}
	word := map[bool]string{true: "suspended", false: "resumed"}[suspend]
	_, err = fmt.Fprintf(k.streams.Out, "trainjob/%s %s\n", key.Name, word)
	return err
}
