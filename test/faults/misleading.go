package main

import (
	"golang.org/x/sys/unix"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// Failures of which the ranks that are seen to end, or the first words of the output, are not the cause.
func misleadingFaults() []Fault {
	return append(everywhere(
		Fault{
			Name: "rank exits at once", How: "rank 3 exits with code 6 in its first millisecond, too early to be seen; the launcher ends the others by SIGTERM",
			Want: []mpi.Reason{diagnose.RankFailed, diagnose.CommandFailed}, Says: []string{"exited with code 6"},
			Shape: command("mpirun", "-n", "4", "bash", "-c", `[ "`+rankOfShell+`" != 3 ] || exit 6; exec sleep 5`),
		},
		Fault{
			Name: "timeout ends mpirun", How: "`timeout 5 mpirun`", Ranks: true,
			Want: []mpi.Reason{diagnose.CommandFailed}, Says: []string{"exited with code 124 (as `timeout` does"},
			Shape: command("timeout", "5", "mpirun", "-n", "4", "mpi-hello", "--sleep", "60"),
		},
		Fault{
			Name: "harmless words then segfault", How: "the launcher's script prints the traceback of an import that it does without, and then `mpi-hello --segv-rank 3`", Ranks: true, Hits: rankOf(3),
			Want: []mpi.Reason{diagnose.RankKilled}, Says: []string{"SIGSEGV"},
			Shape: command("bash", "-c", complain(importTraceback)+"; mpirun -n 4 mpi-hello --sleep 60 --segv-rank 3"),
		},
		Fault{
			Name: "harmless words then exit 9", How: "the launcher's script prints that a library is missing and that `std::bad_alloc` was caught, and then `mpi-hello --exit-rank 2 --exit-code 9`",
			Ranks: true, Hits: rankOf(2), Want: []mpi.Reason{diagnose.RankFailed}, Says: []string{"exited with code 9"},
			Shape: command("bash", "-c", complain(harmless)+"; mpirun -n 4 mpi-hello --sleep 60 --exit-rank 2 --exit-code 9"),
		},
	), Fault{
		Name: "launch daemon SIGTERM", How: "orted on a worker gets SIGTERM, and its ranks by it", Ranks: true,
		Want: []mpi.Reason{diagnose.LaunchDaemonLost}, During: send(unix.SIGTERM, mpi.NodeJob, daemon),
	})
}

// harmless is what scripts print that go on.
var harmless = []string{
	`nvidia-smi: error while loading shared libraries: libnvidia-ml.so.1: cannot open shared object file: No such file or directory`,
	`cache: std::bad_alloc, falling back to disk`,
}
