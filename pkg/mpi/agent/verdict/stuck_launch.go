package verdict

import (
	"cmp"
	"fmt"
	"path/filepath"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/program"
)

// StuckLaunch is a launch whose launcher did not end although all its ranks had ended.
type StuckLaunch struct {
	// Seen says what was seen, Ended is when the agent ended the launcher.
	Seen  string
	Ended time.Time
}

// judgeStuck judges a command whose newest launch was stuck, by how its ranks ended. Where all are known
// to have ended well, the job is complete if its command was the launcher, or made the best of it.
func (e Evidence) judgeStuck(verdict mpi.Verdict) (mpi.Verdict, int) {
	if verdict.Rank != nil {
		return verdict, cmp.Or(verdict.ExitCode, process.CodeAgentFailed)
	}
	ended, world := 0, e.seenWorld()
	for _, r := range e.podReports() {
		ended += r.EndedWell
	}
	command := mpi.UnwrapFilesDir(e.Argv)
	whole := len(command) > 0 && program.IsMPILauncherName(filepath.Base(command[0]))
	if world > 0 && ended >= world && (whole || verdict.Succeeded()) {
		verdict.Reason, verdict.ExitCode, verdict.Lines, verdict.Lost, verdict.Host = "", 0, nil, "", ""
		verdict.Message = fmt.Sprintf("%s; it was ended, and all %d ranks had exited with code 0", e.Stuck.Seen, world)
		return verdict, 0
	}
	verdict = judgeObstacle(verdict, mpi.ReasonLaunchStuck, "", e.Stuck.Seen+"; it was ended after a minute, and how all ranks had ended is not known")
	return verdict, process.CodeAgentFailed
}
