package launch

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/mpirun"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/program"
	"lockstep.dev/lockstep/pkg/mpi/agent/state"
	"lockstep.dev/lockstep/pkg/mpi/agent/training"
	"lockstep.dev/lockstep/pkg/mpi/agent/usage"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
	"lockstep.dev/lockstep/pkg/mpi/agent/waiting"
	"lockstep.dev/lockstep/pkg/mpi/agent/watch"
	"lockstep.dev/lockstep/pkg/mpi/agent/watch/hydra"
)

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

// runningJob is the user's command while it runs, with those who look after it.
type runningJob struct {
	Launcher
	*servedEndpoints
	command Command
	table   mpi.HostTable
	child   *process.Process
	ranks   *watch.RankWatcher
	output  *outputTail
	// lastReports are what the nodes said last.
	lastReports *lastReports
}

// extendEnvironment returns an environment with the variables of the library that counts waits, and of the server that
// takes posts of progress. The job runs without them, too.
func (l Launcher) extendEnvironment(ctx context.Context, environment []string, take training.Take) []string {
	environment, err := waiting.Preload(environment, l.Settings.StateDir)
	if err != nil {
		l.Log.Print(err)
	}
	posts, err := training.Serve(ctx, environment, l.Settings.StateDir, l.Log, take)
	if err != nil {
		l.Log.Print(err)
	}
	return append(environment, posts...)
}

// runCommand runs the command to its end and judges.
func (l Launcher) runCommand(ctx context.Context, path string, command Command, table mpi.HostTable, serving *servedEndpoints) (mpi.Verdict, int) {
	start, meter := time.Now(), usage.NewMeter(os.DirFS("/"))
	environment := l.extendEnvironment(ctx, command.Environment, serving.training.TakePost)
	output, err := newOutputTail(command.Files)
	if err != nil {
		return verdict.CommandNotStarted(mpi.ReasonAgentFailed, err), process.CodeAgentFailed
	}
	if mpirun.IsName(path) {
		path = filepath.Join(l.Settings.ShimDir(), filepath.Base(path))
	}
	child, err := command.Reaper.Start(process.Spec{
		Path: path, Argv: command.Argv, Files: output.files,
		Env: commandEnvironment(environment, l.Settings, len(l.otherHosts()), l.slotsPerHost(), l.runsRanks()),
	})
	if err != nil {
		output.closeFiles()
		return startFailure(path, err), process.StartFailureCode(err)
	}
	output.followProgress(serving.training)
	output.startCopying()
	watching, unwatch := context.WithCancel(ctx)
	defer unwatch()
	go meter.Watch(watching)
	j := &runningJob{
		Launcher: l, servedEndpoints: serving, command: command, table: table, child: child, output: output, lastReports: newLastReports(),
		ranks: watch.NewRankWatcher(serving.tracker, !l.runsRanks()),
	}
	attend := j.superviseCommand(watching)
	stopped := j.awaitCommand()
	quiet, _ := j.ranks.QuietSince()
	e := verdict.Evidence{
		Argv: command.Argv, Runtime: l.Dialect, Table: table, AllowIdle: l.AllowIdle,
		Status: child.Status(), Stopped: stopped, Ended: time.Now(),
	}
	seen := attend()
	e.Hang, e.Blocked, e.Stuck = seen.hang, seen.blocked, seen.stuck
	if e.Status.Code() == 0 && e.Stopped == 0 && !l.AllowUnfinished {
		e.Unfinished, e.Stopped = j.ranks.WaitForLauncherExit(ctx, command.Signals)
	}
	if e.Losses, err = state.ReadRecords[verdict.Loss](l.Settings.LossesPath()); err != nil {
		l.Log.Print(err)
	}
	if e.Asked, err = state.ReadRecords[verdict.AskedWorld](l.Settings.AskedWorldsPath()); err != nil {
		l.Log.Print(err)
	}
	kills, own := meter.OOMKills(), meter.Usage()
	e.Lines = output.awaitLastLines()
	j.training.NoteEnd(e.Lines)
	j.warnings.postEnd()
	e.SaidLost = output.daemonLostAt()
	j.logTraffic(ctx)
	j.logWaiting(ctx)
	e.Reports, e.Launches = j.collectReports(ctx, e.Losses, inquiryFor(e.Status, e.Stopped), quiet)
	e.Own = j.ownReport(kills, own)
	e.Launched, e.Admitted = j.ranks.NewestLaunch()
	last := len(e.Asked) - 1 // whether it succeeded shows by what comes of the command
	e.Relaunched, e.Asked = last > 0, slices.DeleteFunc(e.Asked, func(a verdict.AskedWorld) bool {
		return a.PID != e.Asked[last].PID && !j.ranks.HasSucceeded(a.PID)
	})
	if len(e.Asked) == 0 && program.IsMPILauncherName(e.Launched.Program) && e.Launched.Line != "" {
		shim := mpirun.Shim{Settings: l.Settings, Hostname: l.Hostname, Environment: command.Environment}
		e.Asked = []verdict.AskedWorld{shim.AskedBy(e.Launched.Line)}
	}
	e.Now = time.Now()
	judged, code := verdict.Judge(e)
	judged.Training = j.training.Known()
	judged.RunSeconds, judged.IdleSeconds = e.Ended.Sub(start).Seconds(), j.idleSeconds(quiet, e.Losses, e.Ended)
	l.noteUsage(&judged, e)
	return judged, code
}

// ownReport is the report of this pod.
func (j *runningJob) ownReport(kills int, used *mpi.PodUsage) mpi.NodeReport {
	own := j.ranks.Report()
	own.Name, own.OOMKills, own.Usage = j.Hostname, kills, used
	return own
}

// noteUsage adds up how much the pods with ranks have used, and leaves it out of their reports.
func (l Launcher) noteUsage(judged *mpi.Verdict, e verdict.Evidence) {
	reports := e.Reports
	if l.runsRanks() {
		reports = append([]mpi.NodeReport{e.Own}, reports...)
	}
	judged.Usage = mpi.AddUp(reports)
	for i := range judged.Nodes {
		judged.Nodes[i].Usage = nil
	}
}

// awaitCommand returns when the command has ended, and the signal by which the pod was asked to stop, 0 for none. Then it asks the programs
// here, and waits for launches too that the command has left behind: their ranks save their work.
func (j *runningJob) awaitCommand() (stopped syscall.Signal) {
	for stopped == 0 {
		select {
		case <-j.child.Done():
			return 0
		case s := <-j.command.Signals:
			stopped, _ = s.(syscall.Signal)
		}
	}
	j.Stopping(verdict.KilledAfterGrace(j.command.Argv, stopped))
	if err := os.WriteFile(j.Settings.StoppingPath(), nil, 0o644); err != nil {
		j.Log.Print(err)
	}
	var lingering hydra.LingeringLauncher
	for signaller := watch.NewSignalForwarder(stopped, j.command.Reaper.IsChild); ; time.Sleep(watch.StopPollInterval) {
		_, processes := signaller.SignalNewPrograms()
		lingering.Observe(processes)
		select {
		case <-j.child.Done():
			if !slices.ContainsFunc(processes, program.IsLauncher) {
				return stopped
			}
		default:
		}
	}
}
