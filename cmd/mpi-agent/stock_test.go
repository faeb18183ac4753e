package main

import (
	"crypto/elliptic"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
	"lockstep.dev/lockstep/pkg/mpi/agent/dns/dnstest"
)

// asRoot skips tests of what only root may do: ports below 1024, other users, mount namespaces.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
}

// withDNS gives the pods of the job a DNS server that keeps its answers for an hour.
func (j *job) withDNS() *dnstest.Server {
	j.t.Helper()
	asRoot(j.t)
	address, _ := agenttest.FreeAddresses(j.t, 1)
	server := dnstest.Start(j.t, address[0]+":53", time.Hour)
	path := filepath.Join(j.dir, "resolv.conf")
	j.write(path, "search team.svc.corp.test svc.corp.test\nnameserver "+address[0]+"\noptions ndots:5\n", 0o644)
	j.setenv(resolvConfVariable, path)
	return server
}

// publish gives all pods their records.
func (j *job) publish(server *dnstest.Server) {
	for _, host := range j.hosts {
		server.SetAddress(host.Name+".team.svc.corp.test.", netip.MustParseAddr(host.Address))
	}
}

// initGate runs what the init container of a launcher runs.
func (j *job) initGate(flags ...string) *running {
	j.t.Helper()
	return j.pod(j.hosts[0], "gate", append([]string{"--hostfile", j.hostfile, "--termination-log", filepath.Join(j.dir, "gate-verdict")}, flags...)...)
}

func awaitQuestions(server *dnstest.Server, n int) {
	for len(server.Queries()) < n {
		time.Sleep(time.Millisecond)
	}
}

func TestWithoutAControllerTheGateFindsTheNodesByDNS(t *testing.T) {
	t.Parallel()
	j := newJob(t, 2)
	server := j.withDNS()
	j.nodes()
	gate := j.initGate("--dns-after", "1ms")
	awaitQuestions(server, 10) // the pods have no records yet, and the server keeps saying so to whoever asks for an address
	j.publish(server)
	if got := gate.wait(); got.code != 0 || !strings.Contains(got.stderr, "DNS is asked") {
		t.Fatal(got)
	}
	// The user's command replaces ours. It finds hostfiles in both dialects and reaches the nodes by name.
	state := filepath.Join(j.dir, j.hosts[0].Name)
	hydra, err := os.ReadFile(filepath.Join(state, "hostfile.hydra"))
	if err != nil || string(hydra) != "demo-node-0-0.demo:2\ndemo-node-0-1.demo:2\n" {
		t.Errorf("hostfile for Hydra: %q, %v", hydra, err)
	}
	hosts, err := os.ReadFile(filepath.Join(state, mpi.HostsKey))
	if err != nil || !strings.HasPrefix(string(hosts), "127.0.0.1 localhost\n") || !strings.Contains(string(hosts), j.hosts[2].Address+" demo-node-0-1.demo demo-node-0-1\n") {
		t.Errorf("hosts file: %q, %v", hosts, err)
	}
	for _, name := range []string{"demo-node-0-0", "demo-node-0-1.demo"} {
		if got := j.rsh(name, "echo", "$HOSTNAME").wait(); got.code != 0 || got.stdout != strings.Split(name, ".")[0]+"\n" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestRunDoesNotWaitASecondTimeAfterAnInitContainer(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1)
	server := j.withDNS()
	j.nodes()
	j.publish(server)
	j.script("mpirun", fakeMPIRun)
	if got := j.initGate("--dns-after", "1ms").wait(); got.code != 0 {
		t.Fatal(got)
	}
	questions := len(server.Queries())
	// A gate timeout that no gate could meet, and nobody who sends a table.
	got := j.launch([]string{"--dns-after", "0", "--gate-timeout", "1ns"}, "mpirun").wait()
	if got.code != 0 || len(server.Queries()) != questions || !strings.Contains(got.stderr, "init container has passed the gate") {
		t.Fatal(got)
	}
	if timings := j.verdict().Timings; timings == nil || timings.TableFrom != mpi.TableFromDNS || timings.GateSeconds == nil {
		t.Errorf("timings %+v", timings)
	}
	// A container that is started again must not believe what was true at the time of its predecessor.
	got = j.launch([]string{"--dns-after", "0", "--gate-timeout", "50ms"}, "mpirun").wait()
	if got.code != 125 || j.verdict().Reason != mpi.ReasonGateTimeout {
		t.Errorf("the second time: %+v", got)
	}
}

func TestGateNamesTheDNSServerThatDoesNotKnowAPod(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1)
	j.withDNS()
	got := j.launch([]string{"--dns-after", "1ms", "--gate-timeout", "3s"}, "true").wait()
	verdict := j.verdict()
	for _, words := range []string{"demo-node-0-0", "its name is not in DNS", "does not know `demo-node-0-0.demo.team.svc.corp.test.`", "Service of the job"} {
		if got.code != 125 || !strings.Contains(verdict.Message, words) {
			t.Errorf("no %q in %q", words, verdict.Message)
		}
	}
}

