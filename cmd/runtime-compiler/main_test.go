package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"lockstep.dev/lockstep/internal/chartworker"
	"lockstep.dev/lockstep/internal/sandbox"
)

func TestMain(m *testing.M) {
	besideTest()
	testscript.Main(m, map[string]func(){
		"runtime-compiler": func() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) },
		sandbox.ChartProgram: func() {
			if err := chartworker.RenderCharts(os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		},
	})
}

// besideTest puts the other program beside the test program, as it is beside runtime-compiler. Both are this program.
func besideTest() {
	self, err := os.Executable()
	program, where := sandbox.ChartProgramPath()
	if err = errors.Join(err, where); err == nil {
		err = os.Link(self, program)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		panic(err)
	}
}

// TestScript runs the real program: what it prints where, its exit code, and the files that it leaves. Scripts find the specs of
// this repository in $REPOSITORY.
func TestScript(t *testing.T) {
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true, Cmds: services,
		Setup: func(env *testscript.Env) error {
			env.Setenv("REPOSITORY", repository)
			for _, variable := range gitEnvironment {
				name, value, _ := strings.Cut(variable, "=")
				env.Setenv(name, value)
			}
			return nil
		},
	})
}
