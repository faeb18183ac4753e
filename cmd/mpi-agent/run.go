package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/dns"
	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
	"lockstep.dev/lockstep/pkg/mpi/agent/launch"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
	"lockstep.dev/lockstep/pkg/mpi/agent/watch"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

const runHelp = `run is the main process of the launcher. It waits until the addresses of the pods are known, from the controller or else
from DNS, and every node of the hostfile has answered, unless an init container has done so with gate. It runs the
command, asks the nodes what ran there, and leaves a verdict (JSON) as termination message.

Exit code: that of the command, 128+n after signal n; 127 command not found, 126 not executable; 125 when the nodes did
not answer, when the command exited 0 although nothing ever ran on its nodes, or when the agent itself failed.

Usage: mpi-agent run [flags] -- COMMAND ARGS…

Examples:
  mpi-agent run -- mpirun -n 8 python train.py
  mpi-agent run --gate-timeout 10m -- bash -c 'mpirun ./prepare && mpirun ./train'`

const gateHelp = `gate waits until the addresses of the pods are known, from the controller or else from DNS, and every node of the
hostfile has answered. It leaves the table of hosts and the hostfile for Hydra in the state folder, and the names of the
pods in /etc/hosts where the pod mounts a file of its own there. For an init container of the launcher, which can also bring
the agent for the main container, as install does.

Usage: mpi-agent gate [flags]

Examples:
  mpi-agent gate
  mpi-agent gate --install /opt/lockstep/bin --gate-timeout 10m`

// launcherOptions are the flags of run and gate.
type launcherOptions struct {
	agentOptions
	hostfile       string
	terminationLog string
	gateTimeout    time.Duration
	dnsAfter       time.Duration
	darkAfter      time.Duration
	hangAfter      string
	hangProgress   string
	allowIdle      bool
	// allowUnfinished accepts launches that outlast their command.
	allowUnfinished bool
	// unfit is what is wrong with the environment, told like anything else that keeps the launcher from working.
	unfit     error
	installTo string
}

// boolVariable reads a variable that is true or false; without a value it is false.
func boolVariable(variable string) (bool, error) {
	value := os.Getenv(variable)
	if value == "" {
		return false, nil
	}
	on, err := strconv.ParseBool(value)
	if err != nil {
		return false, fmt.Errorf("%s is `%s`: allowed are true, false, 1 and 0", variable, diagnose.ClipBytes(diagnose.StripEscapes(value), 100))
	}
	return on, nil
}

func runLauncher(args []string) int {
	return runWithVerdict("run", runHelp, args, func(o launcherOptions, argv []string) (mpi.Verdict, int) {
		launcher, listener, signals, err := o.openLauncher()
		if err != nil {
			return verdict.AgentFailed(err)
		}
		reaper, err := process.NewReaper()
		if err != nil {
			return verdict.AgentFailed(err)
		}
		return launcher.Run(context.Background(), listener, launch.Command{
			Argv: argv, Environment: containerEnvironment(), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
			Reaper: reaper, Signals: signals,
		})
	})
}

func runGate(args []string) int {
	return runWithVerdict("gate", gateHelp, args, func(o launcherOptions, argv []string) (mpi.Verdict, int) {
		if len(argv) > 0 {
			return verdict.AgentFailed(fmt.Errorf("gate runs no command, found `%s`: use run", argv[0]))
		}
		if err := o.installAgent(); err != nil {
			return verdict.AgentFailed(err)
		}
		launcher, listener, signals, err := o.openLauncher()
		if err != nil {
			return verdict.AgentFailed(err)
		}
		return launcher.PassGate(context.Background(), listener, signals)
	})
}

// runWithVerdict reads the flags, does the work, and leaves the verdict.
func runWithVerdict(name, text string, args []string, work func(launcherOptions, []string) (mpi.Verdict, int)) int {
	common, err := defaultOptions()
	if err != nil {
		return failWith(err)
	}
	o := launcherOptions{agentOptions: common}
	flags := newFlagSet(name, text, &o.agentOptions)
	flags.StringVar(&o.hostfile, "hostfile", mpi.HostfilePath, "`file` with the nodes of the job, in the syntax of Open MPI")
	flags.StringVar(&o.terminationLog, "termination-log", "/dev/termination-log", "`file` for the verdict")
	flags.DurationVar(&o.gateTimeout, "gate-timeout", 5*time.Minute, "`time` that the nodes may take to answer")
	flags.DurationVar(&o.darkAfter, "dark-after", launch.DefaultUnreachableTimeout,
		"`time` after which the gate gives up a node with an address that no packet reaches, or that refuses although its container runs, 0 never")
	flags.DurationVar(&o.dnsAfter, "dns-after", launch.DefaultDiscoveryAfter,
		"`time` after which DNS is asked for the nodes when nobody has sent their addresses, 0 never")
	flags.StringVar(&o.hangAfter, "hang-after", os.Getenv(mpi.HangAfterVariable),
		"end the job with reason Hang when none of its processes wrote anything for this `time` ($"+mpi.HangAfterVariable+", default never)")
	flags.StringVar(&o.hangProgress, "hang-progress", os.Getenv(mpi.HangProgressVariable),
		"`signs` of progress: output, or output,cpu ($"+mpi.HangProgressVariable+"); ranks that wait for each other usually spin, so CPU time hides most deadlocks")
	o.addSwitches(flags)
	if name == "gate" {
		flags.StringVar(&o.installTo, "install", "", "`folder` to install the agent in, before anything else")
	}
	if code, done := parseFlags(flags, args); done {
		return code
	}
	left, code := work(o, flags.Args())
	o.reportVerdict(left)
	return code
}

