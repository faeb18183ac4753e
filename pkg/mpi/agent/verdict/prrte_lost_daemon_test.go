package verdict

import (
	"testing"
)

func TestLaunchersThatRecover(t *testing.T) {
	for line, want := range map[string]bool{
		"mpirun --with-ft ulfm -n 4 x": true, "mpirun --with-ft=mpi x": true, "prterun --enable-recovery x": true, "mpirun --continuous x": true,
		"prterun --rtos recoverable,notifyerrors x": true, "mpirun --mca mpi_ft_enable 1 x": true,
		"mpirun -n 4 recover": false, "mpirun -n 4 continuous-training.py": false, "": false,
	} {
		if got := (Launch{Line: line}).toleratesLostDaemons(); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}
