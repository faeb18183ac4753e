package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/state"
)

// Exit codes of the agent's own; commands that run a command return that one's.
const (
	codeFailed = 1
	codeUsage  = 2
)

// agentOptions are the flags that several commands have.
type agentOptions struct {
	settings state.Settings
	listen   string
	hostname string
}

// newFlagSet makes the flags of a command with the common ones. The text is its help: what it does, and examples.
func newFlagSet(name, text string, o *agentOptions) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), "%s\n\nFlags:\n", text)
		flags.PrintDefaults()
	}
	flags.StringVar(&o.settings.KeyDir, "key-dir", o.settings.KeyDir, "`folder` where the Secret with the key of the job is mounted ($"+state.KeyDirVariable+")")
	flags.StringVar(&o.settings.StateDir, "state-dir", o.settings.StateDir, "`folder` that the agent may write ($"+state.StateDirVariable+")")
	flags.IntVar(&o.settings.Port, "port", o.settings.Port, "`port` of all agents of the job ($"+state.PortVariable+")")
	flags.StringVar(&o.listen, "listen", "", "IP `address` to listen on (default all)")
	flags.BoolFunc("fips", "run in Go's FIPS 140-3 mode ($"+fipsVariable+"=true)", requireFIPS)
	flags.StringVar(&o.hostname, "hostname", o.hostname, "host `name` of this pod")
	return flags
}

// defaultOptions returns the options that the environment of the pod gives.
func defaultOptions() (agentOptions, error) {
	settings, err := state.SettingsFrom(os.LookupEnv)
	if err != nil {
		return agentOptions{}, err
	}
	hostname, err := os.Hostname()
	if err != nil {
		return agentOptions{}, fmt.Errorf("ask for the host name: %w", err)
	}
	return agentOptions{settings: settings, hostname: hostname}, nil
}

// parseFlags reads flags. When there is nothing more to do, because help was asked for or the flags are wrong, done is true.
func parseFlags(flags *flag.FlagSet, args []string) (code int, done bool) {
	flags.SetOutput(io.Discard)
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(os.Stdout)
		flags.Usage()
		return 0, true
	case err != nil:
		flags.SetOutput(os.Stderr)
		fmt.Fprintf(os.Stderr, "mpi-agent %s: %v\n\n", flags.Name(), err)
		flags.Usage()
		return codeUsage, true
	}
	return 0, false
}

func newLog() *log.Logger { return log.New(os.Stderr, mpi.AgentName+": ", log.Lmsgprefix) }

// failWith says an error and returns the exit code.
func failWith(err error) int {
	newLog().Print(err)
	return codeFailed
}
