package agent

import (
	"cmp"
	"slices"
	"syscall"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

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
//
// The culprit is the rank that it began with, nil for none. Where a node lost its daemon, or memory, ranks tell when it was that
// are not to blame themselves.
func (f facts) blame(culprit *mpi.RankEnd) blame {
	base := blame{reason: mpi.ReasonCommandFailed}
	if f.status.Signal() != 0 {
		base.reason = mpi.ReasonCommandKilled
	}
	if f.stopped != 0 {
		return base
	}
	found, rank := f.found(culprit)
	first := cmp.Or(rank, firstFailed(f.allReports()))
	if first != nil && f.outlived(*first) {
		found, rank, first = nil, nil, nil
	}
	for _, b := range []*blame{
		f.suspectOutOfMemory(first), f.lostNode(), rootFound(found, rank), f.killedDaemon(first), f.deadNode(),
		failedByItself(found, rank), f.silentNode(), f.daemonAlone(rank), f.outOfMemory(first, anywhere), failedRank(found, rank), f.lesserFound(found),
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
func (f facts) found(first *mpi.RankEnd) (*diagnose.Finding, *mpi.RankEnd) {
	found := f.output
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
	return append([]mpi.NodeReport{{Name: f.hostname, OOMKills: f.oomKills, Seen: f.seen, World: f.world, Numbers: f.numbers, Ranks: f.ranks}}, f.reports...)
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

// lesserFound blames what the program says, if only that it has lost somebody. What is ended because the time is up says such
// things too.
func (f facts) lesserFound(found *diagnose.Finding) *blame {
	if found == nil || found.Weight < diagnose.Symptom || f.status.Code() == timedOut {
		return nil
	}
	return withRank(found, nil)
}
