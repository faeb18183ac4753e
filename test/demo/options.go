package main

import (
	"flag"
	"fmt"
	"os"
)

// options are what a user can choose. The environment is how `make demo` passes it on.
type options struct {
	// keep leaves the cluster up.
	keep bool
	// frameworks also runs a training with PyTorch, whose image takes minutes to make.
	frameworks bool
	// json is the path of a file for the table, empty for none.
	json string
	// machines is the number of nodes of a local cluster.
	machines int
}

const usage = `demo compiles the bundle, starts a local cluster, installs the platform and runs one TrainJob per MPI implementation
as a tenant's editor.

Usage:
  demo [flags]

Examples:
  make demo
  KEEP=1 make demo                    leave the cluster up
  FRAMEWORKS=1 make demo              train with PyTorch too; its image takes minutes the first time
  DEMO_JSON=table.json make demo      write the table as JSON too
  KUBECONFIG=~/.kube/config make demo use that cluster instead of a local one

Flags:
`

func parseOptions(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.Usage = func() {
		_, _ = fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	flags.BoolVar(&o.keep, "keep", os.Getenv("KEEP") == "1", "leave the cluster up at the end (KEEP=1)")
	flags.BoolVar(&o.frameworks, "frameworks", os.Getenv("FRAMEWORKS") == "1", "train with PyTorch too (FRAMEWORKS=1)")
	flags.StringVar(&o.json, "json", os.Getenv("DEMO_JSON"), "write the table as JSON to this `file` (DEMO_JSON)")
	flags.IntVar(&o.machines, "machines", 2, "`number` of nodes of the local cluster")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument `%s`: see --help", flags.Arg(0))
	}
	return o, nil
}
