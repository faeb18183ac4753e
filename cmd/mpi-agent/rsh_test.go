package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/state"
)

// serving makes a job whose nodes serve and whose launcher has passed its gate.
func serving(t *testing.T, nodes int) (*job, []*running) {
	t.Helper()
	j := newJob(t, nodes)
	agents := j.nodes()
	for i := range agents {
		awaitListener(t, j, i+1)
	}
	table := `{"hosts":[`
	for i, host := range j.hosts {
		table += strings.Repeat(",", min(i, 1)) + `{"name":"` + host.Name + `","address":"` + host.Address + `"}`
	}
	j.write(filepath.Join(j.dir, j.hosts[0].Name, "hosts.json"), table+`]}`, 0o644)
	return j, agents
}

// awaitListener waits until a pod listens.
func awaitListener(t *testing.T, j *job, host int) {
	t.Helper()
	for {
		conn, err := net.Dial("tcp", net.JoinHostPort(j.hosts[host].Address, strconv.Itoa(j.port)))
		if err == nil {
			conn.Close()
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func TestRshRunsCommandsAsSSHDoes(t *testing.T) {
	t.Parallel()
	j, _ := serving(t, 1)
	node := j.hosts[1]
	cases := map[string]struct {
		args []string
		want ended
	}{
		"exit code":    {[]string{"demo-node-0-0", "exit 7"}, ended{code: 7}},
		"streams":      {[]string{"-x", "demo-node-0-0.demo", "echo out;", "echo err >&2"}, ended{stdout: "out\n", stderr: "err\n"}},
		"signal":       {[]string{"demo-node-0-0", "kill -TERM $$"}, ended{code: 143}},
		"bus error":    {[]string{"demo-node-0-0", "kill -BUS $$"}, ended{code: 135}},
		"address":      {[]string{node.Address, "echo $HOSTNAME"}, ended{stdout: "demo-node-0-0\n"}},
		"cluster name": {[]string{"demo-node-0-0.demo.ns.svc.cluster.local", "true"}, ended{}},
		"user":         {[]string{"-l", "root", "mpiuser@demo-node-0-0", "true"}, ended{}},
		"horovodrun": {[]string{
			"-o", "PasswordAuthentication=no", "-o", "StrictHostKeyChecking=no", "demo-node-0-0", "-p", strconv.Itoa(j.port), "-i", "/k", "echo hi",
		}, ended{stdout: "hi\n"}},
		"not found":    {[]string{"demo-node-0-0", "no-such-daemon 2>/dev/null"}, ended{code: 127}},
		"not a table":  {[]string{"demo-node-0-7", "true"}, ended{code: 255, stderr: "mpi-agent rsh: demo-node-0-7 is not a host of this job, which has demo-launcher-0-0, demo-node-0-0\n"}},
		"unknown flag": {[]string{"-Z", "demo-node-0-0", "true"}, ended{code: 255, stderr: "mpi-agent rsh: unknown option `-Z`: see mpi-agent rsh --help\n"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := j.rsh(c.args...).wait(); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// A launcher that runs ranks is a host of its job, and serves no commands.
func TestRshRunsOnItsOwnHostWithoutAnAgent(t *testing.T) {
	t.Parallel()
	hostname, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	j, _ := serving(t, 1)
	j.setenv("MARK", "kept")
	if got := j.rsh(hostname, "exit 6").wait(); got.code != 6 {
		t.Errorf("a job of one host has none in its table: %+v", got)
	}
	own := mpi.HostAddress{Name: hostname + ".demo", Address: "127.254.254.254"}
	if err := state.WriteHostTable(filepath.Join(j.dir, j.hosts[0].Name, "hosts.json"), mpi.HostTable{Hosts: append(j.hosts, own)}); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		args []string
		want ended
	}{
		"exit code":  {[]string{hostname, "echo $MARK; echo err >&2; exit 7"}, ended{code: 7, stdout: "kept\n", stderr: "err\n"}},
		"address":    {[]string{"127.254.254.254", "true"}, ended{}},
		"no input":   {[]string{"-n", hostname + ".demo", "cat"}, ended{}},
		"other host": {[]string{"demo-node-0-0", "echo $HOSTNAME"}, ended{stdout: "demo-node-0-0\n"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := j.rsh(c.args...).wait(); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// horovodrun starts every rank by an ssh of its own: how that ends is how the rank ended.
func TestRshLeavesOnlyKilledDaemonsForTheVerdict(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		command string
		code    int
		lost    bool
	}{
		"rank":              {"the program failed", "HOROVOD_RANK=0 sh -c 'kill -SEGV $$'", 139, false},
		"ranks of one node": {"DeepSpeed passes on how a rank died", "sh -c 'exit 245' -m deepspeed.launcher.launch", 245, false},
		"rank, stopped":     {"its pod goes", "HOROVOD_RANK=0 sh -c 'kill -TERM $$'", 143, true},
		"daemon":            {"somebody killed it", "orted -mca x", 137, true},
		"command":           {"it starts no rank", "kill -9 $$", 137, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, _ := serving(t, 1)
			j.script("orted", "#!/bin/sh\nkill -9 $$\n")
			got := j.rsh("demo-node-0-0", c.command).wait()
			text, err := os.ReadFile(filepath.Join(j.dir, j.hosts[0].Name, "losses"))
			if got.code != c.code || (err == nil) != c.lost {
				t.Errorf("%s: %+v, left %s", c.reason, got, text)
			}
		})
	}
}

func TestRshPassesMuchInputAndItsEnd(t *testing.T) {
	t.Parallel()
	j, _ := serving(t, 1)
	input := bytes.Repeat([]byte("0123456789abcdef"), 8<<20/16)
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = out.Write(input)
		out.Close()
	}()
	p := startWithInput(t, j, in, "demo-node-0-0", "cat")
	in.Close()
	if got := p.wait(); got.code != 0 || got.stdout != string(input) {
		t.Errorf("code %d, %d bytes of %d", got.code, len(got.stdout), len(input))
	}
}

func TestRshDoesNotWaitForItsInput(t *testing.T) {
	t.Parallel()
	j, _ := serving(t, 1)
	in, out, err := os.Pipe() // stays open
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	defer in.Close()
	if got := startWithInput(t, j, in, "demo-node-0-0", "exit 5").wait(); got.code != 5 {
		t.Error(got)
	}
	if got := startWithInput(t, j, in, "-n", "demo-node-0-0", "cat").wait(); got.code != 0 {
		t.Error(got)
	}
}

func TestRshNamesWhatCannotBeReached(t *testing.T) {
	t.Parallel()
	j, nodes := serving(t, 1)
	nodes[0].signal(syscall.SIGTERM)
	nodes[0].wait()
	got := j.rsh("-o", "ConnectionAttempts=1", "demo-node-0-0", "true").wait()
	want := "cannot reach node demo-node-0-0.demo (" + j.hosts[1].Address + "): connection refused"
	if got.code != 255 || !strings.Contains(got.stderr, want) || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestRshNoticesAFrozenNode(t *testing.T) {
	t.Parallel()
	j, nodes := serving(t, 1)
	p := j.rsh("-o", "ServerAliveInterval=1", "-o", "ServerAliveCountMax=1", "demo-node-0-0", untilTheEnd(j.dir+"/started"))
	awaitFile(t, j.dir+"/started")
	nodes[0].signal(syscall.SIGSTOP)
	defer nodes[0].signal(syscall.SIGCONT)
	if got := p.wait(); got.code != 255 || !strings.Contains(got.stderr, "lost node demo-node-0-0.demo") || !strings.Contains(got.stderr, "no answer for 1s") {
		t.Errorf("got %+v", got)
	}
}

func TestRshEndsAHydraThatLostItsProxy(t *testing.T) {
	t.Parallel()
	for name, trap := range map[string]string{"obeys SIGTERM": "", "ignores SIGTERM": `trap "" TERM;`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, nodes := serving(t, 1)
			j.script("hydra_pmi_proxy", "#!/bin/sh\n"+untilTheEnd(j.dir+"/started"))
			mpiexec := start(t, j.environment(j.hosts[0]), "/bin/sh", "-c",
				trap+`rsh -x demo-node-0-0 "hydra_pmi_proxy" --control-port x:1; while :; do sleep 0.1; done`)
			awaitFile(t, j.dir+"/started")
			nodes[0].signal(syscall.SIGKILL)
			if got := mpiexec.wait(); got.code != -1 || !strings.Contains(got.stderr, "lost node") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestRshLeavesOtherParentsAlone(t *testing.T) {
	t.Parallel()
	j, _ := serving(t, 1)
	got := start(t, j.environment(j.hosts[0]), "/bin/sh", "-c", `rsh demo-node-0-0 'kill -9 $$'; sleep 0.3; echo alive`).wait()
	if got.code != 0 || got.stdout != "alive\n" {
		t.Errorf("got %+v", got)
	}
}

func TestServeEndsItsCommandsAndItself(t *testing.T) {
	t.Parallel()
	j, nodes := serving(t, 1)
	obeys := j.rsh("demo-node-0-0", "touch "+j.dir+"/obeys; exec sleep 100")
	ignores := j.rsh("demo-node-0-0", "trap '' TERM; "+untilTheEnd(j.dir+"/started")+"; exit 3")
	awaitFile(t, j.dir+"/obeys")
	awaitFile(t, j.dir+"/started")
	nodes[0].signal(syscall.SIGTERM)
	if got := obeys.wait(); got.code != 143 {
		t.Errorf("who obeys: the caller heard %+v", got)
	}
	time.Sleep(500 * time.Millisecond) // longer than an agent would wait by itself
	if err := nodes[0].command.Process.Signal(syscall.Signal(0)); err != nil {
		t.Error("the agent is gone, although a command runs and the pod has its grace")
	}
	if err := os.Remove(j.dir + "/started"); err != nil {
		t.Fatal(err)
	}
	if got := nodes[0].wait(); got.code != 0 {
		t.Errorf("got %+v", got)
	}
	if got := ignores.wait(); got.code != 143 {
		t.Errorf("a peer that takes its time: the caller heard %+v", got)
	}
}

func TestServeRunsManyCommandsAtOnce(t *testing.T) {
	j, _ := serving(t, 1)
	var all []*running
	for i := range 50 {
		all = append(all, j.rsh("demo-node-0-0", "sleep 0.1; exit "+strconv.Itoa(i)))
	}
	for i, p := range all {
		if got := p.wait(); got.code != i {
			t.Errorf("command %d: %+v", i, got)
		}
	}
}

// startWithInput calls rsh with a file as standard input.
func startWithInput(t *testing.T, j *job, in *os.File, arguments ...string) *running {
	t.Helper()
	return startWith(t, in, j.environment(j.hosts[0]), append([]string{filepath.Join(j.bin, "rsh")}, arguments...)...)
}

// Where all ranks of a node are gone before anybody saw them, only this note tells that the node was left.
func TestRshNotesTheNodesThatHydraLeft(t *testing.T) {
	t.Parallel()
	j, _ := serving(t, 2)
	j.script("hydra_pmi_proxy", "#!/bin/sh\nexit ${HOSTNAME#demo-node-0-}\n")
	for _, host := range []string{"demo-node-0-0", "demo-node-0-1"} {
		line := "rsh " + host + " hydra_pmi_proxy --control-port launcher:36231 --pgid 0 --proxy-id 1; true"
		start(t, j.environment(j.hosts[0]), "sh", "-c", line).wait() // rsh ends its parent for a proxy that failed
	}
	j.rsh("demo-node-0-0", "true").wait()
	notes, _ := filepath.Glob(filepath.Join(j.dir, j.hosts[0].Name, "left-*"))
	if len(notes) != 1 || filepath.Base(notes[0]) != "left-36231" {
		t.Fatalf("notes %v", notes)
	}
	if text, _ := os.ReadFile(notes[0]); string(text) != j.hosts[1].Name+"\n" {
		t.Errorf("%q: one that failed was not left", text)
	}
}
