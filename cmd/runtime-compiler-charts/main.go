// Command runtime-compiler-charts renders Helm charts for runtime-compiler, which starts it where a repository has components. It is no
// program for people: it reads charts on its standard input and writes what they render to (package chart).
//
// It limits itself before it reads anything, and refuses to work for a runtime-compiler of another version, whose output would depend on
// which of the two was installed last.
package main

import (
	"fmt"
	"os"

	"lockstep.dev/lockstep/internal/chartworker"
)

func main() {
	if err := chartworker.RenderCharts(os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "runtime-compiler-charts: %v\n", err)
		os.Exit(1)
	}
}
