package main

import (
	"bufio"
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/internal/cli"
	"lockstep.dev/lockstep/internal/cli/compiling"
	"lockstep.dev/lockstep/pkg/compile/incremental"
)

// waitLimit bounds all waiting of a watch for what never comes.
const waitLimit = 5 * time.Minute

// watching is a running `watch`.
type watching struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
	seen  bytes.Buffer
}

// startWatch starts this test program under the name of the compiler, which makes it the compiler.
func startWatch(t *testing.T, root, out string) *watching {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	t.Cleanup(cancel)
	w := &watching{t: t, cmd: exec.CommandContext(ctx, os.Args[0], "watch", "--root", root, "--out", out)}
	w.cmd.Args[0] = "runtime-compiler"
	w.cmd.Cancel = func() error { return w.cmd.Process.Signal(syscall.SIGQUIT) } // it then says what it waits for
	w.cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir())
	output, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.cmd.Stderr = w.cmd.Stdout
	w.lines = bufio.NewScanner(output)
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return w
}

// until reads lines until one has a text.
func (w *watching) until(text string) {
	w.t.Helper()
	for w.lines.Scan() {
		w.seen.WriteString(w.lines.Text() + "\n")
		if strings.Contains(w.lines.Text(), text) {
			return
		}
	}
	w.t.Fatalf("it ended, or took longer than %v, before it said %q:\n%s", waitLimit, text, w.seen.String())
}

// ends sends Ctrl-C and waits.
func (w *watching) ends() {
	w.t.Helper()
	if err := w.cmd.Process.Signal(syscall.SIGINT); err != nil {
		w.t.Fatal(err)
	}
	for w.lines.Scan() { // until its end
		w.seen.WriteString(w.lines.Text() + "\n")
	}
	if err := w.cmd.Wait(); err != nil {
		w.t.Errorf("Ctrl-C ends it with %v\n%s", err, w.seen.String())
	}
}

