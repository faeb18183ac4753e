// Package chartworker is the program runtime-compiler-charts, so that tests can run it as well: see its command.
package chartworker

import (
	"flag"
	"fmt"
	"io"

	"lockstep.dev/lockstep/internal/rlimit"
	"lockstep.dev/lockstep/internal/seccomp"
	"lockstep.dev/lockstep/pkg/compile/patch/chart"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
)

// RenderCharts renders the charts that arrive until the input ends, within limits that the process cannot leave any more.
func RenderCharts(args []string, in io.Reader, out, errs io.Writer) error {
	flags := flag.NewFlagSet("runtime-compiler-charts", flag.ContinueOnError)
	flags.SetOutput(errs)
	seconds := flags.Uint64("seconds", 30, "`seconds` of processor time")
	memory := flags.Uint64("memory", 1<<30, "`bytes` of memory")
	of := flags.String("of", chart.BuildID(), "`build` of the runtime-compiler that asks")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if own := chart.BuildID(); *of != own {
		return fmt.Errorf("this is %s, runtime-compiler is %s: install all programs of one release", own, *of)
	}
	if err := rlimit.SetLimits(*seconds, *memory); err != nil {
		return fmt.Errorf("limit the process: %w", err)
	}
	// Where the kernel has no such filters the limits remain, and that rendering opens nothing by itself.
	_ = seccomp.Confine()
	return chart.Serve(in, out, helm.Renderer{})
}
