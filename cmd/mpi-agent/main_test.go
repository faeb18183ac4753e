package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// asAgent makes the test binary behave as the agent. All processes of a test inherit it.
const asAgent = "MPI_AGENT_TEST_AS_AGENT"

func TestMain(m *testing.M) {
	if os.Getenv(asAgent) != "" {
		if err := enterFIPS(); err != nil {
			os.Exit(failWith(err))
		}
		os.Exit(dispatch(os.Args, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// program returns a folder with the agent and its links, as `install` leaves it in a pod.
func program(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, target := range map[string]string{"mpi-agent": self, "rsh": "mpi-agent", "ssh": "mpi-agent"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestUsage(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"no command":       {[]string{"mpi-agent"}, 2, "", "Usage: mpi-agent COMMAND"},
		"help":             {[]string{"mpi-agent", "--help"}, 0, "Examples:", ""},
		"unknown command":  {[]string{"mpi-agent", "srve"}, 2, "", "unknown command `srve`"},
		"install, nothing": {[]string{"mpi-agent", "install"}, 2, "", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := dispatch(c.args, &stdout, &stderr); code != c.code {
				t.Errorf("got exit code %d", code)
			}
			if !strings.Contains(stdout.String(), c.stdout) || !strings.Contains(stderr.String(), c.stderr) {
				t.Errorf("got %q and %q", &stdout, &stderr)
			}
		})
	}
}

func TestHelpOfEveryCommandHasAnExample(t *testing.T) {
	t.Parallel()
	bin := filepath.Join(program(t), "mpi-agent")
	for _, name := range []string{"serve", "run", "gate", "rsh", "probe", "install"} {
		got := start(t, []string{asAgent + "=1"}, bin, name, "--help").wait()
		if got.code != 0 || !strings.Contains(got.stdout, "Example") || !strings.Contains(got.stdout, "mpi-agent "+name) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestInstallLeavesAnAgentThatRuns(t *testing.T) {
	t.Parallel()
	bin, dir := filepath.Join(program(t), "mpi-agent"), filepath.Join(t.TempDir(), "opt", "bin")
	for range 2 { // a second time over the first
		if got := start(t, []string{asAgent + "=1"}, bin, "install", dir).wait(); got.code != 0 {
			t.Fatal(got)
		}
	}
	for name, want := range map[string]string{"mpi-agent": "version", "rsh": "-V", "ssh": "-V"} {
		got := start(t, []string{asAgent + "=1"}, filepath.Join(dir, name), want).wait()
		if got.code != 0 || !strings.HasPrefix(got.stdout+got.stderr, "mpi-agent ") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("left %v, %v", entries, err)
	}
}
