package process

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func shell(ctx context.Context, line, stdin string) (Status, string, string, error) {
	var stdout, stderr bytes.Buffer
	status, err := reaper.Run(ctx, Shell, []string{Shell, "-c", line}, os.Environ(), Streams{
		Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr,
	})
	return status, stdout.String(), stderr.String(), err
}

func TestRunReportsHowACommandEnded(t *testing.T) {
	type end struct {
		Code   int
		Signal syscall.Signal
		Words  string
		Stdout string
		Stderr string
	}
	cases := map[string]struct {
		line string
		want end
	}{
		"success": {"echo out; echo err >&2", end{0, 0, "exited with code 0", "out\n", "err\n"}},
		"failure": {"exit 7", end{7, 0, "exited with code 7", "", ""}},
		"stdin":   {"tr a-z A-Z", end{0, 0, "exited with code 0", "INPUT", ""}},
		"SEGV":    {"kill -SEGV $$", end{139, syscall.SIGSEGV, "was killed by SIGSEGV", "", ""}},
		"KILL":    {"kill -KILL $$", end{137, syscall.SIGKILL, "was killed by SIGKILL", "", ""}},
		"unread":  {"exec 0<&-; sleep 0.01; echo done", end{0, 0, "exited with code 0", "done\n", ""}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			status, stdout, stderr, err := shell(t.Context(), c.line, "input")
			if err != nil {
				t.Fatal(err)
			}
			got := end{status.Code(), status.Signal(), status.String(), stdout, stderr}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRunDoesNotWaitForStdin(t *testing.T) {
	open, _ := io.Pipe() // nobody ever writes or closes
	status, err := reaper.Run(t.Context(), Shell, []string{Shell, "-c", "exit 3"}, nil, Streams{
		Stdin: open, Stdout: io.Discard, Stderr: io.Discard,
	})
	if err != nil || status.Code() != 3 {
		t.Errorf("got %v, %v", status, err)
	}
}

func TestRunCopiesMuchOutputBothWays(t *testing.T) {
	input := strings.Repeat("0123456789abcdef", 4<<20/16)
	status, stdout, _, err := shell(t.Context(), "cat", input)
	if err != nil || status.Code() != 0 || stdout != input {
		t.Errorf("sent %d bytes, got %d back; %v, %v", len(input), len(stdout), status, err)
	}
}

func TestRunUsesTheGivenEnvironment(t *testing.T) {
	var stdout bytes.Buffer
	_, err := reaper.Run(t.Context(), Shell, []string{Shell, "-c", "echo $HOSTNAME"}, []string{"HOSTNAME=pod-3"},
		Streams{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: io.Discard})
	if err != nil || stdout.String() != "pod-3\n" {
		t.Errorf("got %q, %v", &stdout, err)
	}
}

func TestRunSaysWhyACommandDidNotStart(t *testing.T) {
	_, err := reaper.Run(t.Context(), "/does/not/exist", []string{"none"}, nil, Streams{
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Started: func(int) { t.Error("it never ran") },
	})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// Whoever is told can wait for what the process does.
func TestRunTellsThatACommandHasStarted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	told := ""
	output, from := io.Pipe()
	_, err := reaper.Run(ctx, Shell, []string{Shell, "-c", "echo runs"}, nil, Streams{
		Stdin: strings.NewReader(""), Stdout: from, Stderr: io.Discard,
		Started: func(int) { told, _ = bufio.NewReader(output).ReadString('\n') },
	})
	if err != nil || told != "runs\n" {
		t.Errorf("%q, %v", told, err)
	}
}

// Who killed a process shows only at once: its launcher hears of it too, and lets go of it while a descendant holds the output.
func TestRunTellsWhetherACommandEndedByItself(t *testing.T) {
	cases := map[string]struct {
		script string
		cancel bool // while it runs
		asked  bool
		signal syscall.Signal
	}{
		"killed":  {"sleep 5 & kill -9 $$", false, false, syscall.SIGKILL},
		"let go":  {"echo runs; exec sleep 3600", true, true, syscall.SIGTERM},
		"by code": {"exit 0", false, false, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			calls := 0
			_, err := reaper.Run(ctx, Shell, []string{Shell, "-c", tc.script}, os.Environ(), Streams{
				Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard,
				Started: func(int) {
					if tc.cancel {
						cancel()
					}
				},
				Ended: func(status Status, asked bool) {
					calls++
					if asked != tc.asked || status.Signal() != tc.signal {
						t.Errorf("asked %t, %v", asked, status)
					}
					cancel()
				},
			})
			if err != nil || calls != 1 {
				t.Errorf("told %d times, %v", calls, err)
			}
		})
	}
}

func TestRunDeliversAllOutputAlthoughADescendantHoldsIt(t *testing.T) {
	// The grandchild would hold the output for an hour; it is in the same group, so that the test can end it.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	slow := &slowWriter{}
	status, err := reaper.Run(ctx, Shell,
		[]string{Shell, "-c", "sleep 3600 & echo $! >" + pidFile + "; head -c 60000 /dev/zero; exit 4"},
		os.Environ(), Streams{Stdin: strings.NewReader(""), Stdout: slow, Stderr: io.Discard})
	if err != nil || status.Code() != 4 || slow.n != 60000 {
		t.Errorf("got %v, %v, %d bytes", status, err, slow.n)
	}
	if err := syscall.Kill(readPID(t, pidFile), syscall.SIGKILL); err != nil {
		t.Errorf("the descendant was ended: %v", err)
	}
}

// slowWriter is a reader's end that takes longer than a descendant may hold the output.
type slowWriter struct{ n int }

func (w *slowWriter) Write(p []byte) (int, error) {
	if w.n == 0 {
		time.Sleep(heldOutput + 200*time.Millisecond)
	}
	w.n += len(p)
	return len(p), nil
}

func TestEndOfContextEndsTheWholeGroup(t *testing.T) {
	lines := map[string]string{
		"a group that obeys":           "sleep 3600 & echo $! >%; wait",
		"a group that ignores SIGTERM": `trap "" TERM; sh -c 'trap "" TERM; sleep 3600 & wait; sleep 3600' & echo $! >%; wait; sleep 3600`,
	}
	for name, line := range lines {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			pidFile := filepath.Join(t.TempDir(), "pid")
			ended := make(chan Status, 1)
			go func() {
				status, _, _, err := shell(ctx, strings.ReplaceAll(line, "%", pidFile), "")
				if err != nil {
					t.Error(err)
				}
				ended <- status
			}()
			child := readPID(t, pidFile)
			cancel()
			if status := <-ended; status.Signal() == 0 {
				t.Errorf("the command %s", status)
			}
			awaitGone(t, child)
		})
	}
}

