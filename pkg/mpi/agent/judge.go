package agent

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"syscall"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
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
	// hostname is the launcher's.
	hostname string
	// admitted is when a launcher inside of the command, such as mpiexec, ended for the last time with an error that the
	// command passed over, zero for never.
	admitted time.Time
	// reports are those of the nodes, without the launcher.
	reports []mpi.NodeReport
	// launches are when the newest launch on each node began, by the first label of its name.
	launches map[string]time.Time
	// launched is when the newest launcher inside of the command began, as the launcher's pod saw it.
	launched beginning
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
	verdict := mpi.Verdict{ExitCode: f.status.Code(), OOMKills: f.allOOMKills(), Nodes: f.reports}
	if f.stopped != 0 {
		verdict.Stopped = process.SignalName(f.stopped)
	}
	ended := f.ending()
	f = f.ofNewestLaunch()
	switch {
	case f.status.Code() != 0:
		f.output = diagnose.Output(f.lines)
		blame := f.blame()
		verdict.Reason, verdict.Host, verdict.Lost, verdict.Rank = blame.reason, blame.host, blame.lost, blame.rank
		verdict.Message = blame.headline() + ended + signalBehind(f.status) + evidence(f)
		verdict.Lines = f.lastLines(blame)
	default:
		f.doubt(&verdict, ended)
	}
	verdict.LostSeconds = f.silence(verdict.Lost)
	return verdict
}

// sameLaunch is how many seconds apart the daemons of one launch may start on two nodes.
const sameLaunch = 1

// ofNewestLaunch leaves out what failed in an earlier launch: a command that launched again has passed over it, also when it left out
// a node that had lost its launch daemon. When nothing failed in the newest launch of a command that failed, that one only cleaned up, and all failures stay.
func (f facts) ofNewestLaunch() facts {
	newest := f
	newest.ranks = f.recent(f.hostname, f.ranks)
	newest.reports = slices.Clone(f.reports)
	failed := len(newest.ranks)
	for i, r := range f.reports {
		newest.reports[i].Ranks = f.recent(r.Name, r.Ranks)
		if r.DaemonAgo > f.sinceLaunchOn(r.Name) {
			newest.reports[i].DaemonAgo = 0
		}
		failed += len(newest.reports[i].Ranks)
	}
	newest.losses = slices.DeleteFunc(slices.Clone(f.losses), func(l loss) bool {
		began, known := f.launches[firstLabel(l.Host)]
		again := known && l.At.Before(began) || l.ofDaemon() && f.silent(l.Host) == nil && f.now.Sub(l.At).Seconds() > f.sinceLaunch()
		return again && !l.At.IsZero()
	})
	if f.status.Code() != 0 && failed+len(newest.losses) == 0 {
		return f
	}
	return newest
}

// recent returns those ranks of a pod that ended since the newest launch began, there and anywhere. Of both the pod tells by the
// same clock.
func (f facts) recent(host string, ends []mpi.RankEnd) []mpi.RankEnd {
	limit := f.sinceLaunchOn(host)
	return slices.DeleteFunc(slices.Clone(ends), func(end mpi.RankEnd) bool { return end.Ago > limit })
}

// sinceLaunchOn is how many seconds ago a rank of the newest launch ended at most, in one pod.
func (f facts) sinceLaunchOn(host string) float64 {
	limit := f.sinceLaunch()
	if own, known := f.launches[firstLabel(host)]; known {
		limit = min(limit, f.now.Sub(own).Seconds())
	}
	return limit
}

// sinceLaunch is how many seconds ago a rank of the newest launch ended at most, on any node. The launcher knows best. Without
// one, daemons that started last tell of it, but not of a success: work that was not done must not count because another node
// was slow.
func (f facts) sinceLaunch() float64 {
	newest := f.newestLaunch()
	switch {
	case !f.launched.after.IsZero():
		return f.now.Sub(f.launched.after).Seconds() + simultaneous
	case !f.launched.seen.IsZero(), f.status.Code() == 0, newest.IsZero():
		return math.Inf(1)
	}
	return f.now.Sub(newest).Seconds() + sameLaunch
}

