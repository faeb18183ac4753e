package verdict

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"syscall"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/program"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// Cause is why a job failed, and all of which its message tells. Its words are those of verdict_message.go.
type Cause struct {
	// Reason is of the closed list of package diagnose; empty is a success.
	Reason mpi.Reason
	// Host is where it happened, as in the hostfile, or empty. Lost reports whether that node was lost.
	Host string
	Lost bool
	// Rank is the rank that is to blame, nil for none.
	Rank *mpi.RankEnd
	// memory is how much that pod used when the kernel killed for memory, nil if it is unknown.
	memory *mpi.PodUsage
	// short is a launch that had less than its world, nil for none.
	short *shortfall
	// said is what the output says of it, output what the output says at all; nil for nothing.
	said, output *diagnose.OutputFinding
	// ofDaemon reports whether it shows by the end of a launch daemon, daemon its exit code, 0 where only its launcher told.
	ofDaemon bool
	daemon   int
}

// failureCause finds the cause behind a command that failed. The order is that of the causes: who stops a pod, kills for memory
// or takes a node away makes ranks fail; a program that names its trouble knows more than its exit code does. A lack of memory
// that nobody saw the time of, and a node that is there and silent now, explain only what nothing else does.
//
// Where a node lost its daemon, or memory, ranks tell when it was that are not to blame themselves.
func (e Evidence) failureCause() Cause {
	culprit := e.culpritRank()
	output := e.findingAboutCulprit(culprit)
	base := Cause{Reason: mpi.ReasonCommandFailed, output: output}
	if e.Status.Signal() != 0 {
		base.Reason = mpi.ReasonCommandKilled
	}
	if e.Stopped != 0 {
		return base
	}
	said, rank := e.findingOfPrinter(e.findingWithRank(output, culprit))
	first := cmp.Or(rank, firstFailedRank(e.podReports()))
	if first != nil && e.failedAfterKill(*first) {
		said, rank, first = nil, nil, nil
	}
	for _, c := range []*Cause{
		e.suspectedOutOfMemoryCause(first), e.lostNodeCause(), rootFindingCause(said, rank), e.killedDaemonCause(first), e.deadNodeCause(),
		independentRankCause(said, rank), e.silentNodeCause(), e.lonelyDaemonCause(rank), e.outOfMemoryCause(first, onAnyHost), failedRankCause(said, rank), e.symptomCause(said),
	} {
		if c != nil {
			c.output = cmp.Or(said, output)
			return *c
		}
	}
	return base
}

// notStarted are the exit codes of shells, and of PRRTE (SIGPIPE), that could not start a program.
var notStarted = []int{process.CodeNotExecutable, process.CodeNotFound, 128 + int(syscall.SIGPIPE)}

// notRunnableCause blames a program that cannot be run, if nothing else explains the end of the command.
func (e Evidence) notRunnableCause(c Cause) Cause {
	code, ran := e.Status.Code(), slices.ContainsFunc(e.podReports(), func(r mpi.NodeReport) bool { return r.Seen > 0 })
	if c.Rank != nil {
		code, ran = c.Rank.Code, true
	}
	unexplained := c.Reason == mpi.ReasonCommandNotFound || (c.said == nil || c.said.Weight <= diagnose.Symptom) &&
		slices.Contains([]mpi.Reason{mpi.ReasonCommandFailed, diagnose.RankFailed, diagnose.LaunchDaemonLost}, c.Reason)
	if e.notRunnable() == "" || !unexplained || code == 0 || e.Stopped != 0 || ran && !slices.Contains(notStarted, code) {
		return c
	}
	said := &diagnose.OutputFinding{Summary: e.notRunnable()}
	return Cause{Reason: mpi.ReasonCommandNotFound, said: said, output: c.output}
}

// findingAboutCulprit finds in the output why a rank failed. Of one that a launcher ended the output says nothing.
func (e Evidence) findingAboutCulprit(culprit *mpi.RankEnd) *diagnose.OutputFinding {
	if culprit == nil || endedByLauncher(*culprit) {
		return diagnose.FindInOutput(e.Lines)
	}
	return diagnose.FindInOutputOfRank(e.Lines, *culprit)
}

// failedAfterKill reports whether a rank failed only after the command was killed, and so because of that.
func (e Evidence) failedAfterKill(rank mpi.RankEnd) bool {
	return e.Status.Signal() != 0 && rank.Ago <= e.Now.Sub(e.Ended).Seconds()+simultaneous
}

