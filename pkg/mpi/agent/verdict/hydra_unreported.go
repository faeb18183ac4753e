package verdict

import "lockstep.dev/lockstep/pkg/mpi"

// unreportedFailure returns a rank of the newest launch that failed although Hydra says that all is well, or nil. A script may pass
// over the failure of its mpiexec, and then it was admitted.
func (e Evidence) unreportedFailure() *mpi.RankEnd {
	if e.Admitted.After(e.newestLaunchTime()) || e.Stopped != 0 {
		return nil
	}
	var hidden []mpi.NodeReport
	for _, report := range e.podReports() {
		for _, end := range report.Ranks {
			if end.Hydra {
				hidden = append(hidden, mpi.NodeReport{Name: report.Name, Ranks: []mpi.RankEnd{end}})
			}
		}
	}
	return firstFailedRank(hidden)
}

// hydraUnreported ends the message of a rank that nobody admits.
const hydraUnreported = ", because Hydra loses how ranks end that do not call MPI_Abort (pmodels/mpich#7057)"
