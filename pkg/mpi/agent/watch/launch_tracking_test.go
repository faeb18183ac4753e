package watch

import (
	"io/fs"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// Whether a daemon died under its launch is known by when its launcher ended.
func TestTheEndOfALauncherIsSeen(t *testing.T) {
	r := NewRankWatcher(NewProcessTracker(func(int) bool { return true }), false)
	r.startersOnly = true
	mpirun := exec.Command(fakeProgram(t, t.TempDir(), "mpirun"), "-c", "read x; exit 0", "--with-ft", "ulfm")
	input, err := mpirun.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := mpirun.Start(); err != nil {
		t.Fatal(err)
	}
	r.inspectProcesses()
	seen := newest(r)
	if r.newestPID != mpirun.Process.Pid || seen.Program != "mpirun" || !strings.HasSuffix(seen.Line, "--with-ft ulfm") || !seen.Ended.IsZero() {
		t.Errorf("%+v", seen)
	}
	let := time.Now()
	_ = input.Close()
	_ = mpirun.Wait() // `read` found no line
	for deadline := time.Now().Add(10 * time.Second); newest(r).Ended.IsZero() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if got := newest(r); got.Ended.Before(let) {
		t.Errorf("%+v", got)
	}
}

// counted counts how often its files are opened.
type counted struct {
	fs.FS
	opened map[string]int
}

func (c counted) Open(name string) (fs.File, error) {
	c.opened[name]++
	return c.FS.Open(name)
}

// What the container itself says never changes, and looks are many.
func TestALookReadsNothingTwice(t *testing.T) {
	const rest = " 1 0 0 0 0 0 0 0 0 0 0 0 0 0 20 0 1 0 0\n"
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	root := counted{fstest.MapFS{
		"self/environ": file("RANK=0\x00"), "7/stat": file("7 (python) S" + rest), "7/environ": file("RANK=0\x00A_SIZE=1\x00"),
		"8/stat": file("8 (python) S" + rest), "8/environ": file("RANK=1\x00"),
	}, map[string]int{}}
	r := NewRankWatcher(NewProcessTracker(func(int) bool { return true }), false)
	r.agent, r.root, r.container = 1, root, []string{"RANK=0"}
	r.inspectProcesses()
	if root.opened["self/environ"] != 0 || root.opened["7/environ"] != 1 || !r.seen[1] || len(r.seen) != 1 {
		t.Errorf("opened %v, saw %v", root.opened, r.seen)
	}
}
