package main

import (
	corev1 "k8s.io/api/core/v1"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// Ranks that launchers do not tell of, or not the truth.
func launcherFaults() []Fault {
	early := func(name, how string, number int, script string) Fault {
		return Fault{
			Name: name, How: how, Ranks: true, MPI: &mpich, Hits: rankOf(number), Want: []mpi.Reason{diagnose.RankFailed},
			Shape: command("mpirun", "-n", "4", "bash", "-c", `echo "fault: rank $PMI_RANK"; `+script+`; exec mpi-hello --sleep 60`),
		}
	}
	return append(everywhere(
		Fault{
			Name: "rank exit 7 below RANK=0", How: "`mpi-hello --exit-rank 3 --exit-code 7` in containers with RANK=0, LOCAL_RANK=0 and WORLD_SIZE=1", Ranks: true, Hits: rankOf(3),
			Want: []mpi.Reason{diagnose.RankFailed}, Says: []string{"exited with code 7"},
			Shape: func(job *trainer.TrainJob) {
				command("mpirun", "-n", "4", "mpi-hello", "--sleep", "60", "--exit-rank", "3", "--exit-code", "7")(job)
				job.Spec.Trainer.Env = []corev1.EnvVar{{Name: "RANK", Value: "0"}, {Name: "LOCAL_RANK", Value: "0"}, {Name: "WORLD_SIZE", Value: "1"}}
			},
		}),
		early("rank gone at once for MPICH", "rank 3 exits with code 6 in its first moment, while the others wait for it in MPI_Init", 3, `[ "$PMI_RANK" != 3 ] || exit 6`),
		early("first rank gone at once for MPICH", "rank 0 exits with code 6 in its first moment, while the others wait for it in MPI_Init", 0, `[ "$PMI_RANK" != 0 ] || exit 6`),
		early("rank leaves before MPI_Init for MPICH", "rank 1 exits with code 0 in its first moment, while the others wait for it in MPI_Init", 1, `[ "$PMI_RANK" != 1 ] || exit 0`),
		Fault{
			Name: "all ranks of a node gone at once for MPICH", How: "ranks 2 and 3, all of worker 1, exit with code 6 in their first moment, while the others wait for them in MPI_Init", Ranks: true, MPI: &mpich,
			Hits: workerOf(0), Want: []mpi.Reason{diagnose.RankFailed}, Says: []string{"ended before it came to MPI_Init"},
			Shape: command("mpirun", "-n", "4", "bash", "-c", `echo "fault: rank $PMI_RANK"; [ "$PMI_RANK" -lt 2 ] || exit 6; exec mpi-hello --sleep 60`),
		},
		Fault{
			Name: "node without MPI for MPICH", How: "both ranks of worker 1 leave at once with code 0, the others work for 20 s, all without MPI: no fault", Ranks: true, MPI: &mpich,
			Shape: command("mpirun", "-n", "4", "bash", "-c", `echo "fault: rank $PMI_RANK"; [ "$PMI_RANK" -lt 2 ] || exit 0; sleep 20`),
		},
		Fault{
			Name: "ranks without MPI for MPICH", How: "two of four ranks leave at once with code 0, the others work for 15 s, all without MPI: no fault", Ranks: true, MPI: &mpich,
			Shape: command("mpirun", "-n", "4", "bash", "-c", `echo "fault: rank $PMI_RANK"; [ $((PMI_RANK % 2)) = 1 ] || exit 0; sleep 15`),
		},
		Fault{
			Name: "late rank for MPICH", How: "rank 3 comes to MPI_Init 15 s after the others: no fault", Ranks: true, MPI: &mpich,
			Shape: command("mpirun", "-n", "4", "bash", "-c", `echo "fault: rank $PMI_RANK"; [ "$PMI_RANK" != 3 ] || sleep 15; mpi-hello; true`),
		},
	)
}
