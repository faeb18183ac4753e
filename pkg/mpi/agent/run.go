package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/server"
)

// Launcher is the agent of the launcher.
type Launcher struct {
	Settings Settings
	Hostname string
	Key      identity.Key
	Hosts    []mpi.Host
	// GateTimeout is how long the nodes may take to answer.
	GateTimeout time.Duration
	// AllowIdle accepts nodes on which no rank ran.
	AllowIdle bool
	Dial      client.Dial
	Log       *log.Logger
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
	meeting, closed := l.open(ctx, listener)
	defer func() { stop(); <-closed }()
	result, table, interrupted := l.passGate(ctx, meeting, command.Signals)
	switch {
	case interrupted != 0:
		return stoppedBefore(interrupted, result), 128 + int(interrupted)
	case !result.Passed:
		return gateFailed(result), codeAgentFailed
	}
	if err := l.prepare(table); err != nil {
		return neverRan(mpi.ReasonAgentFailed, err), codeAgentFailed
	}
	verdict, code := l.execute(ctx, path, command, table)
	verdict.GateSeconds = result.Seconds
	return verdict, code
}

// Gate passes the gate and leaves its files for a command that somebody else starts.
func (l Launcher) Gate(ctx context.Context, listener net.Listener, signals <-chan os.Signal) (mpi.Verdict, int) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	meeting, closed := l.open(ctx, listener)
	defer func() { stop(); <-closed }()
	result, table, interrupted := l.passGate(ctx, meeting, signals)
	switch {
	case interrupted != 0:
		return stoppedBefore(interrupted, result), 128 + int(interrupted)
	case !result.Passed:
		return gateFailed(result), codeAgentFailed
	}
	if err := l.prepare(table); err != nil {
		return neverRan(mpi.ReasonAgentFailed, err), codeAgentFailed
	}
	return mpi.Verdict{GateSeconds: result.Seconds}, 0
}

// open starts to answer pushes. The returned channel is closed when the server has drained.
func (l Launcher) open(ctx context.Context, listener net.Listener) (*rendezvous, <-chan struct{}) {
	meeting, closed := newRendezvous(l.gate().nodes()), make(chan struct{})
	front := server.Server{
		Key: l.Key, Limits: server.DefaultLimits, Log: l.Log,
		Handlers: server.Handlers{Subsystems: map[string]server.Subsystem{mpi.RendezvousSubsystem: meeting.answer}},
	}
	go func() {
		defer close(closed)
		if err := front.Serve(ctx, listener); err != nil {
			l.Log.Print(err)
		}
	}()
	return meeting, closed
}

