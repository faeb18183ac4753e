package main

import (
	"fmt"
	"maps"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"lockstep.dev/lockstep/pkg/mpi"
)

// How far ranks get on 1, 2, 4 and 8 nodes of one processor each, and what the stack that starts them costs: the agents, OpenSSH in their place,
// and nothing, where mpirun forks its ranks. The ranks are the same processes on the same processors in all three ways, and meet over TCP of one
// machine.
//
//	LOCKSTEP_TEST_SCALING=5 LOCKSTEP_TEST_MPICH=/opt/mpich LOCKSTEP_TEST_OPENMPI=/opt/openmpi go test ./cmd/mpi-agent -v -run Scaling -timeout 1h
//
// runs each way five times, in turns. LOCKSTEP_TEST_SCALING_SECONDS is how long steps of training are measured, LOCKSTEP_TEST_SCALING_WARM how long
// they run before that, LOCKSTEP_TEST_SCALING_ROWS how many rows the matrix of HPCC has for one rank, and LOCKSTEP_TEST_AGENT an agent as it is
// released, which starts faster than this test as one.
//
// It wants root, python3 with mpi4py and NumPy, OpenSSH's server, a processor for each node and one more, and nothing else running. Nodes are PID
// namespaces, as pods are, and everything of a node keeps to its processor: what its agent or sshd takes is taken from its rank.
const scalingVariable = "LOCKSTEP_TEST_SCALING"

// ways are how ranks are started, the one first with which the others are compared.
var ways = []string{"bare", "ssh", "agent"}

func TestScaling(t *testing.T) {
	rounds, _ := strconv.Atoi(os.Getenv(scalingVariable))
	if rounds < 1 {
		t.Skip("NOTHING RAN: " + scalingVariable + " is how many rounds to run, with nothing else on the machine")
	}
	asRoot(t)
	train, err := filepath.Abs(filepath.Join("testdata", "scaling", "train.py"))
	if err != nil {
		t.Fatal(err)
	}
	python, err := exec.LookPath("python3") // whatever PATH a login shell makes
	if err != nil {
		t.Fatal(err)
	}
	hpcc := filepath.Join(filepath.Dir(train), "hpcc.sh")
	rows, err := strconv.ParseFloat(valueOr("LOCKSTEP_TEST_SCALING_ROWS", "2000"), 64)
	if err != nil {
		t.Fatal(err)
	}
	for _, nodes := range []int{1, 2, 4, 8} {
		for _, library := range []string{"mpich", "openmpi"} {
			t.Run(fmt.Sprintf("train, %s, nodes: %d", library, nodes), func(t *testing.T) {
				compareWays(t, library, nodes, rounds, python, train, valueOr("LOCKSTEP_TEST_SCALING_SECONDS", "3"), valueOr("LOCKSTEP_TEST_SCALING_WARM", "0"))
			})
		}
		// Debian's program is linked with Open MPI. Each rank has as many elements of the matrix, whatever the number of ranks.
		t.Run(fmt.Sprintf("hpcc, openmpi, nodes: %d", nodes), func(t *testing.T) {
			if _, err := exec.LookPath("hpcc"); err != nil {
				t.Skip("NOTHING RAN: there is no hpcc, the HPC Challenge")
			}
			compareWays(t, "openmpi", nodes, rounds, hpcc, strconv.Itoa((nodes+3)/4), strconv.Itoa(min(nodes, 4)), strconv.Itoa(int(rows*math.Sqrt(float64(nodes)))))
		})
	}
}

func valueOr(variable, value string) string {
	if set := os.Getenv(variable); set != "" {
		return set
	}
	return value
}

