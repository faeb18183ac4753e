package watch

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"testing/fstest"
	"time"
)

// A launch counts as unfinished while its launcher runs: not when it has ended and nobody looked, and not what it left.
func TestRunningLauncher(t *testing.T) {
	stat := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	const rest = " 1 0 0 0 0 0 0 0 0 0 0 0 0 0 20 0 1 0 0\n"
	for name, c := range map[string]struct{ process, want string }{
		"runs":    {"7 (mpirun) S" + rest, "mpirun -n 4 train --token=***"},
		"zombie":  {"7 (mpirun) Z" + rest, ""},
		"helper":  {"7 (prte) S" + rest, ""},
		"program": {"7 (tail) S" + rest, ""},
	} {
		r := NewRankWatcher(NewProcessTracker(func(int) bool { return true }), false)
		r.agent, r.root = 1, fstest.MapFS{"1/stat": stat("1 (mpi-agent) S 0" + rest), "7/stat": stat(c.process), "7/cmdline": stat("mpirun\x00-n\x004\x00train\x00--token=s3cret\x00")}
		if got := r.runningLauncher(); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A script may end its launch with its last line, which takes a moment.
func TestALaunchThatEndsSoonIsFinished(t *testing.T) {
	r, clock := NewRankWatcher(NewProcessTracker(func(int) bool { return true }), false), time.Now()
	r.now = func() time.Time { clock = clock.Add(time.Second); return clock }
	mpirun := filepath.Join(t.TempDir(), "mpirun")
	if err := exec.Command("cp", "/bin/sleep", mpirun).Run(); err != nil {
		t.Fatal(err)
	}
	launch := exec.Command(mpirun, "600")
	if err := launch.Start(); err != nil {
		t.Fatal(err)
	}
	if got, _ := r.WaitForLauncherExit(t.Context(), nil); got != mpirun+" 600" {
		t.Errorf("it runs on: %q", got)
	}
	_ = launch.Process.Kill()
	_ = launch.Wait() // it was killed
	if got, _ := r.WaitForLauncherExit(context.Background(), nil); got != "" {
		t.Errorf("it has ended: %q", got)
	}
}

// Who stops the pod meanwhile is to blame, and not the script.
func TestAPodThatIsStoppedMeanwhile(t *testing.T) {
	const rest = " 1 0 0 0 0 0 0 0 0 0 0 0 0 0 20 0 1 0 0\n"
	r := NewRankWatcher(NewProcessTracker(func(int) bool { return true }), false)
	r.agent, r.root = 1, fstest.MapFS{"7/stat": {Data: []byte("7 (mpirun) S" + rest)}}
	begun := time.Now()
	r.now = func() time.Time { return begun }
	signals := make(chan os.Signal, 1)
	signals <- syscall.SIGTERM
	if line, stopped := r.WaitForLauncherExit(t.Context(), signals); line != "mpirun" || stopped != syscall.SIGTERM {
		t.Errorf("%q, %v", line, stopped)
	}
}
