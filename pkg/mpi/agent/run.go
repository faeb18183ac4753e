package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/server"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// Launcher is the agent of the launcher.
type Launcher struct {
	Settings Settings
	Hostname string
	Key      identity.Key
	Hosts    []mpi.Host
	// GateTimeout is how long the nodes may take to answer.
	GateTimeout time.Duration
	// Dark is Gate.Dark.
	Dark time.Duration
	// AllowIdle accepts nodes on which no rank ran.
	AllowIdle bool
	// AllowUnfinished accepts launches that still run when the command has ended, such as servers in the background.
	AllowUnfinished bool
	// Stopping is told the verdict that holds if nobody can leave another: the pod was asked to stop, and kubelet may kill its agent.
	Stopping func(mpi.Verdict)
	// Discovery finds the nodes when nobody sends their addresses; nil waits until the gate times out.
	Discovery *Discovery
	// Hang says when a job that does nothing is ended.
	Hang HangRule
	Dial client.Dial
	Log  *log.Logger
	// address is where the agent listens, when that is one address only.
	address string
}

// Command is the user's command.
type Command struct {
	Argv        []string
	Environment []string
	// Files are standard input, output and error; the command inherits them.
	Files  []*os.File
	Reaper *process.Reaper
	// Signals are those that ask the pod to stop. They are passed on.
	Signals <-chan os.Signal
}

// Run passes the gate, runs the command and judges. While it works it answers pushes of the table of hosts on the
// listener. The exit code is that of the command, unless the verdict says that it lied or never ran.
func (l Launcher) Run(ctx context.Context, listener net.Listener, command Command) (mpi.Verdict, int) {
	path, err := lookUp(command.Argv)
	if err != nil {
		return neverRan(mpi.ReasonCommandNotFound, err), startFailureCode(err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	front, closed := l.open(ctx, listener)
	defer func() { stop(); <-closed }()
	verdict, code := l.launch(ctx, front, path, command)
	phases := front.times.snapshot()
	verdict.Phases = &phases
	return verdict, code
}

func (l Launcher) launch(ctx context.Context, front *front, path string, command Command) (mpi.Verdict, int) {
	earlier, passed := l.takePassed()
	result, table := earlier.Result, earlier.table
	if passed {
		front.times.passedBefore(earlier)
		front.meeting.decide(result)
	} else {
		var interrupted syscall.Signal
		result, table, interrupted = l.passGate(ctx, front.meeting, command.Signals)
		if interrupted != 0 {
			return stoppedBefore(interrupted, result), 128 + int(interrupted)
		}
		front.times.gate(result)
	}
	if !result.Passed {
		return gateFailed(result), codeAgentFailed
	}
	if err := l.prepare(table); err != nil {
		return neverRan(mpi.ReasonAgentFailed, err), codeAgentFailed
	}
	verdict, code := l.execute(ctx, path, command, table, front)
	verdict.GateSeconds = result.Seconds
	return verdict, code
}

// Gate passes the gate and leaves its files for a command that somebody else starts, or for Run, which then does not
// wait again.
func (l Launcher) Gate(ctx context.Context, listener net.Listener, signals <-chan os.Signal) (mpi.Verdict, int) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	front, closed := l.open(ctx, listener)
	defer func() { stop(); <-closed }()
	result, table, interrupted := l.passGate(ctx, front.meeting, signals)
	switch {
	case interrupted != 0:
		return stoppedBefore(interrupted, result), 128 + int(interrupted)
	case !result.Passed:
		return gateFailed(result), codeAgentFailed
	}
	err := l.prepare(table)
	if err == nil {
		err = l.leavePassed(result, front.times.snapshot().Started, table)
	}
	if err != nil {
		return neverRan(mpi.ReasonAgentFailed, err), codeAgentFailed
	}
	front.times.gate(result)
	phases := front.times.snapshot()
	return mpi.Verdict{GateSeconds: result.Seconds, Phases: &phases}, 0
}

// front is what the launcher's agent answers to others.
type front struct {
	meeting *rendezvous
	times   *timeline
	watch   *tracker
	notices *notices
}

// open starts to answer pushes. The returned channel is closed when the server has drained.
func (l *Launcher) open(ctx context.Context, listener net.Listener) (*front, <-chan struct{}) {
	if address, err := netip.ParseAddrPort(listener.Addr().String()); err == nil && !address.Addr().IsUnspecified() {
		l.address = address.Addr().Unmap().String()
	}
	f := &front{meeting: newRendezvous(l.gate().nodes()), times: newTimeline(time.Now), watch: newTracker(), notices: &notices{told: map[mpi.Reason]bool{}}}
	closed := make(chan struct{})
	ssh := server.Server{
		Key: l.Key, Limits: server.DefaultLimits, Log: l.Log,
		Handlers: server.Handlers{Subsystems: map[string]server.Subsystem{
			mpi.RendezvousSubsystem: f.meeting.answer,
			mpi.PhasesSubsystem:     f.times.answer,
			mpi.ProgressSubsystem:   f.watch.answer,
			mpi.ProbeSubsystem:      meeting(),
		}},
	}
	go func() {
		defer close(closed)
		if err := ssh.Serve(ctx, listener); err != nil {
			l.Log.Print(err)
		}
	}()
	return f, closed
}

func (l Launcher) gate() Gate {
	return Gate{
		Hosts: l.Hosts, Hostname: l.Hostname, Address: l.address, Key: l.Key, Dial: l.Dial, Port: l.Settings.Port,
		Deadline: l.GateTimeout, Stubborn: DefaultStubborn, Dark: l.Dark, Discovery: l.Discovery, Log: l.Log,
	}
}

// passGate returns how the gate ended, and the signal that interrupted it, 0 for none.
func (l Launcher) passGate(ctx context.Context, meeting *rendezvous, signals <-chan os.Signal) (
	result mpi.GateResult, table mpi.HostTable, interrupted syscall.Signal,
) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		gate := l.gate()
		gate.Doubts = meeting.doubts
		result, table = gate.Pass(ctx, meeting.tables)
	}()
	select {
	case <-done:
	case s := <-signals:
		interrupted, _ = s.(syscall.Signal)
		cancel()
		<-done
	}
	meeting.decide(result)
	if result.Passed {
		l.Log.Printf("all %d nodes answered after %.2f s", len(l.gate().nodes()), result.Seconds)
	}
	return result, table, interrupted
}

