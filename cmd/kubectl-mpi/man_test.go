package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestManual: every command has a page with its flags and examples.
func TestManual(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	folder := filepath.Join(t.TempDir(), "man1")
	if got := runWith(t, nil, interceptor.Funcs{}, "man", folder); got.code != 0 {
		t.Fatal(got.errOut)
	}
	eachCommand(newRoot(newKube(genericiooptions.IOStreams{})), func(cmd *cobra.Command) {
		text, err := os.ReadFile(filepath.Join(folder, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"))
		if err != nil {
			t.Error(err)
			return
		}
		for _, want := range []string{".SH EXAMPLE", "Nov 2023"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("the page of `%s` has no %s", cmd.CommandPath(), want)
			}
		}
	})
}

// TestExamples: every command says in a line what it does, and has an example that calls it.
func TestExamples(t *testing.T) {
	eachCommand(newRoot(newKube(genericiooptions.IOStreams{})), func(cmd *cobra.Command) {
		if cmd.Short == "" || !strings.Contains(cmd.Example, cmd.CommandPath()) {
			t.Errorf("`%s`: %q, %q", cmd.CommandPath(), cmd.Short, cmd.Example)
		}
	})
}

func eachCommand(cmd *cobra.Command, do func(*cobra.Command)) {
	do(cmd)
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() {
			eachCommand(child, do)
		}
	}
}
