package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/jobs/apierror"
	"lockstep.dev/lockstep/pkg/jobs/fetch"
	"lockstep.dev/lockstep/pkg/mpi"
	mpijob "lockstep.dev/lockstep/pkg/mpi/job"
)

// execFlags say where a command runs.
type execFlags struct {
	rank, node int
	stdin, tty bool
}

func (f *execFlags) registerFlags(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.rank, "rank", -1, "where this rank runs, if the launcher fills node after node, as most do")
	cmd.Flags().IntVar(&f.node, "node", -1, "on this node; without --rank and --node it is the launcher")
}

func newExec(k *kube) *cobra.Command {
	var f execFlags
	cmd := &cobra.Command{
		Use:   "exec JOB [flags] -- COMMAND [ARGUMENT…]",
		Short: "Run a command in the pod of a rank, of a node, or of the launcher",
		Long: `Run a command in a pod of a job. kubectl (or oc) does it; this finds the pod and its container. Admins of the tenant may, and
the groups that ` + "`people.shell`" + ` of its spec names.`,
		Example: "  kubectl mpi exec train --rank 3 -- nvidia-smi",
		Args: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); at != 1 || len(args) < 2 {
				return usageErrorf("name the job, and the command after `--`: `kubectl mpi exec JOB -- COMMAND`")
			}
			return nil
		},
		ValidArgsFunction: k.completeJobs,
		RunE:              func(cmd *cobra.Command, args []string) error { return k.runExec(cmd, args[0], args[1:], f) },
	}
	f.registerFlags(cmd)
	cmd.Flags().BoolVarP(&f.stdin, "stdin", "i", false, "pass standard input on")
	cmd.Flags().BoolVarP(&f.tty, "tty", "t", false, "standard input is a terminal")
	return cmd
}

func newShell(k *kube) *cobra.Command {
	f := execFlags{stdin: true, tty: true}
	cmd := &cobra.Command{
		Use:               "shell JOB",
		Short:             "Open a shell in the pod of a rank, of a node, or of the launcher",
		Example:           "  kubectl mpi shell train --rank 3",
		Args:              cli.ArgsBetween(1, 1),
		ValidArgsFunction: k.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return k.runExec(cmd, args[0], []string{"sh", "-c", "command -v bash >/dev/null && exec bash || exec sh"}, f)
		},
	}
	f.registerFlags(cmd)
	return cmd
}

func (k *kube) runExec(cmd *cobra.Command, name string, command []string, f execFlags) error {
	ctx := cmd.Context()
	job, err := k.trainJob(ctx, name)
	if err != nil {
		return err
	}
	if err := k.mayExec(ctx, job.Namespace); err != nil {
		return err
	}
	role, index, err := k.findPodRole(ctx, job, f)
	if err != nil {
		return err
	}
	pod, container, err := k.findPod(ctx, job, role, index)
	if err != nil {
		return err
	}
	args := append([]string{"exec", "--namespace", job.Namespace, pod, "--container", container}, k.connectionFlags(cmd)...)
	if f.stdin {
		args = append(args, "--stdin")
	}
	if f.tty {
		args = append(args, "--tty")
	}
	return k.runKubectl(ctx, append(append(args, "--"), command...))
}

// runKubectl lets kubectl or oc do it: they know terminals.
func (k *kube) runKubectl(ctx context.Context, args []string) error {
	for _, name := range []string{"kubectl", "oc"} {
		program, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		child := exec.CommandContext(ctx, program, args...)
		child.Stdin, child.Stdout, child.Stderr = k.streams.In, k.streams.Out, k.streams.ErrOut
		child.Cancel = func() error { return child.Process.Signal(os.Interrupt) }
		var exit *exec.ExitError
		if err := child.Run(); errors.As(err, &exit) {
			return exitWith(exit.ExitCode(), fmt.Errorf("the command ended with code %d", exit.ExitCode()))
		} else if err != nil {
			return cli.Failure(err)
		}
		return nil
	}
	return cli.Failure(errors.New("neither kubectl nor oc is in $PATH, and one of them opens the connection"))
}

// connectionFlags are the flags that say which cluster and as whom.
func (k *kube) connectionFlags(cmd *cobra.Command) []string {
	var args []string
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) { // Visit knows none of a parent's flags
		if f.Name == "namespace" || !f.Changed {
			return
		}
		values := []string{f.Value.String()}
		if list, is := f.Value.(pflag.SliceValue); is {
			values = list.GetSlice()
		}
		for _, value := range values {
			args = append(args, "--"+f.Name+"="+value)
		}
	})
	return args
}

// mayExec asks whether the user has the right, because kubectl would say less.
func (k *kube) mayExec(ctx context.Context, namespace string) error {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "create", Resource: "pods", Subresource: "exec"},
	}}
	if err := k.reader.Create(ctx, review); err != nil || review.Status.Allowed {
		return err
	}
	user, err := fetch.UserName(ctx, k.reader)
	if err != nil {
		return err
	}
	return apierror.MissingRight(user, "create", "pods/exec", namespace)
}

// findPodRole returns the pod that is meant.
func (k *kube) findPodRole(ctx context.Context, job *trainer.TrainJob, f execFlags) (role string, index int, err error) {
	switch {
	case f.rank >= 0 && f.node >= 0:
		return "", 0, usageErrorf("--rank or --node, not both")
	case f.node >= 0:
		return mpi.NodeJob, f.node, nil
	case f.rank < 0:
		return mpi.LauncherJob, 0, nil
	}
	runtime, err := fetch.RuntimeOf(ctx, k.reader, job)
	if err != nil {
		return "", 0, err
	}
	if !runtime.IsMPI() {
		return "", 0, usageErrorf("where rank %d of `%s` runs only its framework knows: name the node with --node", f.rank, job.Name)
	}
	made, err := mpijob.Resolve(job, *runtime)
	if err != nil {
		return "", 0, cli.Failure(err)
	}
	world := made.World
	if most := int(world.Nodes * world.SlotsPerNode); f.rank >= most {
		return "", 0, usageErrorf("there is no rank %d: `%s` has room for the ranks 0 to %d", f.rank, job.Name, most-1)
	}
	index = f.rank / int(world.SlotsPerNode)
	if !world.LauncherRunsRanks {
		return mpi.NodeJob, index, nil
	}
	if index == 0 {
		return mpi.LauncherJob, 0, nil
	}
	return mpi.NodeJob, index - 1, nil
}

// findPod finds a pod of a job that runs.
func (k *kube) findPod(ctx context.Context, job *trainer.TrainJob, role string, index int) (pod, container string, err error) {
	var pods corev1.PodList
	if err := k.reader.List(ctx, &pods, client.InNamespace(job.Namespace), client.MatchingLabels{mpi.JobSetNameLabel: job.Name, mpi.ReplicatedJobLabel: role}); err != nil {
		return "", "", err
	}
	i := slices.IndexFunc(pods.Items, func(p corev1.Pod) bool {
		return p.Labels[mpi.CompletionIndexLabel] == strconv.Itoa(index) && p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil
	})
	if i < 0 {
		return "", "", cli.Failure(fmt.Errorf("no pod of %s %d of `%s` runs: %s shows its pods", role, index, job.Name, k.commandHint(job.Namespace, "describe %s", job.Name)))
	}
	found := &pods.Items[i]
	container = found.Spec.Containers[0].Name
	if main := mpijob.MainContainer(&found.Spec); main != nil {
		container = main.Name
	}
	return found.Name, container, nil
}