// TestWatch saves specs as people and editors do. After each save the tree is what a build makes of the specs.
func TestWatch(t *testing.T) {
	root, out := checkout(t), filepath.Join(t.TempDir(), "dist")
	spec := func(name string) string { return filepath.Join(root, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	w := startWatch(t, root, out)
	w.until("watching; Ctrl-C ends it")
	climate := spec("tenants/climate.yaml")
	steps := []struct {
		name   string
		change func()
		// until are lines that it says, one after the other.
		until []string
		wrong bool
	}{
		{"a tenant", func() { edit(t, climate, "jobs: 50", "jobs: 51") }, []string{"tenants/climate.yaml: files: 1 written, 0 removed", "+ onprem/tenants/climate/boundary/tenant.yaml"}, false},
		{"an editor's save by rename", func() {
			data, err := os.ReadFile(climate)
			must(err)
			must(os.WriteFile(spec("tenants/.climate.yaml.swp"), bytes.Replace(data, []byte("jobs: 51"), []byte("jobs: 52"), 1), 0o600))
			must(os.Rename(spec("tenants/.climate.yaml.swp"), climate))
		}, []string{"+ onprem/tenants/climate/boundary/tenant.yaml"}, false},
		{"a syntax error", func() { edit(t, climate, "  quota:", "  quota: [") }, []string{"error[LS1"}, true},
		{"mended, with another change", func() { edit(t, climate, "  quota: [", "  quota:"); edit(t, climate, "jobs: 52", "jobs: 53") }, []string{"+ onprem/tenants/climate/boundary/tenant.yaml"}, false},
		{"a removed output comes back", func() { must(os.RemoveAll(filepath.Join(out, "local/tenants/team-nlp"))) },
			[]string{"files of the output folder: ", "+ local/tenants/team-nlp/tenant.yaml"}, false},
		{"all of it, with a change", func() { must(os.Rename(out, out+".away")); edit(t, climate, "jobs: 53", "jobs: 54") },
			[]string{"+ local/kustomization.yaml", "  and "}, false},
		{"a new tenant", func() {
			data, err := os.ReadFile(spec("tenants/team-nlp.yaml"))
			must(err)
			must(os.WriteFile(spec("tenants/new.yaml"), bytes.ReplaceAll(data, []byte("nlp"), []byte("new")), 0o600))
		}, []string{"+ local/tenants/team-new/tenant.yaml"}, false},
		{"a renamed file", func() { must(os.Rename(spec("tenants/new.yaml"), spec("tenants/newer.yaml"))) }, []string{": files: 0 written"}, false},
		{"a tenant that is gone", func() { must(os.Remove(spec("tenants/newer.yaml"))) }, []string{"- local/tenants/team-new/tenant.yaml"}, false},
		{"a folder of tenants", func() {
			must(os.Mkdir(spec("tenants/more"), 0o700))
			data, err := os.ReadFile(spec("tenants/team-nlp.yaml"))
			must(err)
			must(os.WriteFile(spec("tenants/more/new.yaml"), bytes.ReplaceAll(data, []byte("nlp"), []byte("new")), 0o600))
		}, []string{"+ local/tenants/team-new/tenant.yaml"}, false},
		{"a file in that folder", func() { edit(t, spec("tenants/more/new.yaml"), "jobs: ", "jobs: 1") }, []string{"+ local/tenants/team-new/tenant.yaml"}, false},
		{"a runtime", func() {
			edit(t, spec("catalog/runtimes/openmpi5-cpu.yaml"), "  description: ", "  description: New. ")
		}, []string{"catalog/runtimes/openmpi5-cpu.yaml: "}, false},
		{"a chart", func() {
			must(os.WriteFile(spec("charts/mpi-controller/templates/more.yaml"), []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"), 0o600))
		}, []string{"charts/mpi-controller/templates"}, false},
	}
	for _, step := range steps {
		step.change()
		for _, line := range step.until {
			w.until(line)
		}
		if step.wrong {
			continue
		}
		fresh := filepath.Join(t.TempDir(), "dist")
		if code, findings := building(t, t.TempDir(), root, fresh); code != cli.ExitFine {
			t.Fatalf("%s: %s", step.name, findings)
		}
		if diff := cmp.Diff(contents(t, fresh), contents(t, out)); diff != "" {
			t.Fatalf("%s (-build +watch):\n%s\n%s", step.name, diff, w.seen.String())
		}
	}
	w.ends()
}

// TestWatchWithout: a repository that is wrong or empty at first is watched too.
func TestWatchWithout(t *testing.T) {
	root, out := t.TempDir(), filepath.Join(t.TempDir(), "dist")
	w := startWatch(t, root, out)
	w.until("there is no Cluster spec")
	w.until("watching; Ctrl-C ends it")
	for _, folder := range []string{"charts", "catalog", "tenants", "overlays"} {
		if err := os.CopyFS(filepath.Join(root, folder), os.DirFS(filepath.Join("../..", folder))); err != nil {
			t.Fatal(err)
		}
	}
	w.until("+ local/kustomization.yaml")
	w.ends()
}

// TestWatchNoticesSameTick: a file that comes into a folder right after the folder was read, and before it is followed, is noticed, although on
// most file systems the folder's times are the same.
func TestWatchNoticesSameTick(t *testing.T) {
	w := watcherOf(t)
	w.began = time.Now().UnixNano()
	recorder := incremental.NewRecorder(w.builder.root.FS())
	if _, err := fs.ReadDir(recorder, "."); err != nil {
		t.Fatal(err)
	}
	if err := w.builder.root.WriteFile("cluster.yaml", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.inputs, _ = recorder.Inputs()
	w.inputs[0].Stamp, _ = w.builder.cache.Stamp(".") // the change that the stamp does not show
	time.Sleep(100 * time.Millisecond)                // as a build takes
	if !w.changedMeanwhile() {
		t.Error("the file is not noticed")
	}
}

func watcherOf(t *testing.T) *buildWatcher {
	t.Helper()
	root, err := (&compiling.Input{Root: t.TempDir()}).OpenRoot()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return &buildWatcher{builder: &outputBuilder{root: root, cache: buildCache{root: root.Name(), files: root}}}
}
