package probe

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/proc"
)

// The variables by which launchers tell a rank the size of its world and the name of its job.
var (
	sizeVariables    = []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "HOROVOD_SIZE", "WORLD_SIZE"}
	sessionVariables = []string{"OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE", "PMI_JOBID", "PMI_ID_JOB"}
)

// WorldOf returns the place that the launcher of an environment has given to a process.
func WorldOf(environment []string) (rank, size int, session string, err error) {
	rank, found := proc.RankOf(environment)
	if !found {
		return 0, 0, "", errors.New("no rank is set in the environment: run the probe under mpirun, as in `mpirun mpi-agent probe`")
	}
	text := firstValueOf(environment, sizeVariables)
	size, err = strconv.Atoi(text)
	if err != nil || size < 1 || size > mpi.MaxProbeRanks || rank >= size {
		return 0, 0, "", fmt.Errorf("rank %d of `%s` ranks: allowed are 1 to %d ranks", rank, text, mpi.MaxProbeRanks)
	}
	return rank, size, firstValueOf(environment, sessionVariables), nil
}

func firstValueOf(environment, names []string) string {
	for _, name := range names {
		for _, variable := range environment {
			if value, found := strings.CutPrefix(variable, name+"="); found {
				return value
			}
		}
	}
	return ""
}
