package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"

	"github.com/spf13/cobra"

	"lockstep.dev/lockstep/internal/rlimit"
	"lockstep.dev/lockstep/internal/seccomp"
	"lockstep.dev/lockstep/pkg/compile/jsonnet"
)

// The limits of a process that evaluates Jsonnet. A real program takes milliseconds and some megabytes.
const (
	jsonnetSeconds = 10
	jsonnetMemory  = 512 << 20
	jsonnetStack   = 64 << 20
	// jsonnetTotal are the seconds of processor time of all processes of a run.
	jsonnetTotal = 30
)

// jsonnetWorker is the hidden command that such a process runs.
const jsonnetWorker = "jsonnet-worker"

// evaluator evaluates Jsonnet in processes of its own, because a program may try to exhaust memory or stack.
func evaluator() jsonnet.Apart {
	total := newBudget(jsonnetTotal, "Jsonnet")
	return jsonnet.Apart{
		Start: func() (jsonnet.Process, error) {
			self, err := os.Executable()
			if err != nil {
				return nil, err
			}
			return startJsonnet(self, os.Args[0], jsonnetSeconds, total)
		},
		Limits: limits{seconds: jsonnetSeconds, memory: jsonnetMemory}.String(),
	}
}

// startJsonnet starts this program once more, under the name that it was started with.
func startJsonnet(self, name string, seconds uint64, total *budget) (jsonnet.Process, error) {
	args := []string{name, jsonnetWorker, "--seconds", strconv.FormatUint(seconds, 10)}
	w, err := startWorker(self, args, limits{seconds: seconds, memory: jsonnetMemory}, total)
	if err != nil {
		return nil, err
	}
	return w, nil
}

func newJsonnetWorker() *cobra.Command {
	var seconds uint64
	cmd := &cobra.Command{
		Use:    jsonnetWorker,
		Short:  "Evaluate Jsonnet for another runtime-compiler",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			debug.SetMaxStack(jsonnetStack)
			if err := rlimit.Set(seconds, jsonnetMemory); err != nil {
				return failure{fmt.Errorf("limit the process: %w", err)}
			}
			// Where the kernel has no such filters the limits remain, and that evaluators open nothing by themselves.
			_ = seccomp.Confine()
			if err := jsonnet.Serve(cmd.InOrStdin(), cmd.OutOrStdout()); err != nil {
				return failure{err}
			}
			return nil
		},
	}
	cmd.Flags().Uint64Var(&seconds, "seconds", jsonnetSeconds, "processor time")
	return cmd
}