// addSwitches are the flags whose defaults are variables that are true or false.
func (o *launcherOptions) addSwitches(flags *flag.FlagSet) {
	var idle, unfinished error
	o.allowIdle, idle = boolVariable(verdict.AllowIdleVariable)
	o.allowUnfinished, unfinished = boolVariable(verdict.AllowUnfinishedVariable)
	o.unfit = cmp.Or(idle, unfinished)
	flags.BoolVar(&o.allowIdle, "allow-idle-nodes", o.allowIdle,
		"accept a job that used none of its nodes, and name no nodes without ranks ($"+verdict.AllowIdleVariable+"=true)")
	flags.BoolVar(&o.allowUnfinished, "allow-unfinished", o.allowUnfinished,
		"accept launches that still run when the command has ended, such as servers in the background ($"+verdict.AllowUnfinishedVariable+"=true)")
}

// installAgent brings the agent for the main container, where an init container is asked to.
func (o launcherOptions) installAgent() error {
	if o.installTo == "" {
		return nil
	}
	return installSelf(o.installTo)
}

// openLauncher prepares what the launcher needs from its pod.
func (o launcherOptions) openLauncher() (launch.Launcher, net.Listener, <-chan os.Signal, error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	if o.unfit != nil {
		return launch.Launcher{}, nil, nil, o.unfit
	}
	hosts, err := readHostfile(o.hostfile)
	if err != nil {
		return launch.Launcher{}, nil, nil, err
	}
	hang, err := watch.HangRuleFrom(o.hangAfter, o.hangProgress)
	if err != nil {
		return launch.Launcher{}, nil, nil, err
	}
	key, err := identity.LoadKey(o.settings.KeyDir)
	if err != nil {
		return launch.Launcher{}, nil, nil, err
	}
	listener, err := listenForAgents(o.agentOptions)
	if err != nil {
		return launch.Launcher{}, nil, nil, err
	}
	return launch.Launcher{
		Gate: launch.Gate{
			Hosts: hosts, Hostname: o.hostname, Key: key, Dial: (&net.Dialer{}).DialContext, Port: o.settings.Port, Deadline: o.gateTimeout,
			WrongKeyTimeout: launch.DefaultWrongKeyTimeout, UnreachableTimeout: o.darkAfter, Discovery: o.dnsDiscovery(), Log: newLog(),
		},
		Settings: o.settings, Dialect: mpi.Dialect(os.Getenv(mpi.DialectVariable)), AllowIdle: o.allowIdle, AllowUnfinished: o.allowUnfinished, Hang: hang, Stopping: o.writeVerdict,
	}, listener, signals, nil
}

// dnsDiscovery asks the DNS servers of the pod. A pod without them, or whose file cannot be read, waits for its controller.
func (o launcherOptions) dnsDiscovery() *launch.Discovery {
	if o.dnsAfter <= 0 {
		return nil
	}
	config, err := dns.LoadConfig(cmp.Or(os.Getenv(resolvConfVariable), dns.DefaultPath))
	if err != nil {
		newLog().Printf("DNS will not be asked: %v", err)
		return nil
	}
	return &launch.Discovery{
		After:    o.dnsAfter,
		Resolver: &dns.Resolver{Config: config, Dial: (&net.Dialer{}).DialContext, Now: time.Now},
	}
}

// resolvConfVariable names another resolv.conf(5), for tests and for images that move it.
const resolvConfVariable = "LOCKSTEP_RESOLV_CONF"

func readHostfile(path string) ([]mpi.Host, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the hostfile: %w", err)
	}
	defer file.Close()
	hosts, err := mpi.ParseHostfile(file)
	if err == nil && len(hosts) == 0 {
		err = errors.New("it names no host")
	}
	if err != nil {
		return nil, fmt.Errorf("hostfile %s: %w", path, err)
	}
	return hosts, nil
}

// reportVerdict writes the verdict where kubelet reads it and, when it is bad, says it in the log.
func (o launcherOptions) reportVerdict(verdict mpi.Verdict) {
	log := newLog()
	switch {
	case !verdict.Succeeded():
		log.Printf("%s: %s", verdict.Reason, verdict.Message)
	case verdict.Message != "":
		log.Print(verdict.Message)
	}
	o.writeVerdict(verdict)
}

// writeVerdict writes the verdict where kubelet reads it. One that cannot be written does not change how the job ended.
func (o launcherOptions) writeVerdict(verdict mpi.Verdict) {
	text, err := verdict.Encode()
	if err == nil {
		err = os.WriteFile(o.terminationLog, text, 0o644)
	}
	if err != nil {
		newLog().Printf("the verdict could not be left: %v", err)
	}
}
