// Command guest boots a machine of its own and shows there what this machine cannot: a kernel, the init and the control groups
// (version 2) of a current Debian. Its kernel is a program of this machine (user-mode-linux), or the usual one under a processor that QEMU
// emulates; no hardware has to help.
//
// Duty: make the disk of the machine once, boot it, hand it a script and the folders that the script needs, pass on what it says,
// and decide from its last words whether it passed.
//
// Flow: packages → disk in the cache (disk.go) → command line (user_mode.go, qemu_arguments.go) → what the guest says (words.go) → verdict.
//
// Invariants: the guest mounts folders of this machine for reading; what it writes goes to a copy of its disk that is gone with the
// machine. A kernel in user mode is no boundary: it runs as root of this machine, and a script in inside/ could mount all of it. The machine ends when this program does, however that ends. It must not know what a cluster or a job is: only the scripts in
// inside/ do.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are what a user can choose.
type options struct {
	// task is the name of the script.
	task string
	// suite is the release of Debian.
	suite string
	// slow is how many times slower than a real machine the guest is taken to be.
	slow int
	// limit is how long the guest may run.
	limit time.Duration
	// compiled brings what Go has downloaded and compiled here into a machine that would have to do both itself.
	compiled bool
	// emulate boots the kernel of real machines, on an emulated processor.
	emulate bool
	// memory is in MiB. A kernel in user mode has one processor.
	processors, memory int
}

const usage = `guest boots a machine with a kernel of Debian, systemd and cgroup v2, without help of the hardware, and runs a script in
it. It needs root, and a Debian machine with apt.

Usage:
  guest [flags] [TASK]

Tasks:
  proof   the demo, the tests of the cluster and those of jobs that depend on the machine, with the programs built here (default)
  fresh   the way of a newcomer: a machine with Go, git, make and apt clones the checkout and runs make demo; this takes hours,
          less where -compiled brings in what Go has compiled here
  look    say what machine it is

Flags:
`

func main() {
	if err := run(); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "guest:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parseOptions(os.Args[1:])
	if err != nil {
		return err
	}
	return boot(ctx, o, os.Stdout)
}

func parseOptions(args []string) (options, error) {
	o := options{task: "proof"}
	flags := flag.NewFlagSet("guest", flag.ContinueOnError)
	flags.Usage = func() {
		_, _ = fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	flags.StringVar(&o.suite, "suite", "bookworm", "`release` of Debian")
	flags.BoolVar(&o.compiled, "compiled", false, "what Go has downloaded and compiled here is there on a fresh machine too")
	flags.BoolVar(&o.emulate, "emulate", false, "run the kernel of real machines on an emulated processor (QEMU), instead of Debian's kernel that is a program (user-mode-linux): many times slower, with more processors and all control groups")
	flags.IntVar(&o.slow, "slow", 30, "waits are so many `times` longer than on a real machine (LOCKSTEP_SLOW)")
	flags.DurationVar(&o.limit, "limit", 2*time.Hour, "`time` after which the guest is ended")
	flags.IntVar(&o.processors, "processors", 0, "`number` of processors of an emulated guest (2 unless said)")
	flags.IntVar(&o.memory, "memory", 8192, "memory of the guest in `MiB`")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 1 {
		return options{}, fmt.Errorf("unexpected argument `%s`: see --help", flags.Arg(1))
	}
	if flags.NArg() == 1 {
		o.task = flags.Arg(0)
	}
	if o.processors != 0 && !o.emulate {
		return options{}, errors.New("a guest whose kernel is a program has one processor: leave out -processors, or add -emulate")
	}
	o.processors = cmp.Or(o.processors, 2)
	if _, known := tasks[o.task]; !known {
		return options{}, fmt.Errorf("unknown task `%s`: see --help", o.task)
	}
	return o, nil
}