// prepare leaves what rsh and Hydra read, and forgets what an earlier attempt in this pod left.
func (l Launcher) prepare(table mpi.HostTable) error {
	for _, path := range []string{l.Settings.lossesPath(), l.Settings.stoppingPath()} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove an old file: %w", err)
		}
	}
	if err := writeTable(l.Settings.hostTablePath(), table); err != nil {
		return err
	}
	hydra := mpi.FormatHostfile(mpi.Hydra, l.hydraHosts())
	if err := replaceFile(l.Settings.hydraHostfilePath(), []byte(hydra), 0o644); err != nil {
		return fmt.Errorf("write the hostfile for Hydra: %w", err)
	}
	if err := publishHosts(table); err != nil {
		l.Log.Print(err)
	}
	return nil
}

// hydraHosts are the hosts as Hydra needs them. It starts ranks of its own host without a remote shell, but knows it only by the
// name that the kernel has until DNS knows the other one, which a job of one pod does not wait for.
func (l Launcher) hydraHosts() []mpi.Host {
	hosts := slices.Clone(l.Hosts)
	for i, host := range hosts {
		if own := firstLabel(l.Hostname); firstLabel(host.Name) == own {
			hosts[i].Name = own
		}
	}
	return hosts
}

func (l Launcher) execute(ctx context.Context, path string, command Command, table mpi.HostTable, front *front) (mpi.Verdict, int) {
	start := time.Now()
	root := os.DirFS("/")
	killedBefore, _ := oomKills(root)
	output, err := newTail(command.Files)
	if err != nil {
		return neverRan(mpi.ReasonAgentFailed, err), codeAgentFailed
	}
	child, err := command.Reaper.Start(process.Spec{
		Path: path, Argv: l.argv(command), Files: output.files,
		Env: commandEnvironment(command.Environment, l.Settings, len(l.gate().nodes()), l.runsRanks()),
	})
	if err != nil {
		output.abandon()
		return neverRan(mpi.ReasonCommandNotFound, err), startFailureCode(err)
	}
	output.started()
	own := newRanks()
	own.startersOnly, own.proxies = !l.runsRanks(), front.watch.proxies
	watching, unwatch := context.WithCancel(ctx)
	defer unwatch()
	go own.watch(watching)
	if l.runsRanks() {
		go endHungLaunchers(watching, own.proxies, l.Log.Printf)
	}
	go l.endStranded(watching, table, own, front.watch)
	known := l.startSettling(watching, table, own)
	front.times.command()
	attended := l.attend(ctx, child, table, front)
	stopped := l.await(child, command)
	known.stop()
	ended, quiet := time.Now(), own.quietSince()
	hang := attended()
	unfinished := ""
	if child.Status().Code() == 0 && stopped == 0 && !l.AllowUnfinished {
		unfinished, stopped = own.unfinished(ctx, command.Signals)
	}
	losses, err := readLosses(l.Settings.lossesPath())
	if err != nil {
		l.Log.Print(err)
	}
	killed, _ := oomKills(root)
	lines := output.end()
	seen, world := own.ran()
	reports, launches := l.collect(ctx, table, losses, inquiryFor(child.Status(), stopped), front.times, func(node mpi.Host) (client.Account, bool) { return known.of(node, quiet) })
	verdict := judge(facts{
		argv:       command.Argv,
		status:     child.Status(),
		stopped:    stopped,
		oomKills:   killed - killedBefore,
		ranks:      own.report(),
		seen:       seen,
		world:      world,
		numbers:    own.proxies.numbers(),
		hostname:   l.Hostname,
		admitted:   own.lastFailedStarter(),
		reports:    reports,
		unfinished: unfinished,
		saidLost:   output.lostAt(),
		launches:   launches,
		launched:   own.newestLauncher(),
		losses:     losses,
		lines:      lines,
		allowIdle:  l.AllowIdle,
		ended:      ended,
		now:        time.Now(),
	})
	verdict.RunSeconds, verdict.IdleSeconds = ended.Sub(start).Seconds(), l.idleSeconds(quiet, known, losses, ended)
	if stopped != 0 {
		hang = nil
	}
	return conclude(verdict, hang, front.notices)
}