func (l Launcher) gate() Gate {
	return Gate{
		Hosts: l.Hosts, Hostname: l.Hostname, Key: l.Key, Dial: l.Dial, Port: l.Settings.Port,
		Deadline: l.GateTimeout, Stubborn: DefaultStubborn, Log: l.Log,
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
		result, table = l.gate().Pass(ctx, meeting.tables)
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
	if err := os.Remove(l.Settings.lossesPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove an old file: %w", err)
	}
	if err := writeTable(l.Settings.hostTablePath(), table); err != nil {
		return err
	}
	hydra := mpi.FormatHostfile(mpi.Hydra, l.Hosts)
	if err := replaceFile(l.Settings.hydraHostfilePath(), []byte(hydra), 0o644); err != nil {
		return fmt.Errorf("write the hostfile for Hydra: %w", err)
	}
	return nil
}

func (l Launcher) execute(ctx context.Context, path string, command Command, table mpi.HostTable) (mpi.Verdict, int) {
	start := time.Now()
	root := os.DirFS("/")
	killedBefore, _ := oomKills(root)
	child, err := command.Reaper.Start(process.Spec{
		Path: path, Argv: command.Argv, Files: command.Files,
		Env: commandEnvironment(command.Environment, l.Settings),
	})
	if err != nil {
		return neverRan(mpi.ReasonCommandNotFound, err), startFailureCode(err)
	}
	stopped := forward(command.Signals, child)
	seconds := time.Since(start).Seconds()
	losses, err := readLosses(l.Settings.lossesPath())
	if err != nil {
		l.Log.Print(err)
	}
	killed, _ := oomKills(root)
	verdict := judge(facts{
		argv: command.Argv, status: child.Status(), stopped: stopped, losses: losses, oomKills: killed - killedBefore,
		reports: l.collect(ctx, table, child.Status().Code() == 0), allowIdle: l.AllowIdle,
	})
	verdict.RunSeconds = seconds
	if verdict.Reason == mpi.ReasonWorldIncomplete {
		return verdict, codeAgentFailed
	}
	return verdict, verdict.ExitCode
}

// forward passes signals on to the command's group until the command has ended, and returns the first one.
func forward(signals <-chan os.Signal, child *process.Process) (first syscall.Signal) {
	for {
		select {
		case <-child.Done():
			return first
		case s := <-signals:
			signal, known := s.(syscall.Signal)
			if !known {
				continue
			}
			if first == 0 {
				first = signal
			}
			child.SignalGroup(signal)
		}
	}
}

// reportLimit is how long the nodes may take for their reports, all side by side.
const reportLimit = 2 * time.Second

// collect asks all nodes what ran there. A node that does not answer has a report that says why. After a success it asks
// again until the limit: the reports decide whether the success is one, and a policy that is being renewed may reject a
// connection that it admits a moment later.
func (l Launcher) collect(ctx context.Context, table mpi.HostTable, again bool) []mpi.NodeReport {
	ctx, cancel := context.WithTimeout(ctx, reportLimit)
	defer cancel()
	nodes := l.gate().nodes()
	reports := make([]mpi.NodeReport, len(nodes))
	var group sync.WaitGroup
	for i, node := range nodes {
		group.Go(func() {
			report, err := l.report(ctx, node, table)
			if err != nil && again {
				report, err = l.reportAgain(ctx, node, table, err)
			}
			if err != nil {
				report = mpi.NodeReport{Error: plain(err)}
			}
			report.Name = node.Name
			reports[i] = report
		})
	}
	group.Wait()
	return reports
}

// reportPause is the time between two questions for the same report.
const reportPause = 50 * time.Millisecond

// reportAgain asks until there is a report or the limit is over. The limit says nothing about the node, so the failure
// before it stands.
func (l Launcher) reportAgain(ctx context.Context, node mpi.Host, table mpi.HostTable, failure error) (mpi.NodeReport, error) {
	for {
		select {
		case <-ctx.Done():
			return mpi.NodeReport{}, failure
		case <-time.After(reportPause):
		}
		report, err := l.report(ctx, node, table)
		switch {
		case err == nil:
			return report, nil
		case ctx.Err() == nil:
			failure = err
		}
	}
}

func (l Launcher) report(ctx context.Context, node mpi.Host, table mpi.HostTable) (mpi.NodeReport, error) {
	host, _ := find(table, node.Name)
	address, err := client.At(host, l.Settings.Port)
	if err != nil {
		return mpi.NodeReport{}, err
	}
	return client.Report(ctx, l.Dial, l.Key, address)
}

// lookUp finds the file of a command.
func lookUp(argv []string) (string, error) {
	if len(argv) == 0 {
		return "", errNoCommand
	}
	path, err := exec.LookPath(argv[0])
	switch {
	case errors.Is(err, os.ErrPermission):
		return "", fmt.Errorf("the command `%s` is not executable: %w", argv[0], err)
	case err != nil:
		return "", fmt.Errorf("the command `%s` was not found in the launcher's image: %w", argv[0], err)
	}
	return path, nil
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
	return mpi.Verdict{Reason: mpi.ReasonCommandKilled, Message: message, ExitCode: notRun, GateSeconds: result.Seconds}
}

func gateFailed(result mpi.GateResult) mpi.Verdict {
	return mpi.Verdict{
		Reason: mpi.ReasonGateTimeout, ExitCode: notRun, GateSeconds: result.Seconds,
		Message: fmt.Sprintf("%d nodes did not answer within %.1f s: %s%s",
			len(result.Failures), result.Seconds, describeFailures(result.Failures), remedies(result.Failures)),
	}
}

// rootCause is the cause at the end of a failure that was passed on.
func rootCause(failure string) string {
	return strings.TrimSpace(failure[strings.LastIndex(failure, ":")+1:])
}

// remedies says what to check, once per cause.
func remedies(failures []mpi.NodeFailure) string {
	seen, text := map[string]bool{}, ""
	for _, failure := range failures {
		remedy := client.Cause(rootCause(failure.Error)).Remedy()
		if failure.Error == errNoTable.Error() {
			remedy = "check that mpi-controller runs and that a NetworkPolicy admits it to port 2222 of the launcher, and that all pods of the job could be created and scheduled"
		}
		if !seen[remedy] && strings.TrimSpace(remedy) != "" {
			seen[remedy], text = true, text+"; "+remedy
		}
	}
	return text
}