// newestLaunch is when the newest launch began at the latest, zero when nobody knows.
func (f facts) newestLaunch() time.Time {
	newest := f.launched.seen
	for _, began := range f.launches {
		if began.After(newest) {
			newest = began
		}
	}
	return newest
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

// blame is whose fault a failure is.
type blame struct {
	reason mpi.Reason
	// host is where it happened, lost the node that was lost; both as in the hostfile, or empty.
	host, lost string
	rank       *mpi.RankEnd
	// summary is for the sentence `Worker 2 failed: SUMMARY`, empty when the end of the command says it all.
	summary string
}

func (b blame) headline() string {
	switch {
	case b.lost != "":
		return diagnose.Worker(b.lost) + " was lost; "
	case b.summary == "":
		return ""
	case b.host == "":
		return b.summary + "; "
	}
	return diagnose.Worker(b.host) + " failed: " + b.summary + "; "
}

// blame finds the cause behind a command that failed. The order is that of the causes: who stops a pod, kills for memory
// or takes a node away makes ranks fail; a program that names its trouble knows more than its exit code does. A lack of memory
// that nobody saw the time of, and a node that is there and silent now, explain only what nothing else does.
func (f facts) blame() blame {
	base := blame{reason: mpi.ReasonCommandFailed}
	if f.status.Signal() != 0 {
		base.reason = mpi.ReasonCommandKilled
	}
	if f.stopped != 0 {
		return base
	}
	found, rank := f.found()
	if rank != nil && f.outlived(*rank) {
		found, rank = nil, nil
	}
	for _, b := range []*blame{
		f.suspectOutOfMemory(rank), f.lostNode(), rootFound(found, rank), f.killedDaemon(rank), f.deadNode(),
		failedByItself(found, rank), f.silentNode(), f.daemonAlone(rank), f.outOfMemory(rank, anywhere), failedRank(found, rank), lesserFound(found),
	} {
		if b != nil {
			return *b
		}
	}
	return base
}

// outlived says whether a rank failed only after the command was killed, and so because of that.
func (f facts) outlived(rank mpi.RankEnd) bool {
	return f.status.Signal() != 0 && !f.ended.IsZero() && rank.Ago <= f.now.Sub(f.ended).Seconds()+simultaneous
}

// found returns what the output says, and the rank that it is about: the one that printed it where that names a root, else
// the first that failed. What a later rank printed is then only a symptom.
func (f facts) found() (*diagnose.Finding, *mpi.RankEnd) {
	found, first := f.output, firstFailed(f.allReports())
	if found == nil || found.Rank == nil || first == nil || first.Rank == nil || *found.Rank == *first.Rank {
		return found, first
	}
	if found.Weight == diagnose.Root {
		return found, cmp.Or(rankNumbered(f.allReports(), *found.Rank), first)
	}
	symptom := *found
	symptom.Weight = min(found.Weight, diagnose.Symptom)
	return &symptom, first
}

// allReports are those of the nodes and of the launcher's own pod.
func (f facts) allReports() []mpi.NodeReport {
	return append([]mpi.NodeReport{{Name: f.hostname, OOMKills: f.oomKills, Seen: f.seen, World: f.world, Ranks: f.ranks}}, f.reports...)
}

// rankNumbered returns how a rank ended, nil for one that did not fail.
func rankNumbered(reports []mpi.NodeReport, number int) *mpi.RankEnd {
	for _, report := range reports {
		for _, end := range report.Ranks {
			if end.Rank != nil && *end.Rank == number {
				end.Host = cmp.Or(end.Host, report.Name)
				return &end
			}
		}
	}
	return nil
}

// suspectOutOfMemory blames a lack of memory where the failure began: in the pod of the first rank that failed, on the node
// that lost its daemon, or in the launcher's pod when the command itself was killed. Where the kernel kills a rank, its peers
// fail at once, and may seem to be the first.
func (f facts) suspectOutOfMemory(rank *mpi.RankEnd) *blame {
	if victim := f.victim(); victim != nil && rank != nil && victim.Ago >= rank.Ago-simultaneous {
		rank = victim
	}
	return f.outOfMemory(rank, func(host string) bool {
		return rank != nil && rank.Host == host ||
			len(f.losses) > 0 && firstLabel(f.losses[0].Host) == firstLabel(host) ||
			f.status.Signal() == syscall.SIGKILL && f.hostname == host
	})
}

// victim returns the first rank that the kernel may have killed for memory, nil for none.
func (f facts) victim() *mpi.RankEnd {
	var killed []mpi.NodeReport
	for _, report := range f.allReports() {
		if report.OOMKills > 0 {
			report.Ranks = slices.DeleteFunc(slices.Clone(report.Ranks), func(end mpi.RankEnd) bool { return end.Signal != process.SignalName(syscall.SIGKILL) })
			killed = append(killed, report)
		}
	}
	return firstFailed(killed)
}

func anywhere(string) bool { return true }

// outOfMemory blames the first suspect pod in which the kernel killed for memory.
func (f facts) outOfMemory(rank *mpi.RankEnd, suspect func(host string) bool) *blame {
	for _, report := range f.allReports() {
		if report.OOMKills == 0 || !suspect(report.Name) {
			continue
		}
		b := &blame{reason: diagnose.OOMKilled, host: report.Name, summary: "out of memory"}
		if rank != nil && rank.Host == report.Name {
			b.rank, b.summary = rank, "out of memory: "+describeEnd(*rank)
		}
		return b
	}
	return nil
}

// lostNode blames a node that went away. A launch daemon that ended while its node is there says less, see daemonEnded.
func (f facts) lostNode() *blame {
	for _, l := range f.losses {
		if !l.ofDaemon() || f.silent(l.Host) != nil {
			return &blame{reason: diagnose.WorkerLost, host: l.Host, lost: l.Host}
		}
	}
	return nil
}

// deadNode blames a node whose machine has fallen silent: no packet came back for as long as it was asked. The ranks of other
// nodes may notice that, and fail by it, before rsh does.
func (f facts) deadNode() *blame {
	return f.silentFor(func(failure string) bool {
		return troubleOf(&client.Failure{Cause: client.Cause(failure)}, false) == dark
	})
}

// silentNode blames a node that does not answer any more, although nobody saw it go: a machine that refuses, or that is busy,
// is there.
func (f facts) silentNode() *blame {
	return f.silentFor(func(failure string) bool { return failure != "" })
}

// silentFor blames the first node that has no report because of a failure that counts.
func (f facts) silentFor(counts func(failure string) bool) *blame {
	for _, r := range f.reports {
		if counts(r.Error) {
			return &blame{reason: diagnose.WorkerLost, host: r.Name, lost: r.Name}
		}
	}
	return nil
}

// silent returns the report of a node that does not answer, or nil.
func (f facts) silent(host string) *mpi.NodeReport {
	for _, r := range f.reports {
		if firstLabel(r.Name) == firstLabel(host) && r.Error != "" {
			return &r
		}
	}
	return nil
}

func rootFound(found *diagnose.Finding, rank *mpi.RankEnd) *blame {
	if found == nil || found.Weight < diagnose.Root {
		return nil
	}
	return withRank(found, rank)
}

func isSame(a, b *int) bool { return a != nil && b != nil && *a == *b }

// failedByItself blames the first rank that failed, unless it may have done so because another node went away: when the
// launcher ended it, or when all that the program says is that it has lost somebody.
func failedByItself(found *diagnose.Finding, rank *mpi.RankEnd) *blame {
	if rank == nil || endedByLauncher(*rank) || rank.Signal == "" && found != nil && found.Weight == diagnose.Symptom {
		return nil
	}
	return failedRank(found, rank)
}

// failedRank blames the first rank that failed, in the words of the program where it has some.
func failedRank(found *diagnose.Finding, rank *mpi.RankEnd) *blame {
	switch {
	case rank == nil:
		return nil
	case found != nil && found.Weight >= diagnose.Failure:
		return withRank(found, rank)
	}
	b := &blame{reason: diagnose.RankFailed, host: rank.Host, rank: rank, summary: describeEnd(*rank)}
	switch rank.Signal {
	case "":
	case process.SignalName(syscall.SIGBUS):
		b.reason = diagnose.SharedMemoryTooSmall
		b.summary += ": most often /dev/shm is too small"
	default:
		b.reason = diagnose.RankKilled
	}
	return b
}

// withRank blames what the program says. It was not said by a rank that the launcher ended because of another one, which may
// have lived too short to be seen.
func withRank(found *diagnose.Finding, rank *mpi.RankEnd) *blame {
	if rank != nil && endedByLauncher(*rank) && !isSame(found.Rank, rank.Rank) {
		rank = nil
	}
	b := &blame{reason: found.Reason, host: found.Host, rank: rank, summary: found.Summary}
	if rank != nil {
		b.host = rank.Host
		b.summary += " (" + describeEnd(*rank) + ")"
	}
	return b
}

// killedDaemon blames a launch daemon that was killed before the first rank failed: ranks end when they lose their daemon,
// each in its own way.
func (f facts) killedDaemon(rank *mpi.RankEnd) *blame {
	if rank == nil || len(f.losses) == 0 || !f.losses[0].ofDaemon() {
		return nil
	}
	for _, r := range f.reports {
		if firstLabel(r.Name) == firstLabel(f.losses[0].Host) && r.DaemonAgo > 0 && r.DaemonAgo+simultaneous >= rank.Ago {
			return f.daemonEnded()
		}
	}
	return nil
}

// daemonAlone blames a launch daemon that ended when no rank is known to have failed.
func (f facts) daemonAlone(rank *mpi.RankEnd) *blame {
	if rank != nil {
		return nil
	}
	return f.daemonEnded()
}

func (f facts) daemonEnded() *blame {
	if len(f.losses) == 0 {
		return nil
	}
	l := f.losses[0]
	b := &blame{reason: diagnose.LaunchDaemonLost, host: l.Host, summary: l.Error}
	if l.Error == daemonEnd(toldToEnd.Code) {
		b.reason, b.lost = diagnose.WorkerLost, l.Host
	}
	return b
}

func lesserFound(found *diagnose.Finding) *blame {
	if found == nil || found.Weight < diagnose.Symptom {
		return nil
	}
	return withRank(found, nil)
}

// linesBytes is how much of the output goes into the verdict.
const linesBytes = 1500

// lastLines returns the last lines of the rank that is to blame, with the line that says why.
func (f facts) lastLines(b blame) []string {
	lines := f.lines
	if b.rank != nil {
		lines = diagnose.LinesOf(lines, b.rank.Rank)
	}
	quoted := diagnose.Quote(lines, linesBytes)
	if f.output != nil && !strings.Contains(strings.Join(quoted, "\n"), f.output.Line) {
		quoted = append([]string{f.output.Line}, quoted...)
	}
	return quoted
}

// signalBehind names the signal that a code above 128 may stand for: shells and MPI launchers report so how a process of
// theirs died. It is no proof: Open MPI 4 exits with 132 when it cannot start a program, and nobody had a SIGILL.
func signalBehind(status process.Status) string {
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

// doubt says why a command that exited 0 did not do the job, if so.
func (f facts) doubt(verdict *mpi.Verdict, ended string) {
	if lost := cmp.Or(f.lostNode(), f.silentNode()); lost != nil && len(f.losses) > 0 {
		verdict.Reason, verdict.Host, verdict.Lost = lost.reason, lost.host, lost.lost
		verdict.Message = lost.headline() + ended + evidence(f)
		return
	}
	if rank := f.hiddenRank(); rank != nil {
		f.output = diagnose.Output(f.lines)
		b := failedRank(f.output, rank)
		verdict.Reason, verdict.Host, verdict.Rank = b.reason, b.host, b.rank
		verdict.Message = b.headline() + ended + ", because Hydra loses how ranks end that do not call MPI_Abort (pmodels/mpich#7057)"
		verdict.Lines = f.lastLines(*b)
		return
	}
	if b := f.daemonBehind(); b != nil {
		verdict.Reason, verdict.Host, verdict.Lost = b.reason, b.host, b.lost
		verdict.Message = b.headline() + ended + evidence(f)
		return
	}
	if why := doubts(f); why != "" {
		verdict.Reason, verdict.Message = mpi.ReasonWorldIncomplete, ended+", but "+why
	}
}

// daemonBehind blames a launch daemon of the newest launch that was killed although the command exited 0, as Open MPI 5 does, or nil.
// Of nodes that do not answer nobody knows that much. What a launcher admitted, the command passed over.
func (f facts) daemonBehind() *blame {
	if f.silentNode() != nil || f.admitted.After(f.newestLaunch()) {
		return nil
	}
	for _, l := range f.losses {
		if l.ofDaemon() && !f.admittedSince(f.now.Sub(l.At).Seconds()) {
			f.losses = []loss{l}
			return f.daemonEnded()
		}
	}
	for _, r := range f.reports {
		if r.DaemonAgo > 0 && !f.admittedSince(r.DaemonAgo) {
			return &blame{reason: diagnose.LaunchDaemonLost, host: r.Name, summary: daemonEnd(r.LastExitCode)}
		}
	}
	return nil
}

// admittedSince says whether a launcher ended with an error after something that was so many seconds ago.
func (f facts) admittedSince(ago float64) bool {
	return !f.admitted.IsZero() && f.now.Sub(f.admitted).Seconds() <= ago+simultaneous
}

// hiddenRank returns a rank of the newest launch that failed although Hydra says that all is well, or nil. A script may pass
// over the failure of its mpiexec, and then it was admitted.
func (f facts) hiddenRank() *mpi.RankEnd {
	if f.admitted.After(f.newestLaunch()) || f.stopped != 0 {
		return nil
	}
	var hidden []mpi.NodeReport
	for _, report := range f.allReports() {
		for _, end := range report.Ranks {
			if end.Hydra {
				hidden = append(hidden, mpi.NodeReport{Name: report.Name, Ranks: []mpi.RankEnd{end}})
			}
		}
	}
	return firstFailed(hidden)
}

// doubts says why the world was not complete, or nothing.
func doubts(f facts) string {
	var silent, idle []string
	for _, r := range f.reports {
		name := firstLabel(r.Name)
		switch {
		case r.Error != "":
			silent = append(silent, name+" ("+r.Error+")")
		case r.Daemons == 0, r.Seen == 0 && f.sawWholeWorld():
			idle = append(idle, name)
		}
	}
	switch {
	case len(silent) > 0:
		return "no report could be had from " + enumerate(silent) + ", so nobody knows what ran there"
	case len(idle) > 0 && !f.allowIdle:
		return fmt.Sprintf("no rank ever ran on %d of %d nodes: %s; check that the command starts ranks with mpirun on all hosts of the hostfile, as many as there are slots (`-n` may be too small), and that the runtime names the right MPI implementation and version",
			len(idle), len(f.reports), enumerate(idle))
	}
	return ""
}

// sawWholeWorld says whether all ranks of the one world that there was were seen, so that a node where none was seen had
// none: Open MPI starts daemons on all hosts, whether they get ranks or not.
func (f facts) sawWholeWorld() bool {
	seen, world := 0, 0
	for _, r := range f.allReports() {
		if r.World != 0 && world != 0 && r.World != world {
			return false
		}
		seen, world = seen+r.Seen, cmp.Or(r.World, world)
	}
	return world > 0 && seen >= world
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
