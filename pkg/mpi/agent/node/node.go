package node

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/hosts"
	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
	"lockstep.dev/lockstep/pkg/mpi/agent/probe"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/program"
	"lockstep.dev/lockstep/pkg/mpi/agent/server"
	"lockstep.dev/lockstep/pkg/mpi/agent/state"
	"lockstep.dev/lockstep/pkg/mpi/agent/traffic"
	"lockstep.dev/lockstep/pkg/mpi/agent/training"
	"lockstep.dev/lockstep/pkg/mpi/agent/usage"
	"lockstep.dev/lockstep/pkg/mpi/agent/waiting"
	"lockstep.dev/lockstep/pkg/mpi/agent/watch"
	"lockstep.dev/lockstep/pkg/mpi/agent/watch/hydra"
)

// Node is the agent of a node.
type Node struct {
	Settings state.Settings
	// Hostname is the host name of the pod.
	Hostname string
	Key      identity.Key
	Reaper   *process.Reaper
	// Environment is what commands see: that of the node's container, so that values of the pod, such as HOSTNAME,
	// are the node's and not the launcher's. Variables that a peer would set are refused (server package).
	Environment []string
	// Dial reaches the other pods of the job.
	Dial client.Dial
	Log  *log.Logger
}

// Serve answers on the listener until the context is done. Then it asks the programs of this pod to end, waits for them and
// for their launch, and returns: without any at once.
func (n Node) Serve(ctx context.Context, listener net.Listener) error {
	tracker := watch.NewProcessTracker(n.Reaper.IsChild)
	ranks := watch.NewRankWatcher(tracker, false)
	meter := usage.NewMeter(os.DirFS("/"))
	l := newActivityLog(meter, ranks)
	environment, err := waiting.Preload(n.Environment, n.Settings.StateDir)
	if err != nil {
		n.Log.Print(err)
	}
	ctx, stop := withEndCause(ctx, errPodStops)
	defer stop()
	go meter.Watch(ctx)
	posts, err := training.Serve(ctx, environment, n.Settings.StateDir, n.Log, n.passTraining)
	if err != nil {
		n.Log.Print(err)
	}
	n.Environment = slices.Concat(environment, posts)
	ssh := server.Server{
		Key: n.Key, Limits: server.DefaultLimits, Log: n.Log, Linger: func() { n.awaitPrograms(l) },
		Handlers: server.Handlers{
			Exec: func(ctx context.Context, c server.Command) server.Exit { return n.execCommand(ctx, l, tracker, c) },
			Subsystems: map[string]server.Subsystem{
				mpi.HelloSubsystem: n.answerHello,
				mpi.ReportSubsystem: func(ctx context.Context, _ []byte) (any, error) {
					return n.answerReport(ctx, l, tracker), nil
				},
				mpi.TrafficSubsystem: func(_ context.Context, request []byte) (any, error) {
					return traffic.AnswerTraffic(n.Settings.StateDir, request)
				},
				mpi.WaitingSubsystem:  waiting.Pod{StateDir: n.Settings.StateDir, EndOf: ranks.EndOf}.Answer,
				mpi.ProgressSubsystem: tracker.AnswerProgress,
				mpi.ProbeSubsystem:    new(probe.Rendezvous).Answer,
			},
		},
	}
	return ssh.Serve(ctx, listener)
}

// passTraining passes the post of a program in this pod to the launcher.
func (n Node) passTraining(ctx context.Context, progress mpi.TrainingProgress) error {
	table, err := state.ReadHostTable(n.Settings.HostTablePath())
	if err != nil {
		return err
	}
	if len(table.Hosts) == 0 {
		return errors.New("the address of the launcher is not known yet")
	}
	address, err := client.AgentAddress(table.Hosts[0], n.Settings.Port)
	if err != nil {
		return err
	}
	return client.PassTraining(ctx, n.Dial, n.Key, address, progress)
}

// awaitPrograms returns when the programs and the launch of this pod have ended. A pod that gets to the end of its grace is killed by kubelet.
func (n Node) awaitPrograms(l *activityLog) {
	if !l.noteStop() {
		return
	}
	told := false
	for forwarder := watch.NewSignalForwarder(syscall.SIGTERM, n.Reaper.IsChild); ; time.Sleep(watch.StopPollInterval) {
		if busy, _ := forwarder.SignalNewPrograms(); !busy {
			return
		}
		if !told {
			told = true
			n.Log.Print("the pod was asked to stop: wait until the programs here have ended, which were asked to (SIGTERM)")
		}
	}
}

// answerReport says what ran here.
func (n Node) answerReport(ctx context.Context, l *activityLog, tracker *watch.ProcessTracker) client.ReportReply {
	report := l.reportWhenIdle(ctx, n.Hostname)
	return client.ReportReply{NodeReport: report, LaunchAge: tracker.LaunchAge()}
}

