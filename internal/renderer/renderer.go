// Package renderer is the program runtime-compiler-charts, so that tests can run it as well: see its command.
package renderer

import (
	"flag"
	"fmt"
	"io"
	"runtime/debug"

	"lockstep.dev/lockstep/internal/rlimit"
	"lockstep.dev/lockstep/pkg/compile/patch/chart"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
)

// Run renders the charts that arrive until the input ends, within limits that the process cannot leave any more.
func Run(args []string, in io.Reader, out, errs io.Writer) error {
	flags := flag.NewFlagSet("runtime-compiler-charts", flag.ContinueOnError)
	flags.SetOutput(errs)
	seconds := flags.Uint64("seconds", 60, "`seconds` of processor time")
	memory := flags.Uint64("memory", 1<<30, "`bytes` of memory")
	of := flags.String("of", version(), "`version` of the runtime-compiler that asks")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *of != version() {
		return fmt.Errorf("this is version %s, runtime-compiler is %s: install both programs of one release", version(), *of)
	}
	if err := rlimit.Set(*seconds, *memory); err != nil {
		return fmt.Errorf("limit the process: %w", err)
	}
	return chart.Serve(in, out, helm.Renderer{})
}

// version returns what the Go toolchain recorded: the module's version, or the revision of a local build.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}
