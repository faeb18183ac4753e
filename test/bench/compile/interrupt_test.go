package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/test/bench/workload"
)

// killsVariable is the number of builds that are killed. Without it the tests of this file are skipped: they take minutes.
const killsVariable = "LOCKSTEP_KILLS"

// compilerVariable names the program to test; missing means that of this checkout, which is then built.
const compilerVariable = "LOCKSTEP_COMPILER"

func kills(t *testing.T) int {
	t.Helper()
	value := os.Getenv(killsVariable)
	if value == "" {
		t.Skipf("SKIPPED: set %s to the number of builds to kill, for example 200", killsVariable)
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func compilerUnderTest(t *testing.T) string {
	t.Helper()
	if named := os.Getenv(compilerVariable); named != "" {
		return named
	}
	built := filepath.Join(t.TempDir(), "runtime-compiler")
	cmd := exec.Command("go", "build", "-o", built, "../../../cmd/runtime-compiler")
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return built
}

// specs generates a workload without its first tenants; jobs replaces the quota for jobs of all, if not 0.
func specs(t *testing.T, tenants, without, jobsQuota int) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "specs")
	w, err := workload.Generate(root, workload.Options{Tenants: tenants, Clusters: 3, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range w.TenantFiles {
		name := filepath.Join(root, file)
		if i < without {
			err = os.Remove(name)
		} else if jobsQuota > 0 {
			err = workload.ChangeTenant(root, file, jobsQuota)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// building returns a build that was not started yet.
func building(compiler, root, out string) *exec.Cmd {
	return exec.Command(compiler, "build", "--root", root, "--out", out)
}

func mustBuild(t *testing.T, compiler, root, out string) {
	t.Helper()
	if output, err := building(compiler, root, out).CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, output)
	}
}

// tree is the digests of the files below a folder by path.
type tree map[string][sha256.Size]byte

// bookkeeping reports whether a path is the compiler's own memory and not an output.
func bookkeeping(name string) bool { return strings.HasPrefix(name, ".lockstep") }

func readTree(t *testing.T, folder string) tree {
	t.Helper()
	// The folder itself may be a link that is switched from tree to tree.
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		t.Fatal(err)
	}
	files := tree{}
	err = filepath.WalkDir(real, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		relative, _ := filepath.Rel(real, name)
		files[relative] = sha256.Sum256(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func (f tree) outputs() tree {
	outputs := maps.Clone(f)
	maps.DeleteFunc(outputs, func(name string, _ [sha256.Size]byte) bool { return bookkeeping(name) })
	return outputs
}

// What a tree can be after a build was interrupted.
const (
	isOld   = "old"
	isNew   = "new"
	isMixed = "mixed: some files old, some new"
	isTorn  = "torn: a file that is neither old nor new"
)

// verdict compares the outputs of a tree with those before and after a build, and describes the difference.
func verdict(got, before, after tree) (kind, detail string) {
	got, before, after = got.outputs(), before.outputs(), after.outputs()
	switch {
	case maps.Equal(got, before):
		return isOld, ""
	case maps.Equal(got, after):
		return isNew, ""
	}
	changed := 0
	for name, digest := range got {
		was, wasThere := before[name]
		will, willBe := after[name]
		if (!wasThere || digest != was) && (!willBe || digest != will) {
			return isTorn, name
		}
		if willBe && digest == will && (!wasThere || was != will) {
			changed++
		}
	}
	return isMixed, fmt.Sprintf("%d files are new already, %d of the old tree are there", changed, len(got)-changed)
}

func TestVerdict(t *testing.T) {
	digest := func(content string) [sha256.Size]byte { return sha256.Sum256([]byte(content)) }
	before := tree{"a": digest("1"), "b": digest("1"), ".lockstep-owned": digest("x")}
	after := tree{"a": digest("2"), "c": digest("1")}
	cases := map[string]struct {
		reason string
		got    tree
		want   string
	}{
		"Old":     {"the compiler's memory does not count", tree{"a": digest("1"), "b": digest("1")}, isOld},
		"New":     {"a temporary file does not count", tree{"a": digest("2"), "c": digest("1"), ".lockstep-tmp": digest("y")}, isNew},
		"Mixed":   {"one file was replaced, the other not yet", tree{"a": digest("2"), "b": digest("1")}, isMixed},
		"Missing": {"an old file is gone and nothing came", tree{"a": digest("1")}, isMixed},
		"Torn":    {"half a file", tree{"a": digest("half"), "b": digest("1")}, isTorn},
		"Foreign": {"a file of neither", tree{"a": digest("1"), "b": digest("1"), "d": digest("1")}, isTorn},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got, detail := verdict(tc.got, before, after); got != tc.want {
				t.Errorf("%s: %s (%s), want %s", tc.reason, got, detail, tc.want)
			}
		})
	}
}

// fixture is an output folder with a tree of old specs, and what new specs make of it.
type fixture struct {
	compiler, newRoot, present string
	before, after              tree
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{compiler: compilerUnderTest(t), newRoot: specs(t, 64, 4, 77), present: filepath.Join(t.TempDir(), "dist")}
	mustBuild(t, f.compiler, specs(t, 60, 0, 0), f.present)
	f.before = readTree(t, f.present)
	finished := f.copyPresent(t)
	mustBuild(t, f.compiler, f.newRoot, finished)
	f.after = readTree(t, finished)
	return f
}

// copyPresent returns a copy of the old tree, times included, in a folder of its own.
func (f *fixture) copyPresent(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if output, err := exec.Command("cp", "-a", f.present, folder).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return filepath.Join(folder, filepath.Base(f.present))
}

// started is a build that runs.
type started struct {
	cmd   *exec.Cmd
	out   string
	stamp time.Time
	start time.Time
	// done is closed when the build has ended, with err.
	done chan struct{}
	err  error
}

func (f *fixture) start(t *testing.T, out string) *started {
	t.Helper()
	s := &started{cmd: building(f.compiler, f.newRoot, out), out: out, stamp: modified(out), start: time.Now(), done: make(chan struct{})}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		s.err = s.cmd.Wait()
		close(s.done)
	}()
	return s
}

// untilWriting waits until the build changes its folder, or has ended, and returns how long that took.
func (s *started) untilWriting() time.Duration {
	for modified(s.out).Equal(s.stamp) {
		select {
		case <-s.done:
			return time.Since(s.start)
		case <-time.After(100 * time.Microsecond):
		}
	}
	return time.Since(s.start)
}

// modified returns when a folder itself was changed: a file came into it or went.
func modified(folder string) time.Time {
	info, err := os.Lstat(folder)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// rhythm measures when a build begins to change its folder and when it ends.
func (f *fixture) rhythm(t *testing.T) (writes, ends time.Duration) {
	t.Helper()
	build := f.start(t, f.copyPresent(t))
	writes = build.untilWriting()
	if <-build.done; build.err != nil {
		t.Fatal(build.err)
	}
	return writes, time.Since(build.start)
}

// TestKilled: whenever a build is killed, the tree is the old one or the new one, or each file of a mixture is one of the
// old or the new one and the folder that shows the interruption is there. The next build makes the new tree.
func TestKilled(t *testing.T) {
	n := kills(t)
	f := newFixture(t)
	writes, ends := f.rhythm(t)
	t.Logf("%d files before, %d after; a build begins to write after %v and ends after %v", len(f.before), len(f.after), writes, ends)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // moments, no secrets
	found := map[string]int{}
	for i := range n {
		// Every other moment lies where the folder changes, which is a small part of the whole.
		writing, length := i%2 == 1, ends
		if writing {
			length = ends - writes
		}
		moment := time.Duration(random.Int64N(int64(length) + 1))
		t.Run(fmt.Sprint(i), func(t *testing.T) { found[f.killAt(t, moment, writing)]++ })
	}
	for _, kind := range slices.Sorted(maps.Keys(found)) {
		t.Logf("%d × %s", found[kind], kind)
	}
}

// killAt kills a build some time after its start, or after it began to write, and returns what was left.
func (f *fixture) killAt(t *testing.T, moment time.Duration, writing bool) string {
	out := f.copyPresent(t)
	build := f.start(t, out)
	if writing {
		build.untilWriting()
	}
	time.Sleep(moment)
	_ = build.cmd.Process.Kill() // SIGKILL; it may have ended
	<-build.done
	got := readTree(t, out)
	kind, detail := verdict(got, f.before, f.after)
	_, waiting := os.Lstat(filepath.Join(out, ".lockstep-next"))
	if kind == isTorn || kind == isMixed && waiting != nil {
		t.Errorf("killed %v after %s: %s (%s), waiting files: %v", moment,
			map[bool]string{true: "the first write", false: "the start"}[writing], kind, detail, waiting)
	}
	mustBuild(t, f.compiler, f.newRoot, out)
	if diff := cmp.Diff(f.after, readTree(t, out)); diff != "" {
		t.Errorf("killed after %v, the next build does not repair the tree (-want +got):\n%s", moment, diff)
	}
	if entries, err := os.ReadDir(filepath.Dir(out)); err != nil || len(entries) != 1 {
		t.Errorf("killed after %v, beside the repaired tree is something else: %v, %v", moment, entries, err)
	}
	return kind
}

// small mounts a file system of the given size in memory. Only root can.
func small(t *testing.T, size string) string {
	t.Helper()
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("SKIPPED: this needs a small file system, and none can be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Error(err)
		}
	})
	return folder
}

func remount(t *testing.T, folder string, flags uintptr, options string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", syscall.MS_REMOUNT|flags, options); err != nil {
		t.Fatal(err)
	}
}

