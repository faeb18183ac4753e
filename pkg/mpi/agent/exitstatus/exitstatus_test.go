package exitstatus

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// grandchild starts a shell that starts the command line, prints its number, and collects it the moment it ends. The
// returned function lets the command line go on.
func grandchild(t *testing.T, line string) (pid int, release func()) {
	t.Helper()
	command := exec.Command("sh", "-c", `sh -c "read go; $0" <&3 & echo $!; wait $!; exit 0`, line)
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	command.ExtraFiles = []*os.File{read}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	read.Close()
	t.Cleanup(func() { write.Close(); _ = command.Wait() })
	buffer := make([]byte, 20)
	n, err := output.Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(buffer[:n])))
	if err != nil {
		t.Fatal(err)
	}
	return pid, func() { _, _ = write.WriteString("go\n") }
}

func TestWaitForAGrandchild(t *testing.T) {
	cases := map[string]struct {
		line   string
		code   int
		signal syscall.Signal
	}{
		"success": {"exit 0", 0, -1},
		"failure": {"exit 3", 3, -1},
		"KILL":    {"kill -KILL $$", -1, syscall.SIGKILL},
		"SEGV":    {"kill -SEGV $$", -1, syscall.SIGSEGV},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pid, release := grandchild(t, tc.line)
			p, err := WatchProcess(pid)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			release()
			status, err := p.Wait()
			if errors.Is(err, ErrUnknown) {
				t.Skip("this kernel does not keep the status, and the parent was faster")
			}
			if err != nil || status.ExitStatus() != tc.code || status.Signal() != tc.signal {
				t.Errorf("code %d, signal %d, %v", status.ExitStatus(), status.Signal(), err)
			}
		})
	}
}

func TestWatchOfAProcessThatIsGone(t *testing.T) {
	command := exec.Command("true")
	if err := command.Run(); err != nil {
		t.Fatal(err)
	}
	if p, err := WatchProcess(command.Process.Pid); err == nil {
		p.Close()
		t.Error("watched nothing")
	}
}

func TestCloseEndsAWait(t *testing.T) {
	pid, release := grandchild(t, "exit 0")
	p, err := WatchProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := p.Wait(); err == nil {
			t.Error("a process that runs has ended")
		}
	})
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	group.Wait()
	release()
}

func TestParseExit(t *testing.T) {
	line := func(state, status string) string {
		return "7 (a) Z) (b) " + state + strings.Repeat(" 0", exitField-1) + " " + status + "\n"
	}
	for text, want := range map[string]struct {
		status syscall.WaitStatus
		known  bool
	}{
		line("Z", "768"):   {768, true},
		line("X", "9"):     {9, true},
		line("R", "768"):   {0, false},
		line("Z", "-1"):    {0, false},
		"7 (a) Z 0 0":      {0, false},
		"":                 {0, false},
		line("Z", "99999"): {0, false},
	} {
		if status, known := exitStatusFromStat(text); status != want.status || known != want.known {
			t.Errorf("%s: got %d, %v", text, status, known)
		}
	}
}

func FuzzParseExit(f *testing.F) {
	f.Add("7 (a) Z 1")
	f.Fuzz(func(t *testing.T, text string) {
		if status, known := exitStatusFromStat(text); known && !status.Exited() && !status.Signaled() && !status.Stopped() && !status.Continued() {
			t.Errorf("%q: %d", text, status)
		}
	})
}
