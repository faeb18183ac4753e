package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/proc"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// step does something to the cluster and returns how to undo it.
type step = func(context.Context, *attempt) (func(context.Context) error, error)

// kill sends SIGKILL to processes of a pod of the job.
func kill(role string, which func(implementation) func(process) bool) step {
	return send(unix.SIGKILL, role, which)
}

// send sends a signal to processes of a pod of the job.
func send(signal unix.Signal, role string, which func(implementation) func(process) bool) step {
	return func(ctx context.Context, t *attempt) (func(context.Context) error, error) {
		pod, err := t.hit(ctx, role)
		if err != nil {
			return nil, err
		}
		return nil, sendSignal(pod, signal, which(t.fault.mpi()))
	}
}

func agent(implementation) func(process) bool     { return isFirst }
func starter(i implementation) func(process) bool { return named(i.starter) }
func daemon(i implementation) func(process) bool  { return named(i.daemon) }

// signalRank sends a signal to one rank of a worker.
func signalRank(signal unix.Signal) step {
	return func(ctx context.Context, t *attempt) (func(context.Context) error, error) {
		pod, err := t.hit(ctx, mpi.NodeJob)
		if err != nil {
			return nil, err
		}
		ranks, err := chosen(pod, named("mpi-hello"))
		if err != nil {
			return nil, err
		}
		rank, found := proc.RankOfProcess(os.DirFS("/proc"), ranks[0].pid, nil)
		if !found {
			return nil, fmt.Errorf("process %d of pod %s is no rank", ranks[0].pid, pod.Name)
		}
		t.target.rank = &rank
		return nil, ranks[0].signal(pod, signal)
	}
}

// freeze stops all processes of a worker.
func freeze(ctx context.Context, t *attempt) (func(context.Context) error, error) {
	pod, err := t.hit(ctx, mpi.NodeJob)
	if err != nil {
		return nil, err
	}
	thaw := func(context.Context) error { _ = sendSignal(pod, unix.SIGCONT, anyProcess); return nil }
	return thaw, sendSignal(pod, unix.SIGSTOP, anyProcess)
}

