package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/server"
)

func TestStartsRanks(t *testing.T) {
	for line, want := range map[string]bool{
		`orted -mca ess "env" -mca orte_ess_jobid 1`:                                                     true,
		`PATH=/opt/ompi/bin:$PATH ; export PATH ; LD_LIBRARY_PATH=x ; /opt/ompi/bin/prted --prtemca a b`: true,
		`"/usr/bin/hydra_pmi_proxy" --control-port l:1`:                                                  true,
		`/opt/intel/bin//hydra_bstrap_proxy --upstream-host l`:                                           true,
		`bash -c 'cd /w && HOROVOD_RANK=0 python train.py'`:                                              true,
		`cd /w; export A=1; python -u -m deepspeed.launcher.launch --node_rank=0 train.py`:               true,
		`python -m horovod.runner.task_service 0`:                                                        true,
		`python -m torch.distributed.launch --node_rank=1 train.py`:                                      true,
		`/opt/venv/bin/accelerate launch --machine_rank 1 train.py`:                                      true,
		`pip install accelerate`:                                                                         false,
		`hostname`:                                                                                       false,
		`nvidia-smi`:                                                                                     false,
		`cat orted.log.txt`:                                                                              false,
		`which my-orted`:                                                                                 false,
		``:                                                                                               false,
	} {
		if got := startsRanks(line); got != want {
			t.Errorf("%s: got %v", line, got)
		}
	}
}

func TestOOMKills(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	cases := map[string]struct {
		reason string
		files  fstest.MapFS
		want   int
		found  bool
	}{
		"v2": {"a container sees its own cgroup at the root", fstest.MapFS{
			"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/memory.events": file("low 0\noom 3\noom_kill 2\noom_group_kill 0\n"),
		}, 2, true},
		"v1 in a container": {"the path is the host's, the mount is the container's", fstest.MapFS{
			"proc/self/cgroup":                        file("9:cpu,cpuacct:/kubepods/a\n4:memory:/kubepods/a\n0::/\n"),
			"sys/fs/cgroup/memory/memory.oom_control": file("oom_kill_disable 0\nunder_oom 0\noom_kill 5\n"),
		}, 5, true},
		"v1 on a host": {"the own cgroup, not the whole machine", fstest.MapFS{
			"proc/self/cgroup":                            file("4:memory:/a/b\n"),
			"sys/fs/cgroup/memory/memory.oom_control":     file("oom_kill 99\n"),
			"sys/fs/cgroup/memory/a/b/memory.oom_control": file("oom_kill 1\n"),
		}, 1, true},
		"v2 nested": {"the own cgroup", fstest.MapFS{
			"proc/self/cgroup": file("0::/x\n"), "sys/fs/cgroup/x/memory.events": file("oom_kill 4\n"),
		}, 4, true},
		"old kernel": {"no counter", fstest.MapFS{"sys/fs/cgroup/memory/memory.oom_control": file("under_oom 0\n")}, 0, false},
		"nothing":    {"no cgroup file system", fstest.MapFS{}, 0, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got, found := oomKills(c.files); got != c.want || found != c.found {
				t.Errorf("%s: got %d, %v", c.reason, got, found)
			}
		})
	}
}

func TestLedgerReportsWhatRan(t *testing.T) {
	files := fstest.MapFS{"sys/fs/cgroup/memory.events": {Data: []byte("oom_kill 3\n")}}
	l := newLedger(files)
	first, begins := l.started("orted")
	second, more := l.started("prted")
	if !begins || more {
		t.Errorf("a launch begins with its first daemon: %v, %v", begins, more)
	}
	first(0)
	files["sys/fs/cgroup/memory.events"] = &fstest.MapFile{Data: []byte("oom_kill 5\n")}
	reports := make(chan mpi.NodeReport)
	go func() { reports <- l.report(context.Background(), "w-0") }()
	second(137)
	got := <-reports
	if got.DaemonAgo <= 0 {
		t.Errorf("nobody knows when the daemon ended: %+v", got)
	}
	got.DaemonAgo = 0
	if diff := cmp.Diff(mpi.NodeReport{Name: "w-0", Daemons: 2, LastExitCode: 137, OOMKills: 2}, got); diff != "" {
		t.Error(diff)
	}
	l.started("orted")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got := l.report(ctx, "w-0"); got.Daemons != 3 {
		t.Errorf("while one runs: %+v", got)
	}
}

// Whether a rank failed before a launch or in it can be a matter of milliseconds, so one answer tells both.
func TestANodeTellsOfItsLaunchTogetherWithItsRanks(t *testing.T) {
	var second atomic.Int64
	now := func() time.Time { return time.Unix(second.Load(), 0) }
	l, watch := newLedger(os.DirFS(t.TempDir())), newTracker()
	l.ranks.now, watch.now = now, now
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 { // what failed before the second was passed over
		l.ranks.ended(1, nil, exited(3))
		second.Add(1)
		ended, begins := l.started("orted")
		watch.started(ctx, begins)
		ended(0)
	}
	second.Add(10)
	got := (Node{Hostname: "demo-node-0-0"}).answer(ctx, l, watch)
	if got.Name != "demo-node-0-0" || len(got.Ranks) != 1 || got.Ranks[0].Ago != 11 || got.LaunchAge == nil || *got.LaunchAge != 10 {
		t.Errorf("%+v", got)
	}
}