// conclude returns what is left of a job and its exit code: a hang is the cause of the end that we made of it, and nothing that did not
// succeed ends with 0.
func conclude(verdict mpi.Verdict, hang *obstacle, told *notices) (mpi.Verdict, int) {
	if hang != nil {
		return obstructed(verdict, *hang), codeAgentFailed
	}
	if verdict = told.explain(verdict); !verdict.Succeeded() && verdict.ExitCode == 0 {
		return verdict, codeAgentFailed
	}
	return verdict, verdict.ExitCode
}

// await returns when the command has ended, and the signal by which the pod was asked to stop, 0 for none. Then it asks the programs
// here, and waits for launches too that the command has left behind: their ranks save their work.
func (l Launcher) await(child *process.Process, command Command) (stopped syscall.Signal) {
	for stopped == 0 {
		select {
		case <-child.Done():
			return 0
		case s := <-command.Signals:
			stopped, _ = s.(syscall.Signal)
		}
	}
	l.Stopping(killedInTime(command.Argv, stopped))
	if err := os.WriteFile(l.Settings.stoppingPath(), nil, 0o644); err != nil {
		l.Log.Print(err)
	}
	var empty time.Time
	for ask := newAsking(stopped, command.Reaper.Started); ; time.Sleep(askPause) {
		_, launch := ask.look()
		empty = since(empty, time.Now(), launch.empty != 0 && usesHydra(command.Environment))
		if !empty.IsZero() && time.Since(empty) > ownEnd {
			_ = EndParent(launch.empty, 0, neverSpared) // it may have ended meanwhile
		}
		select {
		case <-child.Done():
			if !launch.runs {
				return stopped
			}
		default:
		}
	}
}

// killedInTime is the verdict should kubelet kill the agent, because its pod's grace is over.
func killedInTime(argv []string, signal syscall.Signal) mpi.Verdict {
	name := process.SignalName(signal)
	return mpi.Verdict{
		Reason: mpi.ReasonCommandKilled, ExitCode: 128 + int(syscall.SIGKILL), Stopped: name,
		Message: fmt.Sprintf("the pod was asked to stop (%s), and the command %s had not ended when its grace was over", name, quoteCommand(argv)),
	}
}

