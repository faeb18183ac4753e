package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/rsh"
	"lockstep.dev/lockstep/pkg/mpi/agent/state"
	"lockstep.dev/lockstep/pkg/mpi/agent/watch/hydra"
)

const rshHelp = `rsh runs a command on a node of the job, as ssh would, and exits with its exit code; 255 when the node cannot be reached
or is lost. MPI launchers call it. It uses the key of the job and nothing else.

Usage: mpi-agent rsh [ssh options] HOST COMMAND…

  -p PORT           port of the agent
  -n                the command reads nothing
  -v                say what happens
  -o KEYWORD=VALUE  Port, ConnectTimeout, ConnectionAttempts, ServerAliveInterval, ServerAliveCountMax; others are ignored
  -2 -x -q -T -4 -6 -a -C -k -l USER -i FILE -c CIPHER -m MAC -F FILE   are accepted and have no effect

Examples:
  mpi-agent rsh demo-node-0-1 hostname
  mpi-agent rsh -o ConnectTimeout=3 demo-node-0-1.demo 'nproc; free -m'
`

// codeNoConnection is ssh's exit code for everything that is not the command's own.
const codeNoConnection = 255

func runRemoteShell(args []string) int {
	parent := os.Getppid()
	if slices.Contains([]string{"-h", "--help"}, firstOrEmpty(args)) {
		fmt.Print(rshHelp)
		return 0
	}
	options, err := rsh.ParseOptions(args)
	if err != nil {
		return failNoConnection(err)
	}
	if options.Version {
		fmt.Fprintln(os.Stderr, versionText())
		return 0
	}
	settings, err := state.SettingsFrom(os.LookupEnv)
	if err != nil {
		return failNoConnection(err)
	}
	if rsh.IsOwnHost(settings, options.Host, podHostname()) {
		return failNoConnection(execCommand(options))
	}
	key, err := identity.LoadKey(settings.KeyDir)
	if err != nil {
		return failNoConnection(err)
	}
	code := rsh.Shell{
		Settings: settings, Options: options, Key: key, Dial: (&net.Dialer{}).DialContext,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Log: newLog(),
	}.Run(context.Background())
	if after, end := hydra.LauncherKillDelay(options.Command, code); end && os.Getppid() == parent && parent > 1 {
		startEndLauncher(parent, after)
	}
	return hydra.DecodeExitCode(options.Command, code)
}

// podHostname is that of the pod, or "", which no host has: a pod without one reaches all hosts by their agents.
func podHostname() string {
	name, _ := os.Hostname()
	return name
}

// execCommand makes this process the command. It returns only with an error.
func execCommand(options rsh.Options) error {
	path, argv, err := process.ParseCommandLine(options.Command)
	if err != nil {
		return err
	}
	if options.NoStdin {
		null, err := os.Open(os.DevNull)
		if err != nil {
			return err
		}
		if err := unix.Dup3(int(null.Fd()), 0, 0); err != nil {
			return err
		}
	}
	return fmt.Errorf("become %s: %w", path, syscall.Exec(path, argv, containerEnvironment()))
}

// runAsSSH is rsh for the hosts of the job. Programs that call it by its name, such as git, mean others too: for those the process
// becomes the ssh of the image.
func runAsSSH(argv []string) int {
	settings, err := state.SettingsFrom(os.LookupEnv)
	if err != nil {
		return failNoConnection(err)
	}
	program, meant := rsh.FindOtherSSH(settings, podHostname(), argv[1:], containerEnvironment())
	if program != "" {
		return failNoConnection(fmt.Errorf("become %s: %w", program, syscall.Exec(program, argv, containerEnvironment())))
	}
	code := runRemoteShell(argv[1:])
	if meant && code == codeNoConnection {
		failNoConnection(errNoOtherSSH)
	}
	return code
}

var errNoOtherSSH = errors.New("the image has no ssh, which hosts that are not of this job need")

func firstOrEmpty(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func failNoConnection(err error) int {
	fmt.Fprintf(os.Stderr, "mpi-agent rsh: %v\n", err)
	return codeNoConnection
}

func startEndLauncher(parent int, after time.Duration) {
	program, err := os.Executable()
	if err == nil {
		err = hydra.StartEndLauncher(program, parent, after)
	}
	if err != nil {
		failNoConnection(err)
	}
}

// runEndParent is the helper that rsh leaves behind: end-parent PID TIME.
func runEndParent(args []string) int {
	if len(args) != 2 {
		return codeUsage
	}
	pid, pidErr := strconv.Atoi(args[0])
	after, timeErr := time.ParseDuration(args[1])
	if pidErr != nil || timeErr != nil || pid <= 1 {
		return codeUsage
	}
	settings, err := state.SettingsFrom(os.LookupEnv)
	if err != nil {
		return failWith(err)
	}
	if err := hydra.EndLauncher(pid, after, settings.IsStopping); err != nil {
		return failWith(err)
	}
	return 0
}