// failing builds and expects one clear line: exit code 1, the reason, and the folder that it is about.
func failing(t *testing.T, compiler, root, out, reason string) {
	t.Helper()
	cmd := building(compiler, root, out)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("the build ends with %v, want exit code 1\n%s", err, stderr.String())
	}
	message := strings.TrimSpace(stderr.String())
	t.Logf("it says: %s", message)
	if !strings.HasPrefix(message, "error: ") || strings.Contains(message, "\n") {
		t.Errorf("the error is not one line")
	}
	for what, want := range map[string]string{"the reason": reason, "the output folder": out} {
		if !strings.Contains(message, want) {
			t.Errorf("the error does not say %s, %q", what, want)
		}
	}
}

// TestDiskFull: a full disk is a clear error that leaves the old tree; with room again the next build works.
func TestDiskFull(t *testing.T) {
	kills(t)
	compiler := compilerUnderTest(t)
	oldRoot, newRoot := specs(t, 5, 0, 0), specs(t, 60, 0, 77)
	folder := small(t, "2m")
	out := filepath.Join(folder, "dist")
	mustBuild(t, compiler, oldRoot, out)
	before := readTree(t, out)
	failing(t, compiler, newRoot, out, "no space left on device")
	if diff := cmp.Diff(before, readTree(t, out)); diff != "" {
		t.Errorf("the disk was full (-want +got):\n%s", diff)
	}
	wanted := filepath.Join(t.TempDir(), "dist")
	mustBuild(t, compiler, newRoot, wanted)
	after := readTree(t, wanted)
	remount(t, folder, 0, "size=64m")
	mustBuild(t, compiler, newRoot, out)
	if diff := cmp.Diff(after, readTree(t, out)); diff != "" {
		t.Errorf("with room again (-want +got):\n%s", diff)
	}
}

// TestReadOnly: a read-only output is a clear error, and changes nothing.
func TestReadOnly(t *testing.T) {
	kills(t)
	compiler := compilerUnderTest(t)
	oldRoot, newRoot := specs(t, 5, 0, 0), specs(t, 6, 0, 77)
	folder := small(t, "8m")
	out := filepath.Join(folder, "dist")
	mustBuild(t, compiler, oldRoot, out)
	before := readTree(t, out)
	remount(t, folder, syscall.MS_RDONLY, "")
	for name, target := range map[string]string{"Existing": out, "New": filepath.Join(folder, "other")} {
		t.Run(name, func(t *testing.T) { failing(t, compiler, newRoot, target, "read-only file system") })
	}
	if diff := cmp.Diff(before, readTree(t, out)); diff != "" {
		t.Errorf("the tree has changed (-want +got):\n%s", diff)
	}
}