// freezeRanks stops all ranks.
func freezeRanks(ctx context.Context, t *attempt) (func(context.Context) error, error) {
	pods, err := t.podsOf(ctx, mpi.NodeJob)
	if err != nil {
		return nil, err
	}
	for _, pod := range pods {
		if err := sendSignal(pod, unix.SIGSTOP, named("mpi-hello")); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// command sets the job's command.
func command(words ...string) func(*trainer.TrainJob) {
	return func(job *trainer.TrainJob) { job.Spec.Trainer.Command = words }
}

// oneRank runs a script in rank 3, which is on the last node, while the others go on. No real program fails within its first
// moment.
func oneRank(script string) func(*trainer.TrainJob) {
	return command("mpirun", "-n", "4", "bash", "-c",
		`sleep 0.5; echo "fault: rank `+rankOfShell+`"; if [ "`+rankOfShell+`" = 3 ]; then `+script+`; fi; sleep 60`)
}

// watched turns the watch for hangs on.
func watched(shape func(*trainer.TrainJob)) func(*trainer.TrainJob) {
	return func(job *trainer.TrainJob) {
		shape(job)
		job.Spec.Trainer.Env = []corev1.EnvVar{{Name: mpi.HangAfterVariable, Value: "10s"}}
	}
}

// hello is the default command.
var hello = command("mpirun", "-n", "4", "mpi-hello", "--sleep", "120")

// Processes that die.
func processFaults() []Fault {
	return everywhere(
		Fault{
			Name: "worker SIGKILL", How: "the agent of a worker gets SIGKILL from its machine", Ranks: true,
			Want: []mpi.Reason{diagnose.WorkerKilled}, Says: []string{"SIGKILL"}, During: kill(mpi.NodeJob, agent),
		},
		Fault{
			Name: "rank SIGKILL", How: "a rank on a worker gets SIGKILL", Ranks: true,
			Want: []mpi.Reason{diagnose.RankKilled}, Says: []string{"SIGKILL"}, During: signalRank(unix.SIGKILL),
		},
		Fault{
			Name: "launcher killed", How: "the agent of the launcher gets SIGKILL from its machine", Ranks: true,
			Want: []mpi.Reason{diagnose.LauncherKilled}, Says: []string{"SIGKILL"}, During: kill(mpi.LauncherJob, agent),
		},
		Fault{
			Name: "mpirun killed", How: "mpirun gets SIGKILL", Ranks: true,
			Want: []mpi.Reason{diagnose.CommandKilled}, Says: []string{"SIGKILL"}, During: kill(mpi.LauncherJob, starter),
		},
		Fault{
			Name: "launch daemon killed", How: "orted, prted or hydra_pmi_proxy on a worker gets SIGKILL", Ranks: true,
			Want: []mpi.Reason{diagnose.LaunchDaemonLost}, During: kill(mpi.NodeJob, daemon),
		},
		Fault{
			Name: "worker frozen", How: "all processes of a worker get SIGSTOP", Ranks: true, Limit: warned,
			Warns: diagnose.WorkerSilent, Want: []mpi.Reason{diagnose.WorkerLost}, During: freeze,
			Settling: 45 * time.Second, // an agent that is frozen too ends when kubelet kills it, after the grace of 30 s
		},
		Fault{
			Name: "rank stopped", How: "a rank on a worker gets SIGSTOP; the job waits", Ranks: true, Limit: warned,
			Want: []mpi.Reason{diagnose.RankStopped}, Says: []string{"SIGCONT"}, Waits: true, During: signalRank(unix.SIGSTOP),
		},
		Fault{
			Name: "hang", How: "all ranks get SIGSTOP; the job allows 10 s without progress", Ranks: true, After: 10 * time.Second,
			Want: []mpi.Reason{diagnose.Hang}, Says: []string{"rank 0", "rank 1", "rank 2", "rank 3"}, Shape: watched(hello), During: freezeRanks,
		},
		Fault{
			Name: "deadlock", How: "`mpi-hello --deadlock-rank 3`: it never joins the MPI_Allreduce in which the others wait; the job allows 10 s without progress",
			Ranks: true, After: 10 * time.Second, Hits: rankOf(3),
			Want: []mpi.Reason{diagnose.Hang}, Shape: watched(command("mpirun", "-n", "4", "mpi-hello", "--deadlock-rank", "3")),
		},
	)
}

// Ranks that break by themselves.
func rankFaults() []Fault {
	return everywhere(
		Fault{
			Name: "worker OOM", How: "rank 3 allocates without end below a memory limit of 256 MiB", Ranks: true, Hits: rankOf(3),
			Want: []mpi.Reason{diagnose.OOMKilled},
			Shape: func(job *trainer.TrainJob) {
				oneRank("exec tail /dev/zero")(job)
				job.Spec.Trainer.ResourcesPerNode = &corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("256Mi")},
					Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
				}
			},
		},
		Fault{
			Name: "rank segfault", How: "`mpi-hello --segv-rank 3`", Ranks: true, Hits: rankOf(3),
			Want: []mpi.Reason{diagnose.RankKilled}, Says: []string{"SIGSEGV"},
			Shape: command("mpirun", "-n", "4", "mpi-hello", "--sleep", "60", "--segv-rank", "3"),
		},
		Fault{
			Name: "rank exit 3", How: "`mpi-hello --exit-rank 2 --exit-code 3`", Ranks: true, Hits: rankOf(2),
			Want: []mpi.Reason{diagnose.RankFailed}, Says: []string{"exited with code 3"},
			Shape: command("mpirun", "-n", "4", "mpi-hello", "--sleep", "60", "--exit-rank", "2", "--exit-code", "3"),
		},
		Fault{
			Name: "rank fails before MPI_Init", How: "rank 3 does not find a module of Python, while the others wait for it in MPI_Init", Ranks: true, Hits: rankOf(3),
			Want: []mpi.Reason{diagnose.PythonModuleMissing}, Says: []string{"Worker 0 failed", "ModuleNotFoundError: No module named 'torch'"},
			Shape: command("mpirun", "-n", "4", "bash", "-c", `sleep 0.5; echo "fault: rank `+rankOfShell+`"
				if [ "`+rankOfShell+`" = 3 ]; then `+complain(importTraceback)+`; exit 1; fi
				exec mpi-hello --sleep 60`),
		},
		Fault{
			Name: "CUDA out of memory", How: "rank 3 prints PyTorch's traceback to its standard error and exits with code 1", Ranks: true, Hits: rankOf(3),
			Want: []mpi.Reason{diagnose.CUDAOutOfMemory}, Says: []string{"Worker 0 failed: CUDA out of memory", "Tried to allocate 2.50 GiB"},
			Shape: command("mpirun", "-n", "4", "bash", "-c", `if [ "`+rankOfShell+`" = 3 ]; then `+complain(cudaTraceback)+`; fi
				exec mpi-hello --sleep 60 --exit-rank 3 --exit-code 1`),
		},
	)
}