// findingWithRank returns what the output says, and the rank that it is about: the one that printed it where that names a root, else
// the first that failed, in its own words where it says as much: ranks that all fail print in one order and end in another. What a later rank
// printed is then only a symptom.
func (e Evidence) findingWithRank(output *diagnose.OutputFinding, first *mpi.RankEnd) (*diagnose.OutputFinding, *mpi.RankEnd) {
	if output == nil || output.Rank == nil || first == nil || first.Rank == nil || *output.Rank == *first.Rank {
		return output, first
	}
	if output.Weight == diagnose.Root {
		return output, cmp.Or(endOfRank(e.podReports(), *output.Rank), first)
	}
	if own := diagnose.FindInOutputOfRank(diagnose.LinesTaggedWith(e.Lines, *first.Rank), *first); own != nil && own.Weight >= output.Weight {
		return own, first
	}
	symptom := *output
	symptom.Weight = min(output.Weight, diagnose.Symptom)
	return &symptom, first
}

// findingOfPrinter moves the blame for a failure from the rank that ended first to the pod that printed it, if its line
// names that pod and no rank.
func (e Evidence) findingOfPrinter(
	said *diagnose.OutputFinding, rank *mpi.RankEnd,
) (*diagnose.OutputFinding, *mpi.RankEnd) {
	said = e.findingAtInterface(said)
	if said == nil || said.Rank != nil || said.Host != "" || said.Printer == "" || said.Weight < diagnose.Failure {
		return said, rank
	}
	for i, r := range e.podReports() {
		onlyLaunches, sameName := i == 0 && len(r.Ranks) == 0, hosts.FirstLabel(r.Name) == hosts.FirstLabel(said.Printer)
		if sameName && !onlyLaunches && (rank == nil || rank.Host != r.Name) {
			printed := *said
			printed.Host = r.Name
			return &printed, firstFailedRank([]mpi.NodeReport{r})
		}
	}
	return said, rank
}

