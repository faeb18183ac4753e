package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/agent/mpirun"
	"lockstep.dev/lockstep/pkg/mpi/agent/probe"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/server"
	"lockstep.dev/lockstep/pkg/mpi/agent/state"
	"lockstep.dev/lockstep/pkg/mpi/agent/training"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
	"lockstep.dev/lockstep/pkg/mpi/agent/watch"
)

// Launcher is the agent of the launcher.
type Launcher struct {
	Gate
	Settings state.Settings
	// Dialect is the one that the runtime is for, empty if it is unknown.
	Dialect mpi.Dialect
	// AllowIdle accepts nodes on which no rank ran.
	AllowIdle bool
	// AllowUnfinished accepts launches that still run when the command has ended, such as servers in the background.
	AllowUnfinished bool
	// Stopping is told the verdict that holds if nobody can leave another: the pod was asked to stop, and kubelet may kill its agent.
	Stopping func(mpi.Verdict)
	// Hang says when a job that does nothing is ended.
	Hang watch.HangRule
}

// Run passes the gate, runs the command and judges. While it works it answers pushes of the table of hosts on the
// listener. The exit code is that of the command, unless the verdict says that it lied or never ran.
func (l Launcher) Run(ctx context.Context, listener net.Listener, command Command) (mpi.Verdict, int) {
	path, err := lookUpCommand(command.Argv)
	if err != nil {
		return verdict.CommandNotStarted(mpi.ReasonCommandNotFound, err), process.StartFailureCode(err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	serving, closed := l.startServing(ctx, listener, command.Reaper.IsChild)
	defer func() { stop(); <-closed }()
	judged, code := l.passGateAndRun(ctx, serving, path, command)
	timings := serving.times.snapshot()
	judged.Timings = &timings
	return judged, code
}

func (l Launcher) passGateAndRun(ctx context.Context, serving *servedEndpoints, path string, command Command) (mpi.Verdict, int) {
	fromInit, passed := l.consumeInitGate()
	result, table := fromInit.Result, fromInit.table
	if passed {
		serving.times.noteInitGate(fromInit)
		serving.hostTable.answerAllPushes(result)
	} else {
		var failed mpi.Verdict
		var code int
		if result, table, failed, code = l.passGate(ctx, serving, command.Signals); code != 0 {
			return failed, code
		}
	}
	if err := cmp.Or(l.prepareStateFiles(table), mpirun.Install(l.Settings.ShimDir())); err != nil {
		return verdict.CommandNotStarted(mpi.ReasonAgentFailed, err), process.CodeAgentFailed
	}
	judged, code := l.runCommand(ctx, path, command, table, serving)
	judged.GateSeconds = result.Seconds
	return judged, code
}

// PassGate passes the gate and leaves its files for a command that somebody else starts, or for Run, which then does not
// wait again.
func (l Launcher) PassGate(ctx context.Context, listener net.Listener, signals <-chan os.Signal) (mpi.Verdict, int) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	serving, closed := l.startServing(ctx, listener, func(int) bool { return true })
	defer func() { stop(); <-closed }()
	result, table, failed, code := l.passGate(ctx, serving, signals)
	if code != 0 {
		return failed, code
	}
	err := l.prepareStateFiles(table)
	if err == nil {
		err = l.saveInitGate(result, serving.times.snapshot().Started, table)
	}
	if err != nil {
		return verdict.CommandNotStarted(mpi.ReasonAgentFailed, err), process.CodeAgentFailed
	}
	timings := serving.times.snapshot()
	return mpi.Verdict{GateSeconds: result.Seconds, Timings: &timings}, 0
}

// servedEndpoints is what the launcher's agent answers to others.
type servedEndpoints struct {
	hostTable *hostTableReceiver
	times     *timeline
	tracker   *watch.ProcessTracker
	warnings  *warningBoard
	training  *training.Tracker
}

// startServing starts to answer pushes. Started reports whether the agent started one of its children. The returned channel is closed when
// the server has drained.
func (l *Launcher) startServing(ctx context.Context, listener net.Listener, started func(pid int) bool) (*servedEndpoints, <-chan struct{}) {
	if address, err := netip.ParseAddrPort(listener.Addr().String()); err == nil && !address.Addr().IsUnspecified() {
		l.Address = address.Addr().Unmap().String()
	}
	f := &servedEndpoints{
		hostTable: newHostTableReceiver(l.otherHosts()), times: newTimeline(time.Now), tracker: watch.NewProcessTracker(started), warnings: newWarningBoard(),
	}
	f.training = &training.Tracker{Changed: f.warnings.postTraining}
	closed := make(chan struct{})
	ssh := server.Server{
		Key: l.Key, Limits: server.DefaultLimits, Log: l.Log,
		Handlers: server.Handlers{Subsystems: map[string]server.Subsystem{
			mpi.HostTableSubsystem:     f.hostTable.answerPush,
			mpi.LaunchTimingsSubsystem: f.times.answerRequest,
			mpi.ProgressSubsystem:      f.tracker.AnswerProgress,
			mpi.WarningsSubsystem:      f.warnings.answerRequest,
			mpi.TrainingSubsystem:      f.training.AnswerPost,
			mpi.ProbeSubsystem:         new(probe.Rendezvous).Answer,
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

// runsRanks reports whether the launcher is a host of the hostfile.
func (l Launcher) runsRanks() bool { return len(l.otherHosts()) < len(l.Hosts) }

// slotsPerHost returns the number of ranks that each host may run: it is the same for all.
func (l Launcher) slotsPerHost() int32 {
	slots := int32(1)
	for _, host := range l.Hosts {
		slots = max(slots, host.Slots)
	}
	return slots
}

// passGate returns how the gate ended, and the table by which the nodes were reached. Where it did not pass, the code is not 0, and failed
// the verdict.
func (l Launcher) passGate(ctx context.Context, serving *servedEndpoints, signals <-chan os.Signal) (
	result mpi.GateResult, table mpi.HostTable, failed mpi.Verdict, code int,
) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done, interrupted := make(chan struct{}), syscall.Signal(0)
	go func() {
		defer close(done)
		gate := l.Gate
		gate.Doubts = serving.hostTable.doubts
		result, table = gate.Pass(ctx, serving.hostTable.tables)
	}()
	select {
	case <-done:
	case s := <-signals:
		interrupted, _ = s.(syscall.Signal)
		cancel()
		<-done
	}
	serving.hostTable.answerAllPushes(result)
	if result.Passed {
		l.Log.Printf("detected %s: all nodes answered after %.2f s", describeWorld(l.Hosts), result.Seconds)
	}
	if interrupted != 0 {
		return result, table, verdict.StoppedInGate(interrupted, result), 128 + int(interrupted)
	}
	serving.times.noteGate(result)
	if !result.Passed {
		return result, table, verdict.GateFailed(result), process.CodeAgentFailed
	}
	return result, table, mpi.Verdict{}, 0
}

// prepareStateFiles leaves what rsh and Hydra read, and forgets what an earlier attempt in this pod left.
func (l Launcher) prepareStateFiles(table mpi.HostTable) error {
	for _, path := range []string{
		l.Settings.LossesPath(), l.Settings.SilencesPath(), l.Settings.AskedWorldsPath(), l.Settings.StoppingPath(),
	} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove an old file: %w", err)
		}
	}
	if err := state.WriteHostTable(l.Settings.HostTablePath(), table); err != nil {
		return err
	}
	hydra := mpi.FormatHostfile(mpi.Hydra, l.hydraHosts())
	if err := state.ReplaceFile(l.Settings.HydraHostfilePath(), []byte(hydra), 0o644); err != nil {
		return fmt.Errorf("write the hostfile for Hydra: %w", err)
	}
	if err := state.PublishHosts(table); err != nil {
		l.Log.Print(err)
	}
	return nil
}

// hydraHosts are the hosts as Hydra needs them. It starts ranks of its own host without a remote shell, but knows it only by the
// name that the kernel has until DNS knows the other one, which a job of one pod does not wait for.
func (l Launcher) hydraHosts() []mpi.Host {
	all := slices.Clone(l.Hosts)
	for i, host := range all {
		if own := hosts.FirstLabel(l.Hostname); hosts.FirstLabel(host.Name) == own {
			all[i].Name = own
		}
	}
	return all
}
