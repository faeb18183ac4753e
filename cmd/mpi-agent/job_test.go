package main

import (
	"bytes"
	"context"
	"crypto/elliptic"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
	"lockstep.dev/lockstep/pkg/mpi/agent/client"
	"lockstep.dev/lockstep/pkg/mpi/agent/identity"
	"lockstep.dev/lockstep/pkg/mpi/agent/state"
)

// running is a process of the test.
type running struct {
	t              *testing.T
	command        *exec.Cmd
	stdout, stderr bytes.Buffer
}

// ended is how it ended.
type ended struct {
	code           int
	stdout, stderr string
}

// start starts a process that is killed with the test at the latest.
func start(t *testing.T, environment []string, argv ...string) *running {
	t.Helper()
	return startWith(t, nil, environment, argv...)
}

// startWith starts a process with a file as standard input; nil is /dev/null.
func startWith(t *testing.T, stdin *os.File, environment []string, argv ...string) *running {
	t.Helper()
	p := &running{t: t, command: exec.Command(argv[0], argv[1:]...)}
	// The race detector would delay the end of every process by a second.
	p.command.Env = append(append(os.Environ(), "GORACE=atexit_sleep_ms=0"), environment...)
	p.command.Stdout, p.command.Stderr = &p.stdout, &p.stderr
	if stdin != nil {
		p.command.Stdin = stdin
	}
	p.command.WaitDelay = 5 * time.Second
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.command.ProcessState == nil {
			_ = p.command.Process.Kill()
			_ = p.command.Wait()
		}
	})
	return p
}

func (p *running) wait() ended {
	_ = p.command.Wait() // the exit code says it
	return ended{p.command.ProcessState.ExitCode(), p.stdout.String(), p.stderr.String()}
}

func (p *running) signal(signal syscall.Signal) {
	p.t.Helper()
	if err := p.command.Process.Signal(signal); err != nil {
		p.t.Fatal(err)
	}
}

// job is an MPI job on the loopback interface: every pod has an address and a state folder of its own.
type job struct {
	t         *testing.T
	bin       string
	scripts   string
	keyDir    string
	dir       string
	hosts     []mpi.HostAddress
	port      int
	hostfile  string
	verdictAt string
	// variables are those of all containers, beside what every pod has.
	variables []string
}

const orted = `#!/bin/sh
echo "rank on $HOSTNAME: $*"
`

// newJob makes a job with a launcher without ranks and some nodes. Nothing runs yet.
func newJob(t *testing.T, nodes int) *job {
	t.Helper()
	addresses, port := agenttest.FreeAddresses(t, nodes+1)
	dir := t.TempDir()
	j := &job{
		t: t, bin: program(t), dir: dir, keyDir: filepath.Join(dir, "key"), scripts: filepath.Join(dir, "scripts"),
		port: port, hostfile: filepath.Join(dir, "hostfile"), verdictAt: filepath.Join(dir, "verdict"),
	}
	world := mpi.World{Nodes: int32(nodes), SlotsPerNode: 2}
	names := append([]string{mpi.HostName("demo", mpi.LauncherJob, 0)}, world.HostNames("demo")...)
	for i, name := range names {
		j.hosts = append(j.hosts, mpi.HostAddress{Name: name, Address: addresses[i]})
	}
	j.write(j.hostfile, mpi.FormatHostfile(mpi.ORTE, mpi.HostsOf("demo", world)), 0o644)
	j.write(filepath.Join(j.keyDir, "id_rsa"), string(agenttest.NewKeyPEM(t, elliptic.P256())), 0o600)
	j.script("orted", orted)
	return j
}

func (j *job) write(path, text string, mode os.FileMode) {
	j.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		j.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		j.t.Fatal(err)
	}
}

// script puts a program on the path of all pods.
func (j *job) script(name, text string) string {
	path := filepath.Join(j.scripts, name)
	j.write(path, text, 0o755)
	return path
}

// environment is that of a pod's container.
func (j *job) environment(host mpi.HostAddress) []string {
	stateDir := filepath.Join(j.dir, host.Name)
	if err := os.MkdirAll(stateDir, 0o755); err != nil {
		j.t.Fatal(err)
	}
	hostname, _, _ := strings.Cut(host.Name, ".")
	return append([]string{
		asAgent + "=1", "HOSTNAME=" + hostname, "PATH=" + j.bin + ":" + j.scripts + ":" + os.Getenv("PATH"),
		state.KeyDirVariable + "=" + j.keyDir, state.StateDirVariable + "=" + stateDir, state.PortVariable + "=" + strconv.Itoa(j.port),
		"HOSTFILE=" + j.hostfile,
	}, j.variables...)
}

// setenv gives all containers that start from now on a variable. The test's own environment stays, so that tests run side by side.
func (j *job) setenv(name, value string) { j.variables = append(j.variables, name+"="+value) }

func (j *job) pod(host mpi.HostAddress, command string, arguments ...string) *running {
	j.t.Helper()
	hostname, _, _ := strings.Cut(host.Name, ".")
	argv := append([]string{
		filepath.Join(j.bin, "mpi-agent"), command, "--listen", host.Address, "--hostname", hostname,
	}, arguments...)
	return start(j.t, j.environment(host), argv...)
}

// node starts the agent of node i.
func (j *job) node(i int) *running {
	j.t.Helper()
	return j.pod(j.hosts[i+1], "serve")
}

func (j *job) nodes() (nodes []*running) {
	j.t.Helper()
	for i := range len(j.hosts) - 1 {
		nodes = append(nodes, j.node(i))
	}
	return nodes
}

// launch starts the launcher with a command.
func (j *job) launch(flags []string, command ...string) *running {
	j.t.Helper()
	arguments := append([]string{"--hostfile", j.hostfile, "--termination-log", j.verdictAt}, flags...)
	return j.pod(j.hosts[0], "run", append(append(arguments, "--"), command...)...)
}

// push does what the controller does: it sends the table until the launcher answers.
func (j *job) push() (mpi.GateResult, error) {
	j.t.Helper()
	key, err := identity.LoadKey(j.keyDir)
	if err != nil {
		j.t.Fatal(err)
	}
	for {
		result, err := client.PushHostTable(j.t.Context(), j.dial, key, mpi.HostTable{Hosts: j.hosts})
		if failure := new(client.Failure); asFailure(err, &failure) && failure.Cause == client.Refused {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		return result, err
	}
}

// dial reaches the job's port instead of the one that pods have.
func (j *job) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(host, strconv.Itoa(j.port)))
}

// rsh calls rsh as a program in the launcher does.
func (j *job) rsh(arguments ...string) *running {
	j.t.Helper()
	return start(j.t, j.environment(j.hosts[0]), append([]string{filepath.Join(j.bin, "rsh")}, arguments...)...)
}

func (j *job) verdict() mpi.Verdict {
	j.t.Helper()
	text, err := os.ReadFile(j.verdictAt)
	if err != nil {
		j.t.Fatal(err)
	}
	verdict, err := mpi.DecodeVerdict(string(text))
	if err != nil {
		j.t.Fatal(err)
	}
	return verdict
}
