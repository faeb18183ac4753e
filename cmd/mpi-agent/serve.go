package main

import (
	"context"
	"fmt"
	"net"
	"os/signal"
	"strconv"
	"syscall"

	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
	"lockstep.dev/lockstep/pkg/mpi/agent/node"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
)

const serveHelp = `serve answers the launcher of the job: it runs launch daemons with the environment of this container and reports
what ran. It accepts only the key of the job. SIGTERM asks all programs here to end, and the agent ends when they have.

Usage: mpi-agent serve [flags]

Examples:
  mpi-agent serve
  mpi-agent serve --listen 127.0.0.1 --port 2022 --key-dir ./key --state-dir ./state`

func runServe(args []string) int {
	o, err := defaultOptions()
	if err != nil {
		return failWith(err)
	}
	flags := newFlagSet("serve", serveHelp, &o)
	if code, done := parseFlags(flags, args); done {
		return code
	}
	if flags.NArg() > 0 {
		return failWith(fmt.Errorf("serve takes no arguments, found `%s`", flags.Arg(0)))
	}
	if err := serveNode(o); err != nil {
		return failWith(err)
	}
	return 0
}

func serveNode(o agentOptions) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	key, err := identity.LoadKey(o.settings.KeyDir)
	if err != nil {
		return err
	}
	reaper, err := process.NewReaper()
	if err != nil {
		return err
	}
	listener, err := listenForAgents(o)
	if err != nil {
		return err
	}
	log := newLog()
	log.Printf("serving on %s as %s%s", listener.Addr(), o.hostname, fipsNote())
	served := node.Node{
		Settings: o.settings, Hostname: o.hostname, Key: key, Reaper: reaper, Environment: containerEnvironment(),
		Dial: (&net.Dialer{}).DialContext, Log: log,
	}
	return served.Serve(ctx, listener)
}

func listenForAgents(o agentOptions) (net.Listener, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(o.listen, strconv.Itoa(o.settings.Port)))
	if err != nil {
		return nil, fmt.Errorf("listen for the agents of the job: %w", err)
	}
	return listener, nil
}
