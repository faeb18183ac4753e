package agent

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// facts are all that is known when the user's command has ended.
type facts struct {
	// argv is the user's command.
	argv   []string
	status process.Status
	// stopped is the signal by which the pod was asked to stop, 0 for none.
	stopped syscall.Signal
	// oomKills counts the processes of the launcher's pod that the kernel killed for memory while the command ran.
	oomKills int
	// ranks are those of the launcher's pod that failed; seen is how many ran there, of a world of this size.
	ranks       []mpi.RankEnd
	seen, world int
	// numbers are those of the ranks that were seen there of the newest launch by Hydra.
	numbers []int
	// hostname is the launcher's.
	hostname string
	// admitted is when a launcher inside of the command, such as mpiexec, ended for the last time with an error that the
	// command passed over, zero for never.
	admitted time.Time
	// reports are those of the nodes, without the launcher.
	reports []mpi.NodeReport
	// unfinished is the command line of a launcher that still ran some time after the command had ended, or empty.
	unfinished string
	// saidLost is when a launcher said for the last time that it lost a launch daemon, zero for never.
	saidLost time.Time
	// launches are when the newest launch on each node began, by the first label of its name.
	launches map[string]time.Time
	// launched is the newest launcher inside of the command, as the launcher's pod saw it.
	launched launcher
	losses   []loss
	// lines are the last lines of the output of the command, output what they tell of a failure.
	lines  []string
	output *diagnose.Finding
	// allowIdle says that a node without ranks is fine.
	allowIdle bool
	// ended is when the command ended, now when this is judged.
	ended, now time.Time
}

// judge decides how the job ended. The exit code of the command decides when it is not 0. When it is 0, the nodes must
// agree: Open MPI 5 can exit 0 after losing a daemon, Hydra after losing how ranks ended, and a launcher that ignores its
// hostfile runs alone and exits 0.
func judge(f facts) mpi.Verdict {
	f = f.nameEarly()
	verdict := mpi.Verdict{ExitCode: f.status.Code(), OOMKills: f.allOOMKills(), LauncherOOMKills: f.oomKills, Nodes: f.reports}
	if f.stopped != 0 {
		verdict.Stopped = process.SignalName(f.stopped)
	}
	ended := f.ending()
	f = f.ofNewestLaunch()
	switch {
	case f.status.Code() != 0:
		culprit := f.culprit()
		f.output = f.read(culprit)
		blame := f.blame(culprit)
		verdict.Reason, verdict.Host, verdict.Lost, verdict.Rank = blame.reason, blame.host, blame.lost, blame.rank
		verdict.Message = blame.headline() + ended + codeStandsFor(f.status) + evidence(f)
		verdict.Lines = f.lastLines(blame)
	default:
		f.doubt(&verdict, ended)
	}
	verdict.LostSeconds = f.silence(verdict.Lost)
	return verdict
}

// read finds in the output why a rank failed. Of one that a launcher ended the output says nothing.
func (f facts) read(culprit *mpi.RankEnd) *diagnose.Finding {
	if culprit == nil || endedByLauncher(*culprit) {
		return diagnose.Output(f.lines)
	}
	return diagnose.OutputOf(f.lines, *culprit)
}

// silence is how many seconds ago a lost node had stopped answering, 0 when nobody noticed.
func (f facts) silence(lost string) float64 {
	for _, l := range f.losses {
		if l.Host == lost && !l.Since.IsZero() {
			return mpi.Seconds(f.now.Sub(l.Since).Seconds())
		}
	}
	return 0
}

// ending says how the command ended.
func (f facts) ending() string {
	return fmt.Sprintf("the command %s %s", quoteCommand(f.argv), f.status)
}

// allOOMKills counts what the kernel killed for memory in all pods of the job.
func (f facts) allOOMKills() int {
	kills := f.oomKills
	for _, r := range f.reports {
		kills += r.OOMKills
	}
	return kills
}

// lastLines returns the last lines of the rank that is to blame, with the line that says why.
func (f facts) lastLines(b blame) []string {
	lines := f.lines
	if b.rank != nil {
		lines = diagnose.LinesOf(lines, b.rank.Rank)
	}
	quoted := diagnose.Quote(lines, diagnose.LinesBytes)
	if f.output != nil && !strings.Contains(strings.Join(quoted, "\n"), f.output.Line) {
		quoted = append([]string{f.output.Line}, quoted...)
	}
	return quoted
}

// codeStandsFor names what a code may stand for: with one above 128 shells and MPI launchers report by which signal a process of
// theirs died. It is no proof: Open MPI 4 exits with 132 when it cannot start a program, and nobody had a SIGILL.
func codeStandsFor(status process.Status) string {
	if status.Code() == timedOut {
		return " (as `timeout` does when the time is up)"
	}
	signal := syscall.Signal(status.Code() - 128)
	if name := process.SignalName(signal); status.Signal() == 0 && signal > 0 && strings.HasPrefix(name, "SIG") {
		return " (as after " + name + ")"
	}
	return ""
}

// evidence names what else went wrong, the earliest cause first, as a continuation of a sentence.
func evidence(f facts) string {
	var causes, silent []string
	if f.stopped != 0 {
		causes = append(causes, "the pod was asked to stop ("+process.SignalName(f.stopped)+")")
	}
	if len(f.losses) > 0 {
		causes = append(causes, f.losses[0].String())
	}
	if f.oomKills > 0 {
		causes = append(causes, outOfMemory("in the launcher's pod", f.oomKills))
	}
	for _, r := range f.reports {
		switch {
		case r.Error != "":
			// orted leaves its remote shell at once, so no loss tells of a node that went away under Open MPI 4.
			silent = append(silent, firstLabel(r.Name)+" ("+r.Error+")")
		case r.OOMKills > 0:
			causes = append(causes, outOfMemory("on "+firstLabel(r.Name), r.OOMKills))
		}
	}
	if len(silent) > 0 {
		causes = append(causes, "no answer any more from "+enumerate(silent))
	}
	if len(causes) == 0 {
		return ""
	}
	return "; " + abbreviate(strings.Join(causes, "; "), 1500)
}

func outOfMemory(where string, kills int) string {
	processes := "a process"
	if kills > 1 {
		processes = fmt.Sprintf("%d processes", kills)
	}
	return fmt.Sprintf("%s the kernel killed %s for lack of memory", where, processes)
}

// enumerate lists some names and counts the rest.
func enumerate(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}

func quoteCommand(argv []string) string {
	return "`" + quoteLine(strings.Join(argv, " ")) + "`"
}