// prted ends with 0 however its ranks end, orted may end with their code.
func TestLedgerKnowsADaemonThatDied(t *testing.T) {
	for line, want := range map[string]bool{"/usr/bin/prted --prtemca x": true, "orted -mca ess env": false, "hydra_pmi_proxy --control-port l:1": false} {
		l := newLedger(os.DirFS(t.TempDir()))
		ended, _ := l.started(line)
		ended(1)
		if got := l.report(t.Context(), "w-0"); (got.DaemonAgo > 0) != want || got.LastExitCode != 1 {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

// How the daemon of an earlier launch ended says nothing of one that still runs.
func TestALaunchForgetsTheDaemonBeforeIt(t *testing.T) {
	l := newLedger(os.DirFS(t.TempDir()))
	for _, code := range []int{143, 0} {
		ended, _ := l.started("/usr/bin/prted")
		if got := l.report(t.Context(), "w-0"); got.DaemonAgo != 0 {
			t.Errorf("%+v", got)
		}
		ended(code)
	}
}

// A rank that horovodrun started by an ssh of its own is no daemon that somebody killed, and one of many in its launch.
func TestLedgerKnowsRanksFromDaemons(t *testing.T) {
	l := newLedger(os.DirFS(t.TempDir()))
	for range 2 {
		ended, begins := l.started("HOROVOD_RANK=1 python train.py")
		l.ranks.ended(1, nil, killed(syscall.SIGSEGV))
		ended(139)
		if begins {
			t.Error("a rank begins no launch")
		}
	}
	if got := l.report(t.Context(), "w-0"); got.DaemonAgo != 0 || got.LastExitCode != 139 || len(got.Ranks) != 2 {
		t.Errorf("%+v", got)
	}
}

func TestFindHost(t *testing.T) {
	table := mpi.HostTable{Hosts: []mpi.HostAddress{
		{Name: "demo-node-0-1.demo", Address: "10.0.0.1"}, {Name: "demo-node-0-10.demo", Address: "10.0.0.10"},
	}}
	for name, want := range map[string]string{
		"demo-node-0-1.demo":                       "10.0.0.1",
		"demo-node-0-1":                            "10.0.0.1",
		"demo-node-0-10.demo.ns.svc.cluster.local": "10.0.0.10",
		"demo-node-0":                              "",
		"demo-node-0-2":                            "",
		"":                                         "",
	} {
		if got, found := find(table, name); got.Address != want || found != (want != "") {
			t.Errorf("%q: got %+v, %v", name, got, found)
		}
	}
}

func TestExitOf(t *testing.T) {
	for name, c := range map[string]struct {
		status process.Status
		want   server.Exit
	}{
		"code":                            {exited(7), server.Exit{Code: 7}},
		"a signal that SSH knows":         {killed(syscall.SIGSEGV), server.Exit{Code: 139, Signal: "SEGV"}},
		"a core dump":                     {killed(syscall.SIGABRT | 0x80), server.Exit{Code: 134, Signal: "ABRT", CoreDumped: true}},
		"a signal that SSH has not":       {killed(syscall.SIGBUS), server.Exit{Code: 135}},
		"a signal whose name contains it": {killed(syscall.SIGSTKFLT), server.Exit{Code: 144}},
	} {
		if diff := cmp.Diff(c.want, exitOf(c.status)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestSettingsFrom(t *testing.T) {
	environment := map[string]string{KeyDirVariable: "/k", StateDirVariable: "/s", PortVariable: "22"}
	lookup := func(name string) (string, bool) { value, found := environment[name]; return value, found }
	got, err := SettingsFrom(lookup)
	if diff := cmp.Diff(Settings{KeyDir: "/k", StateDir: "/s", Port: 22}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	environment[PortVariable] = "ssh"
	if _, err := SettingsFrom(lookup); err == nil {
		t.Error("accepted a port that is none")
	}
	clear(environment)
	got, err = SettingsFrom(lookup)
	want := Settings{KeyDir: mpi.SSHAuthMountPath, StateDir: mpi.StateDir, Port: mpi.AgentPort}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if got.hostTablePath() != mpi.HostTablePath || got.hydraHostfilePath() != mpi.HydraHostfilePath {
		t.Error("the state files are not where compiled runtimes look for them")
	}
}

func TestOverrideLeavesOneValuePerName(t *testing.T) {
	got := override([]string{"A=1", "B=2", "AB=3"}, []string{"A=9", "C=4"})
	if diff := cmp.Diff([]string{"A=9", "C=4", "B=2", "AB=3"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestLossesKeepTheirOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "losses")
	if got, err := readLosses(path); err != nil || got != nil {
		t.Errorf("without a file: %v, %v", got, err)
	}
	want := []loss{{Host: "w-1", Address: "10.0.0.1", Error: "first\nline"}, {Host: "w-0", Error: "second"}}
	for _, l := range want {
		if err := appendLoss(path, l); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readLosses(path)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestReplaceFileLeavesNothingBehindWhenItFails(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := replaceFile(filepath.Join(dir, "taken"), []byte("x"), 0o644); err == nil {
		t.Error("replaced a folder")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left %v, %v", entries, err)
	}
}

func TestStartFailureCode(t *testing.T) {
	for code, err := range map[int]error{
		127: os.ErrNotExist, 126: syscall.EACCES, 125: errors.New("other"),
	} {
		if got := startFailureCode(err); got != code {
			t.Errorf("%v: got %d", err, got)
		}
	}
	if got := startFailureCode(syscall.ENOEXEC); got != 126 {
		t.Errorf("a file of another architecture: got %d", got)
	}
	if got := startFailureCode(&process.NoShellError{}); got != 127 {
		t.Errorf("no shell: got %d", got)
	}
}
