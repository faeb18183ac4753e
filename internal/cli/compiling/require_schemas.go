package compiling

import (
	"errors"
	"os"
	"slices"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/compile/schema"
)

// pipelineVariable is set by the runners of GitHub, GitLab and most others.
const pipelineVariable = "CI"

// errNoSchemas is what a developer gets as a warning (LS7063).
var errNoSchemas = errors.New("this build of runtime-compiler has no schemas of Kubernetes, and in a pipeline ($" + pipelineVariable + " is set) it must not prove less than a release: " +
	"install a release (docs/install.md), or run `make schemas` before you build it")

// requireSchemas refuses to compile without schemas in a pipeline: nobody reads the warnings of one that is green.
func requireSchemas() error {
	if !schema.Available() && inPipeline(os.Getenv(pipelineVariable)) {
		return cli.Failure(errNoSchemas)
	}
	return nil
}

// inPipeline reports whether a value of the variable means a pipeline.
func inPipeline(value string) bool { return !slices.Contains([]string{"", "false", "0"}, value) }
