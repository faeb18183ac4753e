package compiling

import (
	"errors"
	"testing"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/pkg/compile/schema"
)

// TestRequireSchemas: a build without schemas warns a developer, and fails in a pipeline. Which of both this build is, `make schemas` decides.
func TestRequireSchemas(t *testing.T) {
	for value, pipeline := range map[string]bool{"": false, "false": false, "0": false, "true": true, "1": true, "woodpecker": true} {
		t.Setenv(pipelineVariable, value)
		err := (&Input{}).Validate()
		if refused := errors.Is(err, errNoSchemas); refused != (pipeline && !schema.Available()) {
			t.Errorf("CI=%q with schemas %t: %v", value, schema.Available(), err)
		}
		var ended cli.ExitError
		if err != nil && (!errors.As(err, &ended) || ended.Code != cli.ExitFailure) {
			t.Errorf("it is not a mistake on the command line: %v", err)
		}
	}
}
