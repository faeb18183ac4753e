package process

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestParseStat(t *testing.T) {
	type want struct {
		State string
		Start uint64
		Err   bool
	}
	cases := map[string]struct {
		reason string
		stat   string
		want   want
	}{
		"plain": {
			reason: "the 22nd field is the start time",
			stat:   "7 (sh) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 0 0",
			want:   want{State: "S", Start: 4711},
		},
		"brackets in the name": {
			reason: "a command may call itself anything",
			stat:   "7 (a) Z (b) R 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12 0 0",
			want:   want{State: "R", Start: 12},
		},
		"cut off": {reason: "never guess", stat: "7 (sh) S 1", want: want{Err: true}},
		"empty":   {reason: "never guess", stat: "", want: want{Err: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			state, start, err := parseStat(tc.stat)
			got := want{State: state, Start: start, Err: err != nil}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("7 (sh) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 0 0")
	f.Fuzz(func(_ *testing.T, stat string) { _, _, _ = parseStat(stat) })
}

// A number that belongs to another process by now must be left alone.
func TestSignalSparesStrangers(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	id, err := Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	stranger := Identity{PID: id.PID, Start: id.Start - 1}
	if err := stranger.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if !id.Alive() {
		t.Fatal("a process with another start time was killed")
	}
	go func() { _ = cmd.Wait() }()
	if err := id.End(t.Context(), 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if id.Alive() {
		t.Fatal("the process itself was not ended")
	}
}

func TestOfSelfIsAlive(t *testing.T) {
	id, err := Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !id.Alive() {
		t.Fatal("this process does not count as alive")
	}
}