func TestOrphansAreReaped(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	status, _, _, err := shell(t.Context(), "(sleep 0.05 & echo $! >"+pidFile+")", "")
	if err != nil || status.Code() != 0 {
		t.Fatal(status, err)
	}
	awaitGone(t, readPID(t, pidFile))
}

func TestManyShortCommandsEachGetTheirOwnStatus(t *testing.T) {
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			want := i % 50
			status, _, _, err := shell(context.Background(), "sh -c 'sleep 0.01 &'; exit "+strconv.Itoa(want), "")
			if err != nil || status.Code() != want {
				t.Errorf("got %v, %v, want code %d", status, err, want)
			}
		})
	}
	group.Wait()
}

// readPID waits until a file holds the number of a process.
func readPID(t *testing.T, path string) int {
	t.Helper()
	for {
		text, _ := os.ReadFile(path)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && strings.HasSuffix(string(text), "\n") {
			return pid
		}
		time.Sleep(time.Millisecond)
	}
}

// awaitGone waits until a process does not exist, not even as a zombie.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	for !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		time.Sleep(time.Millisecond)
	}
}

// What is told to end must end, or whoever waits for it waits forever.
func TestEndReachesAProcessThatLeftItsGroup(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	said, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	p, err := reaper.Start(Spec{
		Path: self, Argv: []string{self}, Files: []*os.File{nil, out, nil},
		Env: append(os.Environ(), joins+"="+strconv.Itoa(syscall.Getpgrp())),
	})
	out.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := said.Read(make([]byte, 16)); err != nil {
		t.Fatal("it could not join: ", err)
	}
	p.EndGroup(10 * time.Second)
	if signal := p.Status().Signal(); signal != syscall.SIGTERM {
		t.Errorf("got %v", p.Status())
	}
}
