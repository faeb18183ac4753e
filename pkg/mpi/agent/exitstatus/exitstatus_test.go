package exitstatus

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
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

// The process that ended first is seen first, even if both ended before the first look.
func TestEndsKeepTheirOrder(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 50 {
		var watched [2]*WatchedProcess
		var killed [2]*exec.Cmd
		for i := range watched {
			killed[i] = exec.Command("sleep", "60")
			if err := killed[i].Start(); err != nil {
				t.Fatal(err)
			}
			p, err := WatchProcess(killed[i].Process.Pid)
			if err != nil {
				t.Fatal(err)
			}
			watched[i] = p
		}
		for _, command := range killed {
			_ = syscall.Kill(command.Process.Pid, syscall.SIGKILL)
			awaitZombie(t, command.Process.Pid)
		}
		for _, p := range watched {
			if status, err := p.Wait(); err != nil || status.Signal() != syscall.SIGKILL {
				t.Errorf("%v, %v", status, err)
			}
			_ = p.Close()
		}
		if !watched[0].EndedAt().Before(watched[1].EndedAt()) {
			t.Fatal("the second is told to have ended first")
		}
		for _, command := range killed {
			_ = command.Wait()
		}
	}
}

// awaitZombie waits until a process has ended, and lets no goroutine run meanwhile.
func awaitZombie(t *testing.T, pid int) {
	t.Helper()
	path := "/proc/" + strconv.Itoa(pid) + "/stat"
	for began := time.Now(); time.Since(began) < 10*time.Second; {
		fd, err := syscall.Open(path, syscall.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		var buffer [512]byte
		n, _ := syscall.Read(fd, buffer[:])
		_ = syscall.Close(fd)
		if _, ended := exitStatusFromStat(string(buffer[:n])); ended {
			return
		}
	}
	t.Fatal("it does not end")
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

// An answer does not depend on whether the goroutine that hears of ends had a turn.
func TestSettleKnowsWhatHasEnded(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 50 {
		killed := exec.Command("sleep", "60")
		if err := killed.Start(); err != nil {
			t.Fatal(err)
		}
		p, err := WatchProcess(killed.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		Settle()
		if p.HasEnded() {
			t.Fatal("a process that runs has ended")
		}
		_ = syscall.Kill(killed.Process.Pid, syscall.SIGKILL)
		awaitZombie(t, killed.Process.Pid)
		if Settle(); !p.HasEnded() {
			t.Fatal("a process that is gone has not ended")
		}
		_, _ = killed.Process.Wait()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}