func TestAPodWithoutResolvConfWaitsForItsController(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1)
	j.setenv(resolvConfVariable, filepath.Join(j.dir, "none"))
	j.nodes()
	j.script("mpirun", fakeMPIRun)
	launcher := j.launch([]string{"--dns-after", "1ms"}, "mpirun")
	if result, err := j.push(); err != nil || !result.Passed {
		t.Error(result, err)
	}
	if got := launcher.wait(); got.code != 0 || !strings.Contains(got.stderr, "DNS will not be asked") {
		t.Error(got)
	}
}

// The hosts file of the pod is replaced in a mount namespace of the test's own.
func TestGateWritesHostsWhereThePodHasAFileOfItsOwn(t *testing.T) {
	t.Parallel()
	asRoot(t)
	j := newJob(t, 1)
	j.nodes()
	hosts := filepath.Join(j.dir, "hosts")
	j.write(hosts, "", 0o644)
	script := fmt.Sprintf("mount --bind %s /etc/hosts && exec %s gate --listen %s --hostname demo-launcher-0-0 --hostfile %s --termination-log %s",
		hosts, filepath.Join(j.bin, "mpi-agent"), j.hosts[0].Address, j.hostfile, j.verdictAt)
	gate := start(t, j.environment(j.hosts[0]), "unshare", "--mount", "--propagation", "private", "sh", "-c", script)
	if result, err := j.push(); err != nil || !result.Passed {
		t.Fatal(result, err)
	}
	if got := gate.wait(); got.code != 0 {
		t.Fatal(got)
	}
	text, err := os.ReadFile(hosts)
	if err != nil || !strings.Contains(string(text), j.hosts[1].Address+" demo-node-0-0.demo demo-node-0-0\n") || !strings.Contains(string(text), "127.0.0.1 localhost\n") {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := os.ReadFile("/etc/hosts"); err != nil || strings.Contains(string(text), "demo-node") {
		t.Errorf("the machine's own file was changed: %v", err)
	}
}

// The Secret of a job as Kubeflow Trainer 2.3 mounts it: mode 0640, owned by root and the group of the pod, behind links.
func TestKeyIsReadAsItIsMounted(t *testing.T) {
	t.Parallel()
	asRoot(t)
	const user = 1000650000
	cases := map[string]struct {
		reason   string
		mode     os.FileMode
		owner    int
		group    uint32
		extra    []uint32
		readable bool
	}{
		"OpenShift":        {"group 0 is every pod's group there", 0o640, 0, 0, nil, true},
		"fsGroup":          {"kubelet gives files and processes the group", 0o640, 2000, 2000, []uint32{2000}, true},
		"fsGroup as extra": {"another primary group", 0o640, 2000, 3000, []uint32{2000}, true},
		"neither":          {"neither group 0 nor fsGroup", 0o640, 0, 3000, nil, false},
		"wide open":        {"the agent has no StrictModes: the file system of the pod is the pod's business", 0o644, 0, 3000, nil, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("/tmp", "key-") // t.TempDir is for its owner only
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			data := filepath.Join(dir, "..2026_11_21")
			key := filepath.Join(data, mpi.PrivateKeyFile)
			if err := os.MkdirAll(data, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, step := range []error{
				os.Chmod(dir, 0o755), os.WriteFile(key, agenttest.NewKeyPEM(t, elliptic.P521()), c.mode), os.Chown(key, 0, c.owner),
				os.Symlink("..2026_11_21", filepath.Join(dir, "..data")),
				os.Symlink(filepath.Join("..data", mpi.PrivateKeyFile), filepath.Join(dir, mpi.PrivateKeyFile)),
			} {
				if step != nil {
					t.Fatal(step)
				}
			}
			// It fails for lack of a host, unless it fails for lack of the key.
			command := exec.Command("/proc/self/exe", "rsh", "-o", "ConnectionAttempts=1", "127.0.0.1", "true")
			command.Env = []string{asAgent + "=1", "LOCKSTEP_KEY_DIR=" + dir, "LOCKSTEP_PORT=1", "LOCKSTEP_STATE_DIR=" + dir}
			command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: c.group, Groups: c.extra}}
			output, err := command.CombinedOutput()
			want := "connection refused"
			if !c.readable {
				want = "the pod needs an fsGroup or group 0"
			}
			if err == nil || !strings.Contains(string(output), want) {
				t.Errorf("%s: %v, %s", c.reason, err, output)
			}
		})
	}
}