// answerHello says who is here and whom this node cannot reach. It keeps the table of hosts that the launcher sends, for
// daemons that start other daemons.
func (n Node) answerHello(ctx context.Context, request []byte) (any, error) {
	if len(request) == 0 {
		return mpi.Hello{Hostname: n.Hostname}, nil
	}
	table, err := hosts.DecodeTable(request)
	if err != nil {
		return nil, err
	}
	if err := hosts.ValidateTable(table, nil); err != nil {
		return nil, err
	}
	if err := state.WriteHostTable(n.Settings.HostTablePath(), table); err != nil {
		n.Log.Printf("daemons on this node cannot start daemons on others: %v", err)
	}
	if err := state.PublishHosts(table); err != nil {
		n.Log.Print(err)
	}
	return mpi.Hello{Hostname: n.Hostname, Unreachable: n.unreachableNeighbours(ctx, table)}, nil
}

func (n Node) execCommand(ctx context.Context, l *activityLog, tracker *watch.ProcessTracker, c server.Command) server.Exit {
	ended := func(int) {}
	if program.StartsRanks(c.Line) {
		var begins bool
		ended, begins = l.noteDaemonStart(c.Line)
		tracker.NoteDaemonStart(ctx, begins)
	} else {
		l.noteOtherCommand()
	}
	whole, proxy := hydra.WatchProxy(ctx, tracker.Proxies, c.Line)
	defer proxy.StopWatching()
	told := false
	exit := n.runCommand(whole, c, proxy.StartWatching, func(status process.Status, asked bool) {
		told = true
		switch {
		case !asked:
			ended(status.Code())
		case ctx.Err() != nil:
			ended(0) // the launcher has let it go: that the daemon was killed then says nothing
		default:
			ended(hydra.CodeHidden)
		}
	})
	switch {
	case !told: // it could not be started, or not be ended
		ended(exit.Code)
	case ctx.Err() != nil, l.isStopping() && exit.Code != 0:
		return exitInStoppingPod(exit)
	case whole.Err() != nil:
		return server.Exit{Code: hydra.CodeHidden}
	}
	exit.Code = proxy.EncodeExitCode(exit.Code)
	return exit
}

// exitInStoppingPod is the end of a command of a pod that stops. A command that made a code of its own of the signal, as orted does, would hide
// that. One that ends well is believed: its ranks have saved their work, and those of other pods may still be at it.
func exitInStoppingPod(exit server.Exit) server.Exit {
	if exit.Code > 128 {
		return exit
	}
	return toldToEnd
}

// toldToEnd is the end by SIGTERM.
var toldToEnd = server.Exit{Code: program.CodeToldToEnd, Signal: "TERM"}

// runCommand runs a command, and tells of its start and its end as soon as they have come.
func (n Node) runCommand(ctx context.Context, c server.Command, started func(pid int), ended func(status process.Status, asked bool)) server.Exit {
	path, argv, err := process.ParseCommandLine(c.Line)
	if err != nil {
		return n.failedToStart(c, err)
	}
	status, err := n.Reaper.Run(ctx, path, argv, withAgentLast(n.Environment), process.Streams{
		Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr,
		Started: func(pid int) {
			started(pid)
			n.Log.Printf("start for %s: %s", c.Peer, program.QuoteCommand(c.Line)) // the launch does not wait for the log
		},
		Ended: ended,
	})
	if err != nil {
		return n.failedToStart(c, err)
	}
	n.Log.Printf("the command for %s %s%s", c.Peer, status, describeEndCause(ctx))
	return exitOf(status)
}

// errPodStops is why a command ends that runs when its pod is asked to stop.
var errPodStops = errors.New("the pod was asked to stop")

// withEndCause returns a context that ends with another one, and names a cause then.
func withEndCause(ctx context.Context, cause error) (context.Context, func()) {
	named, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unlink := context.AfterFunc(ctx, func() { cancel(cause) })
	return named, func() { unlink(); cancel(cause) }
}

// describeEndCause says why a command was ended, as a continuation of a sentence, nothing when it was not.
func describeEndCause(ctx context.Context) string {
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return ""
	case errors.Is(cause, errPodStops), errors.Is(cause, hydra.ErrRanksWait):
		return " after " + cause.Error()
	}
	return " after the launcher closed the session"
}

func (n Node) failedToStart(c server.Command, err error) server.Exit {
	n.Log.Printf("cannot run a command for %s: %v", c.Peer, err)
	fmt.Fprintf(c.Stderr, "mpi-agent: %v\n", err)
	return server.Exit{Code: process.StartFailureCode(err)}
}

// standardSignals are the names that an exit-signal may carry (RFC 4254 section 6.10).
const standardSignals = " ABRT ALRM FPE HUP ILL INT KILL PIPE QUIT SEGV TERM USR1 USR2 "

func exitOf(status process.Status) server.Exit {
	exit := server.Exit{Code: status.Code(), CoreDumped: status.CoreDumped()}
	if signal := status.Signal(); signal != 0 {
		name := strings.TrimPrefix(process.SignalName(signal), "SIG")
		if strings.Contains(standardSignals, " "+name+" ") {
			exit.Signal = name
		}
	}
	return exit
}

// withAgentLast returns the environment of commands on a node: `mpi-agent probe` is found, and what the image has stays its own.
func withAgentLast(environment []string) []string {
	return process.OverrideVariables(environment, []string{"PATH=" + process.SearchPath(environment) + ":" + path.Dir(mpi.AgentBin)})
}
