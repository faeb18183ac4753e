package proc

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

// stat is a line of /proc/PID/stat with the fields that matter.
func stat(pid, parent, name, state, ticks string) *fstest.MapFile {
	return file(pid + " (" + name + ") " + state + " " + parent + " 1 1 0 -1 4194304 1 1 0 0 " + ticks + " 20 0 1 0 100 0 0\n")
}

var machine = fstest.MapFS{
	"1/stat":     stat("1", "0", "mpi-agent", "S", "1 1 0 0"),
	"20/stat":    stat("20", "1", "orted", "S", "100 50 0 0"),
	"30/stat":    stat("30", "20", "a) R 9 (b", "R", "200 0 100 0"),
	"31/stat":    stat("31", "20", "python", "D", "0 0 0 0"),
	"40/stat":    stat("40", "99", "other", "R", "0 0 0 0"),
	"50/stat":    file("50 (vanished"),
	"cpuinfo":    file("x"),
	"30/io":      file("rchar: 5\nwchar: 4096\nsyscr: 1\n"),
	"30/environ": file("HOME=/\x00OMPI_COMM_WORLD_RANK=3\x00RANK=9\x00"),
	"30/wchan":   file("futex_wait_queue"),
	"30/syscall": file("202 0x7f 0x80 0x2\n"),
	"30/stack":   file("[<0>] futex_wait_queue+0x60/0x90\n[<0>] do_futex+0x1/0x2\n\n"),
	"31/wchan":   file("0"),
	"31/syscall": file("running\n"),
	"31/environ": file("RANK=-1\x00PMI_RANK=x\x00"),
}

func TestDescendants(t *testing.T) {
	want := []Process{
		{20, 1, "orted", 'S', true, 1500 * time.Millisecond},
		{30, 20, "a) R 9 (b", 'R', true, 3 * time.Second},
		{31, 20, "python", 'D', true, 0},
	}
	if diff := cmp.Diff(want, Descendants(machine, 1)); diff != "" {
		t.Error(diff)
	}
	if got := Descendants(fstest.MapFS{"7/stat": stat("7", "7", "x", "R", "0 0 0 0")}, 7); len(got) != 1 {
		t.Errorf("a process that is its own parent: %v", got)
	}
}

// PyTorch's store answers ranks that wait in NCCL, twice a second and with a byte each. Who waits does not get on by that.
func TestPyTorchsStoreIsNoProgress(t *testing.T) {
	root := fstest.MapFS{
		"7/io":          {Data: []byte("rchar: 9\nwchar: 630\n")},
		"7/task/7/io":   {Data: []byte("wchar: 157\n")},
		"7/task/7/comm": {Data: []byte("python3\n")},
		"7/task/9/io":   {Data: []byte("wchar: 473\n")},
		"7/task/9/comm": {Data: []byte("pt_tcpstore_uv\n")},
	}
	if got := WrittenBytes(root, 7); got != 157 {
		t.Errorf("written: %d", got)
	}
}