// compareWays runs a program in each way, in turns, and prints what it measured.
func compareWays(t *testing.T, library string, nodes, rounds int, program ...string) {
	t.Helper()
	measured := map[string]map[string][]float64{} // name, way, rounds
	for round := range rounds {
		for turn := range ways {
			way := ways[(round+turn)%len(ways)] // none is always first
			values := runWay(t, way, library, nodes, program)
			t.Logf("round %d, %s: %v", round+1, way, values)
			for name, value := range values {
				if measured[name] == nil {
					measured[name] = map[string][]float64{}
				}
				measured[name][way] = append(measured[name][way], value)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(measured)) {
		bare := measured[name][ways[0]]
		for _, way := range ways {
			values := measured[name][way]
			if len(values) == 0 { // the gate, which only agents have
				continue
			}
			line := fmt.Sprintf("RESULT %d %-24s %-5s median %.5g, %.5g to %.5g", nodes, name, way, median(values), slices.Min(values), slices.Max(values))
			if way != ways[0] && len(bare) == len(values) && median(bare) > 0 {
				ratios := make([]float64, len(values))
				for i := range values {
					ratios[i] = values[i] / bare[i]
				}
				line += fmt.Sprintf("; of bare %.4f, in a round %.4f to %.4f", median(values)/median(bare), slices.Min(ratios), slices.Max(ratios))
			}
			t.Log(line)
		}
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// said finds what programs say of themselves.
var said = regexp.MustCompile(`(?m)(^| )([A-Za-z_]+)=([0-9.e+-]+)`)

// runWay runs a program once, and returns the numbers that it printed by name. Of its start it returns two: `gate` is from the start of the
// launcher's agent to mpirun, `start` from there until all ranks had come through MPI_Init.
func runWay(t *testing.T, way, library string, nodes int, program []string) map[string]float64 {
	t.Helper()
	j := newScalingJob(t, library, nodes)
	command := append([]string{"bash", "-c", `echo "launched=$EPOCHREALTIME"; exec "$@"`, "bash", "mpirun", "-n", strconv.Itoa(nodes)}, program...)
	began := time.Now()
	var launching *running
	switch way {
	case "bare":
		launching = j.bare(library, command)
	case "ssh":
		j.openSSH()
		launching = start(t, j.environment(j.hosts[0]), onProcessor(nodes, inPod(command...)...)...)
	case "agent":
		for i := range nodes {
			j.scalingNode(i, filepath.Join(j.bin, "mpi-agent"), "serve", "--listen", j.hosts[i+1].Address)
		}
		began = time.Now()
		launching = start(t, j.environment(j.hosts[0]), onProcessor(nodes, inPod(append([]string{
			filepath.Join(j.bin, "mpi-agent"), "run", "--listen", j.hosts[0].Address,
			"--hostname", "demo-launcher-0-0", "--hostfile", j.hostfile, "--termination-log", j.verdictAt, "--",
		}, command...)...)...)...)
		if result, err := j.push(); err != nil || !result.Passed {
			t.Fatal(result, err)
		}
	}
	got := launching.wait()
	if got.code != 0 || way == "agent" && !j.verdict().Succeeded() {
		t.Fatalf("%s: exit code %d\n%s%s", way, got.code, got.stdout, got.stderr)
	}
	j.stop()
	values := map[string]float64{}
	for _, line := range strings.Split(got.stdout, "\n") {
		kind, _, _ := strings.Cut(line, " ")
		for _, m := range said.FindAllStringSubmatch(line, -1) {
			name := m[2]
			if m[1] == " " {
				name = kind + " " + name
			}
			if value, err := strconv.ParseFloat(m[3], 64); err == nil && value >= 0 { // -1 was not measured
				values[name] = value
			}
		}
	}
	if values["started"] != 0 {
		values["start"] = values["started"] - values["launched"]
	}
	if way == "agent" {
		values["gate"] = values["launched"] - float64(began.UnixMicro())/1e6
	}
	delete(values, "launched")
	delete(values, "started")
	return values
}

// environment is that of a pod, with a folder for what daemons of Open MPI leave behind: their names are numbers of processes, which are the same in
// all pods.
func (j *scalingJob) environment(host mpi.HostAddress) []string {
	j.t.Helper()
	if j.temporary[host.Name] == "" {
		dir, err := os.MkdirTemp("", "pod")
		if err != nil {
			j.t.Fatal(err)
		}
		j.t.Cleanup(func() { _ = os.RemoveAll(dir) })
		j.temporary[host.Name] = dir
	}
	return append(j.job.environment(host), "TMPDIR="+j.temporary[host.Name])
}

// scalingJob is a job whose nodes are processors.
type scalingJob struct {
	*job
	nodes     []*running
	temporary map[string]string // folders of pods
}

func newScalingJob(t *testing.T, library string, nodes int) *scalingJob {
	t.Helper()
	j := &scalingJob{job: newJob(t, nodes), temporary: map[string]string{}}
	world := mpi.World{Nodes: int32(nodes), SlotsPerNode: 1}
	j.write(j.hostfile, mpi.FormatHostfile(mpi.ORTE, mpi.HostsOf("demo", world)), 0o644)
	if agent := os.Getenv("LOCKSTEP_TEST_AGENT"); agent != "" {
		j.bin = t.TempDir()
		for name, target := range map[string]string{"mpi-agent": agent, "rsh": "mpi-agent", "ssh": "mpi-agent"} {
			if err := os.Symlink(target, filepath.Join(j.bin, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Ranks of one machine would else take shared memory where they know that they are on one, and other algorithms.
	switch library {
	case "mpich":
		j.useMPI(mpi.Hydra, mpichVariable)
		j.setenv("MPIR_CVAR_CH4_NETMOD", "ofi")
		j.setenv("FI_PROVIDER", "tcp")
		j.setenv("FI_TCP_IFACE", "lo")
		j.setenv("MPIR_CVAR_NOLOCAL", "1")
	case "openmpi":
		j.useMPI(mpi.PRRTE, openMPIVariable)
		for _, name := range []string{"PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"} {
			j.setenv(name, "1")
		}
		j.setenv("PRTE_MCA_prte_if_include", ethernet(t))
		j.setenv("OMPI_MCA_pml", "ob1")
		j.setenv("OMPI_MCA_btl", "tcp,self")
		j.setenv("OMPI_MCA_btl_tcp_if_include", ethernet(t))
		j.setenv("OMPI_MCA_coll", "^han,sm,xhc,acoll")
	}
	j.setenv("OPENBLAS_NUM_THREADS", "1")
	return j
}

// onProcessor returns the words of a command that keeps to a processor.
func onProcessor(number int, argv ...string) []string {
	return append([]string{"taskset", "--cpu-list", strconv.Itoa(number % runtime.NumCPU())}, argv...)
}

// inPod returns the words of a command that sees no processes but its own.
func inPod(argv ...string) []string {
	return append([]string{"unshare", "--pid", "--fork", "--kill-child", "--mount-proc"}, argv...)
}

// scalingNode starts a server on the processor of node i, under a host name and a numbering of processes of its own.
func (j *scalingJob) scalingNode(i int, argv ...string) {
	j.t.Helper()
	hostname, _, _ := strings.Cut(j.hosts[i+1].Name, ".")
	words := append([]string{"sh", "-c", `echo "$0" > /proc/sys/kernel/hostname && exec "$@"`, hostname}, argv...)
	j.nodes = append(j.nodes, start(j.t, j.environment(j.hosts[i+1]), onProcessor(i, append([]string{"unshare", "--uts"}, inPod(words...)...)...)...))
}

// stop ends the nodes: those of a later run would share the processors with them.
func (j *scalingJob) stop() {
	for _, node := range j.nodes {
		_ = node.command.Process.Kill()
		_ = node.command.Wait()
	}
}

// bare starts a command whose mpirun knows no other host.
func (j *scalingJob) bare(library string, command []string) *running {
	j.t.Helper()
	environment := slices.DeleteFunc(j.environment(j.hosts[0]), func(variable string) bool {
		return strings.HasPrefix(variable, "HYDRA_") || strings.HasPrefix(variable, "PRTE_MCA_plm_") || strings.HasPrefix(variable, "PRTE_MCA_prte_default_hostfile")
	})
	nodes := len(j.hosts) - 1
	if library == "openmpi" {
		environment = append(environment, fmt.Sprintf("PRTE_MCA_prte_default_hostfile=%s", filepath.Join(j.dir, "localhost")))
		j.write(filepath.Join(j.dir, "localhost"), fmt.Sprintf("localhost slots=%d\n", nodes), 0o644)
	} else {
		environment = append(environment, "HYDRA_LAUNCHER=fork")
	}
	// Ranks begin where mpirun is, and shall not wait there for each other until they have chosen their processors.
	return start(j.t, environment, inPod(command...)...)
}

// openSSH starts OpenSSH's server on each node, with the job's key and the variables of a pod, and lets mpirun call its client.
func (j *scalingJob) openSSH() {
	j.t.Helper()
	server, client := j.program("sshd"), j.program("ssh")
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // privilege separation
		j.t.Fatal(err)
	}
	key := filepath.Join(j.keyDir, "id_rsa")
	pem, err := os.ReadFile(key)
	if err != nil {
		j.t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey(pem)
	if err != nil {
		j.t.Fatal(err)
	}
	j.write(key+".pub", string(ssh.MarshalAuthorizedKey(signer.PublicKey())), 0o644)
	config := filepath.Join(j.dir, "ssh_config")
	text := fmt.Sprintf("IdentityFile %s\nPort %d\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n", key, j.port)
	for i, host := range j.hosts[1:] {
		serverConfig := filepath.Join(j.dir, host.Name, "sshd_config")
		j.write(serverConfig, fmt.Sprintf("HostKey %s\nAuthorizedKeysFile %s.pub\nListenAddress %s\nPort %d\nStrictModes no\nUsePAM no\nUseDNS no\nPermitRootLogin yes\nPidFile none\nSetEnv %s\n",
			key, key, host.Address, j.port, quoteVariables(j.environment(host))), 0o600)
		j.scalingNode(i, server, "-D", "-e", "-f", serverConfig)
		text += fmt.Sprintf("Host %s\nHostName %s\n", host.Name, host.Address)
	}
	j.write(config, text, 0o600)
	remoteShell := j.script("remote-shell", fmt.Sprintf("#!/bin/sh\nexec %s -F %s \"$@\"\n", client, config))
	j.write(filepath.Join(j.dir, j.hosts[0].Name, "hostfile.hydra"), mpi.FormatHostfile(mpi.Hydra, mpi.HostsOf("demo", mpi.World{Nodes: int32(len(j.nodes)), SlotsPerNode: 1})), 0o644)
	j.setenv("HYDRA_LAUNCHER_EXEC", remoteShell)
	j.setenv("PRTE_MCA_plm_ssh_agent", remoteShell)
	for _, host := range j.hosts[1:] {
		j.awaitServer(host)
	}
}

// program returns the path of a program of the machine, by which sshd has to be called.
func (j *scalingJob) program(name string) string {
	j.t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		j.t.Skip("NOTHING RAN: " + err.Error())
	}
	return path
}

// quoteVariables returns variables as sshd_config has them, of which the first one of a name counts.
func quoteVariables(variables []string) string {
	var quoted []string
	for _, variable := range slices.Backward(variables) {
		quoted = append(quoted, strconv.Quote(variable))
	}
	return strings.Join(quoted, " ")
}

func (j *scalingJob) awaitServer(host mpi.HostAddress) {
	j.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		connection, err := net.DialTimeout("tcp", net.JoinHostPort(host.Address, strconv.Itoa(j.port)), time.Second)
		if err == nil {
			_ = connection.Close()
			return
		}
		if time.Now().After(deadline) {
			for _, node := range j.nodes {
				j.t.Log(node.stderr.String())
			}
			j.t.Fatal(err)
		}
	}
}