// reportLimit is how long the nodes may take for their reports, all side by side, lostLimit one that was lost, and busyLimit one that
// accepts connections: its machine is there, and what it says of its ranks is the cause that is looked for. After a success
// reportLimit is for one attempt, and successLimit for all of them: without its reports a success is none, and work must not be
// lost because a machine is busy.
const (
	reportLimit  = 2 * time.Second
	lostLimit    = 300 * time.Millisecond
	busyLimit    = 10 * time.Second
	successLimit = 20 * time.Second
)

// inquiry is how hard the nodes are asked for their reports.
type inquiry int

const (
	// afterFailure: again and again for a moment.
	afterFailure inquiry = iota
	// afterSuccess: for longer, because without its reports a success is none.
	afterSuccess
	// afterStop: once. Who stops the launcher most often stops its nodes too, and is to blame whatever they say.
	afterStop
)

func inquiryFor(status process.Status, stopped syscall.Signal) inquiry {
	switch {
	case stopped != 0:
		return afterStop
	case status.Code() == 0:
		return afterSuccess
	}
	return afterFailure
}

// collect asks all nodes what ran there, and when the newest launch on each began. A node that does not answer
// until the limit has a report that says why. It is asked again and again: a policy that is being renewed may reject a
// connection that it admits a moment later, and who is silent counts as lost, but who has said it since the last launch.
func (l Launcher) collect(
	ctx context.Context, table mpi.HostTable, losses []loss, how inquiry, times *timeline, known func(mpi.Host) (account client.Account, since bool),
) ([]mpi.NodeReport, map[string]time.Time) {
	nodes := l.gate().nodes()
	accounts := make([]client.Account, len(nodes))
	var group sync.WaitGroup
	for i, node := range nodes {
		group.Go(func() {
			word, since := known(node)
			account := l.finalReport(ctx, node, table, losses, how, word, since)
			times.seen(account.Progress)
			account.Name = node.Name
			accounts[i] = account
		})
	}
	group.Wait()
	reports, launches := make([]mpi.NodeReport, len(nodes)), map[string]time.Time{}
	for i, account := range accounts {
		reports[i] = aged(account.NodeReport, account.Received)
		if age := account.LaunchAge; age != nil {
			launches[firstLabel(nodes[i].Name)] = account.Received.Add(-time.Duration(*age * float64(time.Second)))
		}
	}
	return reports, launches
}

// finalReport asks a node what ran there, again and again. A node that was not lost since its last word may be gone: nobody asks again
// where it came after the last launch, and after a success it counts in any case, because a later launch got on without the node.
func (l Launcher) finalReport(
	ctx context.Context, node mpi.Host, table mpi.HostTable, losses []loss, how inquiry, word client.Account, since bool,
) client.Account {
	ctx, cancel := context.WithTimeout(ctx, limitFor(node, losses, how))
	defer cancel()
	heard := !word.Received.IsZero() && !lostSince(node, word, losses)
	account, err := l.report(ctx, node, table)
	if err != nil && how != afterStop && !(heard && since) {
		account, err = l.reportAgain(ctx, node, table, how, err)
	}
	switch {
	case err == nil:
	case heard && (since || how == afterSuccess):
		return word
	default:
		account.Answer = client.Answer{NodeReport: mpi.NodeReport{Error: plain(err)}}
	}
	return account
}

// limitFor is how long a node may take for its report: little when rsh has lost it already, so that the end of the job
// does not wait for a node that is gone. One that has lost its launch daemon only is there.
func limitFor(node mpi.Host, losses []loss, how inquiry) time.Duration {
	gone := func(l loss) bool { return !l.ofDaemon() && firstLabel(l.Host) == firstLabel(node.Name) }
	switch {
	case slices.ContainsFunc(losses, gone):
		return lostLimit
	case how == afterSuccess:
		return successLimit
	case how == afterStop:
		return reportLimit
	}
	return busyLimit
}

// reportPause is the time between two questions for the same report.
const reportPause = 50 * time.Millisecond

// reportAgain asks until there is a report or the limit is over. The limit says nothing about the node, so the failure
// before it stands.
func (l Launcher) reportAgain(ctx context.Context, node mpi.Host, table mpi.HostTable, how inquiry, failure error) (client.Account, error) {
	for begin := time.Now(); ; {
		if how == afterFailure && time.Since(begin) > reportLimit && !accepts(failure) {
			return client.Account{}, failure
		}
		select {
		case <-ctx.Done():
			return client.Account{}, failure
		case <-time.After(reportPause):
		}
		account, err := l.report(ctx, node, table)
		switch {
		case err == nil:
			return account, nil
		case ctx.Err() == nil:
			failure = err
		}
	}
}

