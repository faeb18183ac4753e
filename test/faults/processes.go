package main

import (
	"context"
	"time"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// step does something to the cluster and returns how to undo it.
type step = func(context.Context, *attempt) (func(context.Context) error, error)

// kill sends SIGKILL to processes of a pod of the job.
func kill(role string, which func(process) bool) step {
	return func(ctx context.Context, t *attempt) (func(context.Context) error, error) {
		pod, err := t.pod(ctx, role)
		if err != nil {
			return nil, err
		}
		return nil, sendSignal(pod, unix.SIGKILL, which)
	}
}

// command sets the job's command.
func command(words ...string) func(*trainer.TrainJob) {
	return func(job *trainer.TrainJob) { job.Spec.Trainer.Command = words }
}

// oneRank runs a script in rank 3, which is on the last node, while the others go on.
func oneRank(script string) func(*trainer.TrainJob) {
	return command("mpirun", "-n", "4", "bash", "-c",
		`echo "fault: rank $OMPI_COMM_WORLD_RANK"; if [ "$OMPI_COMM_WORLD_RANK" = 3 ]; then `+script+`; fi; sleep 60`)
}

// Processes that die.
func processFaults() []Fault {
	return []Fault{
		{
			Name: "worker SIGKILL", How: "the agent of a worker gets SIGKILL from its machine", Ranks: true,
			Want: []mpi.Reason{diagnose.WorkerKilled}, Says: []string{"SIGKILL"},
			During: kill(mpi.NodeJob, isFirst),
		},
		{
			Name: "rank SIGKILL", How: "a rank on a worker gets SIGKILL", Ranks: true,
			Want:   []mpi.Reason{diagnose.RankKilled},
			During: kill(mpi.NodeJob, named("mpi-hello")),
		},
		{
			Name: "launcher killed", How: "the agent of the launcher gets SIGKILL from its machine", Ranks: true,
			Want:   []mpi.Reason{diagnose.LauncherKilled},
			During: kill(mpi.LauncherJob, isFirst),
		},
		{
			Name: "mpirun killed", How: "mpirun gets SIGKILL", Ranks: true,
			Want:   []mpi.Reason{diagnose.CommandKilled},
			During: kill(mpi.LauncherJob, named("mpirun")),
		},
		{
			Name: "launch daemon killed", How: "orted on a worker gets SIGKILL", Ranks: true,
			Want:   []mpi.Reason{diagnose.LaunchDaemonLost},
			During: kill(mpi.NodeJob, named("orted")),
		},
		{
			Name: "worker frozen", How: "all processes of a worker get SIGSTOP", Ranks: true,
			Want: []mpi.Reason{diagnose.WorkerLost},
			During: func(ctx context.Context, t *attempt) (func(context.Context) error, error) {
				pod, err := t.pod(ctx, mpi.NodeJob)
				if err != nil {
					return nil, err
				}
				thaw := func(context.Context) error { _ = sendSignal(pod, unix.SIGCONT, anyProcess); return nil }
				return thaw, sendSignal(pod, unix.SIGSTOP, anyProcess)
			},
		},
		{
			Name: "hang", How: "all ranks get SIGSTOP; the job allows 10 s without progress", Ranks: true, After: 10 * time.Second,
			Want: []mpi.Reason{diagnose.Hang},
			Shape: func(job *trainer.TrainJob) {
				job.Spec.Trainer.Env = []corev1.EnvVar{{Name: mpi.HangAfterVariable, Value: "10s"}}
			},
			During: func(ctx context.Context, t *attempt) (func(context.Context) error, error) {
				pods, err := t.pods(ctx)
				if err != nil {
					return nil, err
				}
				for _, pod := range pods {
					if pod.Labels[mpi.ReplicatedJobLabel] == mpi.NodeJob {
						if err := sendSignal(pod, unix.SIGSTOP, named("mpi-hello")); err != nil {
							return nil, err
						}
					}
				}
				return nil, nil
			},
		},
	}
}

// Commands that do it themselves.
func commandFaults() []Fault {
	return []Fault{
		{
			Name: "worker OOM", How: "rank 3 allocates without end below a memory limit of 256 MiB", Ranks: true,
			Want: []mpi.Reason{diagnose.OOMKilled},
			Shape: func(job *trainer.TrainJob) {
				oneRank("exec tail /dev/zero")(job)
				job.Spec.Trainer.ResourcesPerNode = &corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("256Mi")},
					Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
				}
			},
		},
		{
			Name: "rank segfault", How: "`mpi-hello --segv-rank 3`", Ranks: true,
			Want: []mpi.Reason{diagnose.RankKilled}, Says: []string{"rank 3"},
			Shape: command("mpirun", "-n", "4", "mpi-hello", "--sleep", "60", "--segv-rank", "3"),
		},
		{
			Name: "rank exit 3", How: "`mpi-hello --exit-rank 2 --exit-code 3`", Ranks: true,
			Want: []mpi.Reason{diagnose.RankFailed}, Says: []string{"3"},
			Shape: command("mpirun", "-n", "4", "mpi-hello", "--sleep", "60", "--exit-rank", "2", "--exit-code", "3"),
		},
		{
			Name: "command not found", How: "`mpirunn` instead of `mpirun`",
			Want: []mpi.Reason{diagnose.CommandNotFound}, Says: []string{"mpirunn"},
			Shape: command("mpirunn", "-n", "4", "mpi-hello"),
		},
		{
			Name: "program not found", How: "`mpirun mpi-helo` instead of `mpi-hello`",
			Want: []mpi.Reason{diagnose.CommandNotFound}, Says: []string{"mpi-helo"},
			Shape: command("mpirun", "-n", "4", "mpi-helo"),
		},
		{
			Name: "world smaller than asked", How: "`mpi-hello` without mpirun: one rank in the launcher, exit code 0",
			Want: []mpi.Reason{diagnose.WorldIncomplete}, Shape: command("mpi-hello"),
		},
		{
			Name: "too few slots", How: "`mpirun -n 16` on 2 nodes with 2 slots",
			Want: []mpi.Reason{diagnose.NotEnoughSlots}, Shape: command("mpirun", "-n", "16", "mpi-hello"),
		},
	}
}
