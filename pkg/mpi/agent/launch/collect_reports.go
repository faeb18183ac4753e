package launch

import (
	"context"
	"slices"
	"sync"
	"syscall"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/agent/liveness"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/sleep"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
)

// withCurrentAges makes the ages of a report those of now.
func withCurrentAges(report mpi.NodeReport, received time.Time) mpi.NodeReport {
	report.Ranks = slices.Clone(report.Ranks)
	for i := range report.Ranks {
		report.Ranks[i].Ago += time.Since(received).Seconds()
	}
	if report.DaemonAgo > 0 {
		report.DaemonAgo = mpi.RoundSeconds(report.DaemonAgo + time.Since(received).Seconds())
	}
	return report
}

// reportLimit is how long the nodes may take for their reports, all side by side, lostLimit one that was lost, passedOverLimit one whose loss
// the command passed over, which may be there, and busyLimit one that
// accepts connections: its machine is there, and what it says of its ranks is the cause that is looked for. After a success
// it is successLimit and busySuccessLimit: without its reports a success is none, and work must not be
// lost because a machine is busy.
const (
	reportLimit     = 2 * time.Second
	lostLimit       = 300 * time.Millisecond
	passedOverLimit = 5 * time.Second
	busyLimit       = 10 * time.Second
	successLimit    = 20 * time.Second
)

// busySuccessLimit is the patience that a launch has with a machine that is there.
var busySuccessLimit = liveness.Default.Patience

// reportInquiry is how hard the nodes are asked for their reports.
type reportInquiry int

const (
	// afterFailure: again and again for a moment.
	afterFailure reportInquiry = iota
	// afterSuccess: for longer, because without its reports a success is none.
	afterSuccess
	// afterStop: once. Who stops the launcher most often stops its nodes too, and is to blame whatever they say.
	afterStop
)

func inquiryFor(status process.Status, stopped syscall.Signal) reportInquiry {
	switch {
	case stopped != 0:
		return afterStop
	case status.Code() == 0:
		return afterSuccess
	}
	return afterFailure
}

// collectReports asks all nodes what ran there, and when the newest launch on each began. A node that does not answer
// until the limit has a report that says why. It is asked again and again: a policy that is being renewed may reject a
// connection that it admits a moment later, and who is silent counts as lost, but who has said it since no launch
// runs any more.
func (j *runningJob) collectReports(ctx context.Context, losses []verdict.Loss, how reportInquiry, quiet time.Time) ([]mpi.NodeReport, map[string]time.Time) {
	nodes := j.otherHosts()
	answers := make([]client.NodeAnswer, len(nodes))
	var group sync.WaitGroup
	for i, node := range nodes {
		group.Go(func() {
			answer := j.finalReport(ctx, node, losses, how, quiet)
			j.times.noteProgress(answer.Progress)
			answer.Name = node.Name
			answers[i] = answer
		})
	}
	group.Wait()
	reports, launches := make([]mpi.NodeReport, len(nodes)), map[string]time.Time{}
	for i, answer := range answers {
		reports[i] = withCurrentAges(answer.NodeReport, answer.Received)
		if age := answer.LaunchAge; age != nil {
			launches[hosts.FirstLabel(nodes[i].Name)] = answer.Received.Add(-time.Duration(*age * float64(time.Second)))
		}
	}
	return reports, launches
}

// finalReport asks a node what ran there, again and again. A node that was not lost since its last word may be gone: nobody asks again
// where it came after the last launch, and after a success it counts in any case, because a later launch got on without the node.
func (j *runningJob) finalReport(ctx context.Context, node mpi.Host, losses []verdict.Loss, how reportInquiry, quiet time.Time) client.NodeAnswer {
	ctx, cancel := context.WithTimeout(ctx, reportLimitFor(node, losses, how))
	defer cancel()
	word, since := j.lastReports.answerOf(node, quiet)
	heard := !word.Received.IsZero() && !hasLossSince(node, word, losses)
	answer, err := j.askReport(ctx, client.Attempt, node)
	if err != nil && how != afterStop && (!heard || !since) {
		answer, err = j.askReportAgain(ctx, node, how, err)
	}
	switch {
	case err == nil:
	case heard && (since || how == afterSuccess):
		return word
	default:
		answer.ReportReply = client.ReportReply{NodeReport: mpi.NodeReport{Error: client.DescribeError(err)}}
	}
	return answer
}

// reportLimitFor is how long a node may take for its report: little when rsh has lost it already, so that the end of the job
// does not wait for a node that is gone, but where the job succeeded if it is there. One that has lost its launch daemon only is there.
func reportLimitFor(node mpi.Host, losses []verdict.Loss, how reportInquiry) time.Duration {
	gone := func(l verdict.Loss) bool {
		return !l.IsDaemonOnly() && hosts.FirstLabel(l.Host) == hosts.FirstLabel(node.Name)
	}
	switch lost := slices.ContainsFunc(losses, gone); {
	case lost && how == afterSuccess:
		return passedOverLimit
	case lost:
		return lostLimit
	case how == afterSuccess:
		return busySuccessLimit
	case how == afterStop:
		return reportLimit
	}
	return busyLimit
}

// reportPause is the time between two questions for the same report.
const reportPause = 50 * time.Millisecond

// askReportAgain asks until there is a report or the limit is over, which comes earlier for a machine that does not accept connections. The
// limit says nothing about the node, so the failure before it stands.
func (j *runningJob) askReportAgain(ctx context.Context, node mpi.Host, how reportInquiry, failure error) (client.NodeAnswer, error) {
	limit := reportLimit
	if how == afterSuccess {
		limit = successLimit
	}
	var attempt client.AttemptLimit
	for begin := time.Now(); ; {
		if time.Since(begin) > limit && !client.HasCause(failure, client.NoHandshake) {
			return client.NodeAnswer{}, failure
		}
		if !sleep.For(ctx, reportPause) {
			return client.NodeAnswer{}, failure
		}
		attempt.NoteFailure(failure)
		answer, err := j.askReport(ctx, attempt.Next(), node)
		switch {
		case err == nil:
			return answer, nil
		case ctx.Err() == nil:
			failure = err
		}
	}
}

func (j *runningJob) askReport(ctx context.Context, limit time.Duration, node mpi.Host) (client.NodeAnswer, error) {
	address, err := j.agentAddressOf(node)
	if err != nil {
		return client.NodeAnswer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return client.AskReport(ctx, j.Dial, j.Key, address)
}
