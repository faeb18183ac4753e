package mpi

import (
	"slices"
	"testing"
)

// TestAskedCommand: what runs a command where its files are can be told from the command.
func TestAskedCommand(t *testing.T) {
	asked := []string{"sh", "run.sh"}
	for _, command := range [][]string{asked, WrapInFilesDir(asked)} {
		if got := UnwrapFilesDir(command); !slices.Equal(got, asked) {
			t.Errorf("%q: %q", command, got)
		}
	}
	if alone := WrapInFilesDir(nil); !slices.Equal(UnwrapFilesDir(alone), alone) {
		t.Error("no command is left")
	}
}