func TestWhatAProcessDoes(t *testing.T) {
	if got := WrittenBytes(machine, 30); got != 4096 {
		t.Errorf("written: %d", got)
	}
	if got := WrittenBytes(machine, 31); got != 0 {
		t.Errorf("not readable: %d", got)
	}
	if rank, found := RankOfProcess(machine, 30, nil); rank != 3 || !found {
		t.Errorf("rank %d, %v", rank, found)
	}
	if rank, found := RankOfProcess(machine, 31, nil); found {
		t.Errorf("no rank: %d", rank)
	}
	want := KernelWait{Function: "futex_wait_queue", Call: syscallName(202), Stack: []string{"futex_wait_queue", "do_futex"}}
	if diff := cmp.Diff(want, KernelWaitOf(machine, 30)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(KernelWait{}, KernelWaitOf(machine, 31)); diff != "" {
		t.Error(diff)
	}
}

func TestTheContainersOwnVariablesTellNoRank(t *testing.T) {
	cases := map[string]struct {
		reason         string
		container, own string
		rank           int
		found          bool
	}{
		"no rank":      {"a shell of the container, or a launch daemon", "RANK=0\x00WORLD_SIZE=4\x00", "RANK=0\x00WORLD_SIZE=4\x00PATH=/bin\x00", 0, false},
		"launcher's":   {"the launcher knows better", "RANK=0\x00", "RANK=0\x00PMI_RANK=3\x00", 3, true},
		"set again":    {"torchrun gives each its own", "RANK=0\x00", "RANK=1\x00", 1, true},
		"same value":   {"another one of the launcher's variables differs", "PMIX_RANK=0\x00", "PMIX_RANK=0\x00OMPI_COMM_WORLD_RANK=0\x00", 0, true},
		"other's":      {"", "WORLD_SIZE=4\x00", "RANK=0\x00", 0, true},
		"no container": {"", "", "RANK=0\x00", 0, true},
	}
	for name, c := range cases {
		root := fstest.MapFS{"self/environ": file(c.container), "7/environ": file(c.own)}
		if rank, found := RankOfProcess(root, 7, ContainerRankVariables(root)); rank != c.rank || found != c.found {
			t.Errorf("%s: %s: rank %d, %t", name, c.reason, rank, found)
		}
	}
}

func TestTheContainersOwnWorldIsNone(t *testing.T) {
	root := fstest.MapFS{
		"self/environ": file("HOME=/\x00WORLD_SIZE=4\x00OMPI_COMM_WORLD_SIZE=1\x00"),
		"7/environ":    file("HOME=/\x00WORLD_SIZE=4\x00OMPI_COMM_WORLD_SIZE=2\x00PMI_SIZE=2\x00"),
	}
	if diff := cmp.Diff([]string{"HOME=/", "OMPI_COMM_WORLD_SIZE=2", "PMI_SIZE=2"}, WithoutContainerVariables(EnvironmentOf(root, 7), ContainerRankVariables(root))); diff != "" {
		t.Error(diff)
	}
}

// torchrun and Horovod may start another rank in the place of one that failed; MPI does not.
func TestRanksOfMPI(t *testing.T) {
	for environment, want := range map[string]bool{
		"OMPI_COMM_WORLD_RANK=1 RANK=1": true, "PMIX_RANK=0": true, "PMI_RANK=3": true, "HOROVOD_RANK=1": false, "RANK=1 WORLD_SIZE=2": false, "PMI_RANK=x": false,
	} {
		if got := HasMPIRank(strings.Fields(environment)); got != want {
			t.Errorf("%s: %v", environment, got)
		}
	}
}

// What the tables above say is what this machine's kernel writes.
func TestTheRealProc(t *testing.T) {
	child := exec.Command("sh", "-c", "echo started; read nothing")
	child.Env = append(os.Environ(), "PMI_RANK=5")
	if _, err := child.StdinPipe(); err != nil { // it waits until we close it
		t.Fatal(err)
	}
	output, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	if _, err := output.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	root := os.DirFS("/proc")
	var pids []int
	for _, p := range Descendants(root, os.Getpid()) {
		pids = append(pids, p.PID)
	}
	if len(pids) == 0 || pids[0] != child.Process.Pid {
		t.Fatalf("descendants %v, want %d first", pids, child.Process.Pid)
	}
	if rank, found := RankOfProcess(root, pids[0], nil); rank != 5 || !found {
		t.Errorf("rank %d, %v", rank, found)
	}
	if got := WrittenBytes(root, pids[0]); got < 8 {
		t.Errorf("wrote %d bytes", got)
	}
	if got := ExecutablePath(root, pids[0]); !strings.HasPrefix(got, "/") {
		t.Errorf("program %q", got)
	}
}

func TestReadsSocket(t *testing.T) {
	sockets, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	own, other := os.NewFile(uintptr(sockets[0]), "own"), os.NewFile(uintptr(sockets[1]), "other")
	defer own.Close()
	pipe, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	for name, c := range map[string]struct {
		reason string
		input  *os.File
		reads  bool
	}{
		"socket": {"as ranks of Hydra wait for their proxy", other, true},
		"pipe":   {"", pipe, false},
	} {
		child := exec.Command("cat")
		child.Stdin = c.input
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		c.input.Close()
		root := os.DirFS("/proc")
		waits := func() bool { // it reads its libraries first
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", child.Process.Pid))
			return strings.HasPrefix(string(text), fmt.Sprintf("%d 0x0 ", unix.SYS_READ))
		}
		for deadline := time.Now().Add(10 * time.Second); !waits() && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		if descriptor, reads := ReadsSocket(root, child.Process.Pid); descriptor != 0 || reads != c.reads {
			t.Errorf("%s: %s: descriptor %d, %t", name, c.reason, descriptor, reads)
		}
		_ = child.Process.Kill()
		_ = child.Wait()
	}
	if _, reads := ReadsSocket(machine, 30); reads {
		t.Error("it waits for something else")
	}
}

func TestStateName(t *testing.T) {
	for state, want := range map[byte]string{'R': "running", 'S': "sleeping", 'D': "waiting for a disk", 'T': "stopped", 'Z': "a zombie", 'q': "in state q"} {
		if got := StateName(state); got != want {
			t.Errorf("%c: %s", state, got)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add(string(machine["30/stat"].Data))
	f.Add("1 () R")
	f.Fuzz(func(t *testing.T, text string) {
		if p, ok := parseStat([]byte(text)); ok && p.CPU < 0 {
			t.Skip("overflow of a time that no process reaches")
		}
	})
}

func TestCatches(t *testing.T) {
	files := fstest.MapFS{"7/status": {Data: []byte("Name:\tbash\nSigIgn:\t0000000000000000\nSigCgt:\t0000000000014002\n")}}
	for signal, want := range map[syscall.Signal]bool{syscall.SIGTERM: true, syscall.SIGINT: true, syscall.SIGHUP: false} {
		if got := HandlesSignal(files, 7, signal); got != want {
			t.Errorf("%v: %v", signal, got)
		}
	}
	if HandlesSignal(files, 8, syscall.SIGTERM) {
		t.Error("a process that is gone")
	}
}