var ipv4Address = regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}\b`)

// findingAtInterface blames a wrong interface for a failed connection to an address of no pod.
func (e Evidence) findingAtInterface(said *diagnose.OutputFinding) *diagnose.OutputFinding {
	if said == nil || said.Reason != diagnose.MPIPortsBlocked || len(e.Table.Hosts) == 0 {
		return said
	}
	for _, address := range ipv4Address.FindAllString(said.Line, -1) {
		if _, found := hosts.FindAddress(e.Table, address); !found {
			wrong := *said
			wrong.Summary = fmt.Sprintf("MPI communication failure - %s is not the address of any pod of the job: name the "+
				"interface of the pods (UCX_NET_DEVICES, btl_tcp_if_include, FI_TCP_IFACE): %s", address, said.Line)
			return &wrong
		}
	}
	return said
}

// suspectedOutOfMemoryCause blames a lack of memory where the failure began: in the pod of the first rank that failed, on the node
// that lost its daemon, or in the launcher's pod when the command itself was killed. Where the kernel kills a rank, its peers
// fail at once, and may seem to be the first.
func (e Evidence) suspectedOutOfMemoryCause(rank *mpi.RankEnd) *Cause {
	if victim := e.oomVictim(); victim != nil && rank != nil && victim.Ago >= rank.Ago-simultaneous {
		rank = victim
	}
	return e.outOfMemoryCause(rank, func(host string) bool {
		return rank != nil && rank.Host == host ||
			len(e.Losses) > 0 && hosts.FirstLabel(e.Losses[0].Host) == hosts.FirstLabel(host) ||
			e.Status.Signal() == syscall.SIGKILL && e.Own.Name == host
	})
}

// oomVictim returns the first rank that the kernel may have killed for memory, nil for none.
func (e Evidence) oomVictim() *mpi.RankEnd {
	var killed []mpi.NodeReport
	for _, report := range e.podReports() {
		if report.OOMKills > 0 {
			report.Ranks = slices.DeleteFunc(slices.Clone(report.Ranks), func(end mpi.RankEnd) bool { return end.Signal != process.SignalName(syscall.SIGKILL) })
			killed = append(killed, report)
		}
	}
	return firstFailedRank(killed)
}

func onAnyHost(string) bool { return true }

// outOfMemoryCause blames the first suspect pod in which the kernel killed for memory.
func (e Evidence) outOfMemoryCause(rank *mpi.RankEnd, suspect func(host string) bool) *Cause {
	for _, report := range e.podReports() {
		if report.OOMKills == 0 || !suspect(report.Name) {
			continue
		}
		if rank != nil && rank.Host != report.Name {
			rank = nil
		}
		return &Cause{Reason: diagnose.OOMKilled, Host: report.Name, Rank: rank, memory: report.Usage}
	}
	return nil
}

func nodeLostCause(host string) *Cause {
	return &Cause{Reason: diagnose.WorkerLost, Host: host, Lost: true}
}

// lostNodeCause blames a node that went away. A launch daemon that ended while its node is there says less, see daemonEndCause.
func (e Evidence) lostNodeCause() *Cause {
	for _, l := range e.Losses {
		if !l.IsDaemonOnly() || e.isSilent(l.Host) {
			return nodeLostCause(l.Host)
		}
	}
	return nil
}

// deadNodeCause blames a node whose machine has fallen silent: no packet came back for as long as it was asked. The ranks of other
// nodes may notice that, and fail by it, before rsh does.
func (e Evidence) deadNodeCause() *Cause {
	return e.firstLostNodeCause(func(r mpi.NodeReport) bool {
		return r.Error == string(client.TimedOut) || r.Error == string(client.Unreachable)
	})
}

// silentNodeCause blames a node that does not answer any more, although nobody saw it go: a machine that refuses, or that is busy,
// is there.
func (e Evidence) silentNodeCause() *Cause {
	return e.firstLostNodeCause(func(r mpi.NodeReport) bool { return r.Error != "" })
}

// firstLostNodeCause blames the first node that was lost by its report.
func (e Evidence) firstLostNodeCause(isLost func(mpi.NodeReport) bool) *Cause {
	if i := slices.IndexFunc(e.Reports, isLost); i >= 0 {
		return nodeLostCause(e.Reports[i].Name)
	}
	return nil
}

func (e Evidence) isSilent(host string) bool {
	return slices.ContainsFunc(e.Reports, func(r mpi.NodeReport) bool {
		return hosts.FirstLabel(r.Name) == hosts.FirstLabel(host) && r.Error != ""
	})
}

func rootFindingCause(said *diagnose.OutputFinding, rank *mpi.RankEnd) *Cause {
	if said == nil || said.Weight < diagnose.Root {
		return nil
	}
	return outputCause(said, rank)
}

func areEqualNumbers(a, b *int) bool { return a != nil && b != nil && *a == *b }

// independentRankCause blames the first rank that failed, unless it may have done so because another node went away: when the
// launcher ended it, or when all that the program says is that it has lost somebody.
func independentRankCause(said *diagnose.OutputFinding, rank *mpi.RankEnd) *Cause {
	if rank == nil || endedByLauncher(*rank) || rank.Signal == "" && said != nil && said.Weight == diagnose.Symptom {
		return nil
	}
	return failedRankCause(said, rank)
}

// failedRankCause blames the first rank that failed, in the words of the program where it has some.
func failedRankCause(said *diagnose.OutputFinding, rank *mpi.RankEnd) *Cause {
	switch {
	case rank == nil:
		return nil
	case said != nil && said.Weight >= diagnose.Failure:
		return outputCause(said, rank)
	}
	reason := diagnose.RankKilled
	switch rank.Signal {
	case "":
		reason = diagnose.RankFailed
	case process.SignalName(syscall.SIGBUS):
		reason = diagnose.SharedMemoryTooSmall
	}
	return &Cause{Reason: reason, Host: rank.Host, Rank: rank}
}

// outputCause blames what the program says. It was not said by a rank that the launcher ended because of another one, which may
// have lived too short to be seen.
func outputCause(said *diagnose.OutputFinding, rank *mpi.RankEnd) *Cause {
	if rank == nil || endedByLauncher(*rank) && !areEqualNumbers(said.Rank, rank.Rank) {
		return &Cause{Reason: said.Reason, Host: said.Host, said: said}
	}
	return &Cause{Reason: said.Reason, Host: rank.Host, Rank: rank, said: said}
}

// killedDaemonCause blames a launch daemon that was killed before the first rank failed: ranks end when they lose their daemon,
// each in its own way.
func (e Evidence) killedDaemonCause(rank *mpi.RankEnd) *Cause {
	if rank == nil || len(e.Losses) == 0 || !e.Losses[0].IsDaemonOnly() {
		return nil
	}
	for _, r := range e.Reports {
		if hosts.FirstLabel(r.Name) == hosts.FirstLabel(e.Losses[0].Host) && r.DaemonAgo > 0 && r.DaemonAgo+simultaneous >= rank.Ago {
			return daemonEndCause(e.Losses[0])
		}
	}
	return nil
}

// lonelyDaemonCause blames a launch daemon that ended when no rank is known to have failed.
func (e Evidence) lonelyDaemonCause(rank *mpi.RankEnd) *Cause {
	if rank != nil || len(e.Losses) == 0 {
		return nil
	}
	return daemonEndCause(e.Losses[0])
}

// daemonEndCause blames a launch daemon that a remote shell saw end.
func daemonEndCause(l Loss) *Cause {
	if l.Daemon == program.CodeToldToEnd {
		return &Cause{Reason: diagnose.WorkerLost, Host: l.Host, Lost: true, ofDaemon: true}
	}
	return &Cause{Reason: diagnose.LaunchDaemonLost, Host: l.Host, ofDaemon: true, daemon: l.Daemon}
}

// symptomCause blames what the program says, if only that it has lost somebody. What is ended because the time is up says such
// things too.
func (e Evidence) symptomCause(said *diagnose.OutputFinding) *Cause {
	if said == nil || said.Weight < diagnose.Symptom || e.Status.Code() == timedOut {
		return nil
	}
	return outputCause(said, nil)
}