// accepts reports whether a node that gave no report accepted the connection.
func accepts(err error) bool {
	var failure *client.Failure
	return errors.As(err, &failure) && failure.Cause == client.Mute
}

func (l Launcher) report(ctx context.Context, node mpi.Host, table mpi.HostTable) (client.Account, error) {
	host, _ := find(table, node.Name)
	address, err := client.At(host, l.Settings.Port)
	if err != nil {
		return client.Account{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, reportLimit)
	defer cancel()
	return client.Report(ctx, l.Dial, l.Key, address)
}

var errNoCommand = errors.New("there is no command to run: set spec.trainer.command in the TrainJob, or give one after `run --`")

func isNotFound(err error) bool {
	return errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist)
}

// notRun is the exit code in the verdict of a command that never ran.
const notRun = -1

func neverRan(reason mpi.Reason, err error) mpi.Verdict {
	return mpi.Verdict{Reason: reason, Message: err.Error(), ExitCode: notRun}
}

// Failed is the verdict when the agent cannot even begin.
func Failed(err error) (mpi.Verdict, int) {
	return neverRan(mpi.ReasonAgentFailed, err), codeAgentFailed
}

func stoppedBefore(signal syscall.Signal, result mpi.GateResult) mpi.Verdict {
	message := fmt.Sprintf("the pod was asked to stop (%s) while the launcher waited for its nodes", process.SignalName(signal))
	if len(result.Failures) > 0 {
		message += ": " + describeFailures(result.Failures)
	}
	return mpi.Verdict{Reason: mpi.ReasonCommandKilled, Message: message, ExitCode: notRun, GateSeconds: result.Seconds, Stopped: process.SignalName(signal)}
}

func gateFailed(result mpi.GateResult) mpi.Verdict {
	reason := diagnose.GateReason(result.Failures)
	return mpi.Verdict{
		Reason: reason, ExitCode: notRun, GateSeconds: result.Seconds, Host: onlyHost(result.Failures),
		Message: fmt.Sprintf("%s%d nodes did not answer on port %d within %.1f s: %s%s", diagnose.GateHeadline(result.Failures),
			len(result.Failures), mpi.AgentPort, result.Seconds, describeWorkers(result.Failures), remedies(result.Failures)),
	}
}

// describeWorkers names some nodes as users count them, for example `Worker 1 demo-node-0-1 (10.244.1.5): connection refused`.
func describeWorkers(failures []mpi.NodeFailure) string {
	named := slices.Clone(failures)
	for i, failure := range failures {
		if worker := diagnose.Worker(failure.Name); worker != firstLabel(failure.Name) {
			named[i].Name = worker + " " + firstLabel(failure.Name)
		}
	}
	return describeFailures(named)
}

// onlyHost returns the host of the one failure, or nothing.
func onlyHost(failures []mpi.NodeFailure) string {
	if len(failures) != 1 {
		return ""
	}
	return failures[0].Name
}

// rootCause is the cause at the end of a failure that was passed on.
func rootCause(failure string) string {
	if end := strings.LastIndex(failure, " ("); end > 0 && strings.HasSuffix(failure, ")") {
		failure = failure[:end] // what the cause was seen by
	}
	return strings.TrimSpace(failure[strings.LastIndex(failure, ":")+1:])
}

// remedies says what to check, once per cause.
func remedies(failures []mpi.NodeFailure) string {
	seen, text := map[string]bool{}, ""
	for _, failure := range failures {
		remedy := client.Cause(rootCause(failure.Error)).Remedy()
		switch {
		case strings.HasPrefix(failure.Error, otherPodWords):
			remedy = "check that no pod of the job uses hostNetwork, and that the addresses are not those of pods that are gone"
		case failure.Error == errNoTable.Error():
			remedy = "check that mpi-controller runs and that a NetworkPolicy admits it to port 2222 of the launcher, and that all pods of the job could be created and scheduled"
		}
		if !seen[remedy] && strings.TrimSpace(remedy) != "" {
			seen[remedy], text = true, text+"; "+remedy
		}
	}
	return text
}