// complain is a command of a shell that prints lines to its standard error.
func complain(lines []string) string {
	words := "printf '%s\\n'"
	for _, line := range lines {
		words += " '" + strings.ReplaceAll(line, "'", `'\''`) + "'"
	}
	return words + " >&2"
}

// importTraceback is what Python prints.
var importTraceback = []string{
	`Traceback (most recent call last):`,
	`  File "/app/train.py", line 3, in <module>`,
	`    import torch`,
	`ModuleNotFoundError: No module named 'torch'`,
}

// cudaTraceback is what PyTorch 2 prints.
var cudaTraceback = []string{
	`Traceback (most recent call last):`,
	`  File "/app/train.py", line 214, in <module>`,
	`    loss.backward()`,
	`torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 1 has a total capacity of 79.10 GiB of which 1.02 GiB is free.`,
}

// Commands that exit 0 although their launch did not do its work.
func launchFaults() []Fault {
	return append(everywhere(Fault{
		Name: "command ends before its launch", How: "`mpirun … & sleep 3`, and the script is over", Ranks: true,
		Want: []mpi.Reason{diagnose.LaunchAbandoned}, Says: []string{"mpi-hello --sleep 60", "`wait`"},
		Shape: command("bash", "-c", "mpirun -n 4 mpi-hello --sleep 60 & sleep 3"),
	}),
		Fault{
			Name: "launch daemon gets SIGTERM for Open MPI 5", How: "prted on worker 0 gets SIGTERM and exits with 1, mpirun exits with 0", Ranks: true, MPI: &openMPI5,
			Want: []mpi.Reason{diagnose.LaunchDaemonLost}, Hits: workerOf(0), Shape: oneRank("kill -TERM $PPID"),
		},
		Fault{
			Name: "two programs for Open MPI 5", How: "`mpirun -n 2 A : -n 2 B`, which prted of Debian 13 does not survive (open-mpi/ompi#13303)", MPI: &openMPI5,
			Want: []mpi.Reason{diagnose.LaunchDaemonLost, diagnose.CommandKilled}, Says: []string{"several programs in one launch"}, Shape: command("mpirun", "-n", "2", "mpi-hello", ":", "-n", "2", "mpi-hello", "--sleep", "1"),
		},
	)
}

// Commands that do it themselves.
func commandFaults() []Fault {
	return []Fault{
		{
			Name: "launcher OOM", How: "the command allocates without end in the launcher, which has a memory limit of 128 MiB", Ranks: true,
			Want: []mpi.Reason{diagnose.OOMKilled}, Hits: launcherOf,
			Shape: command("bash", "-c", "mpirun -n 4 mpi-hello; exec tail /dev/zero"),
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
