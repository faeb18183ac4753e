package main

import (
	"fmt"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/mpi/job"
	"lockstep.dev/lockstep/pkg/mpi/job/kueue"
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
	trainJob := &trainer.TrainJob{}
	if err := c.Get(cmd.Context(), key, trainJob); err != nil {
		return err
	}
	word := map[bool]string{true: "suspended", false: "resumed"}[suspend]
	switch queue := trainJob.Labels[kueue.QueueLabel]; {
	case job.IsFinished(trainJob):
		return cli.Failure(fmt.Errorf("`%s` is over: a job that has ended cannot be %s. %s starts another one like it", key.Name, word, k.commandHint(key.Namespace, "clone %s", key.Name)))
	case queue != "":
		return cli.Failure(fmt.Errorf("`%s` waits and runs by queue `%s`: Kueue decides when it is suspended and resumed, and would undo it. %s takes it out of the queue", key.Name, queue, k.commandHint(key.Namespace, "delete %s", key.Name)))
	case ptr.Deref(trainJob.Spec.Suspend, false) == suspend:
		_, err := fmt.Fprintf(k.streams.Out, "trainjob/%s is %s already\n", key.Name, map[bool]string{true: "suspended", false: "not suspended"}[suspend])
		return err
	}
	patch := fmt.Appendf(nil, `{"spec":{"suspend":%t}}`, suspend)
	if err := c.Patch(cmd.Context(), trainJob, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(k.streams.Out, "trainjob/%s %s\n", key.Name, word)
	return err
}
