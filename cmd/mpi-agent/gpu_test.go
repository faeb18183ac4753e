package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/agenttest"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// These tests run on a machine with an NVIDIA GPU, and PyTorch with CUDA as `python3`; nowhere else does anything of them run. MPICH and Open MPI
// 5 are wanted where these variables say, and else those jobs are left out. docs/guide/gpu.md has what they showed.
const (
	mpichVariable   = "LOCKSTEP_TEST_MPICH"
	openMPIVariable = "LOCKSTEP_TEST_OPENMPI"
)

// onGPU skips a test where there is no GPU.
func onGPU(t *testing.T) {
	t.Helper()
	asRoot(t)
	if _, err := os.Stat("/dev/nvidia0"); err != nil {
		t.Skip("NOTHING RAN: this machine has no NVIDIA GPU (/dev/nvidia0)")
	}
}

// torchrunLoop starts torchrun on each node, and ends with the first that fails: ranks in NCCL may wait for long for one that is gone.
const torchrunLoop = `number=0 pids=
while read -r host _; do
  ssh "$host" torchrun --nnodes $(grep -c . "$HOSTFILE") --nproc_per_node 1 --node_rank $number --master_addr "$MASTER_ADDR" --master_port "$MASTER_PORT" "$@" < /dev/null &
  pids="$pids $!" number=$((number + 1))
done < "$HOSTFILE"
for pid in $pids; do wait -n || exit; done`

// newGPUJob makes a job whose nodes share the GPU, with a rank each, and returns the words that start a program by a launcher.
func newGPUJob(t *testing.T, launcher string, nodes int) (*job, []string) {
	t.Helper()
	j := newJob(t, nodes)
	world := mpi.World{Nodes: int32(nodes), SlotsPerNode: 1}
	j.write(j.hostfile, mpi.FormatHostfile(mpi.ORTE, mpi.HostsOf("demo", world)), 0o644)
	j.setenv("MASTER_ADDR", "127.0.0.1")
	j.setenv("MASTER_PORT", strconv.Itoa(freePort(t)))
	switch launcher {
	case "torchrun in order": // which waits for the first node, whoever fails
		return j, []string{"bash", "-c", strings.Replace(torchrunLoop, "wait -n", "wait $pid", 1), "bash"}
	case "torchrun":
		return j, []string{"bash", "-c", torchrunLoop, "bash"}
	case "mpich":
		j.useMPI(mpi.Hydra, mpichVariable)
		return j, []string{"mpirun", "python3"}
	case "openmpi":
		j.useMPI(mpi.PRRTE, openMPIVariable)
		for _, name := range []string{"PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"} {
			j.setenv(name, "1")
		}
		j.setenv("PRTE_MCA_prte_if_include", ethernet(t))
		return j, []string{"mpirun", "python3"}
	}
	t.Fatal(launcher)
	return nil, nil
}

// useMPI gives the pods an MPI and what a runtime of its dialect sets.
func (j *job) useMPI(dialect mpi.Dialect, variable string) {
	j.t.Helper()
	prefix := os.Getenv(variable)
	if prefix == "" {
		j.t.Skipf("NOTHING RAN: %s names no MPI", variable)
	}
	j.setenv("PATH", strings.Join([]string{j.bin, j.scripts, filepath.Join(prefix, "bin"), os.Getenv("PATH")}, ":"))
	j.setenv("LD_LIBRARY_PATH", filepath.Join(prefix, "lib"))
	places := map[string]string{ // of this job
		mpi.HostfilePath: j.hostfile, mpi.HydraHostfilePath: filepath.Join(j.dir, j.hosts[0].Name, "hostfile.hydra"), mpi.RshBin: filepath.Join(j.bin, "rsh"),
	}
	for _, v := range mpi.Environment(dialect, mpi.Network{}) {
		if place, is := places[v.Value]; is {
			v.Value = place
		}
		j.setenv(v.Name, v.Value)
	}
}

// machine starts the agent of node i under a host name of its own: daemons of Open MPI 5, and NCCL, take nodes of one name for one machine.
func (j *job) machine(i int) *running {
	j.t.Helper()
	hostname, _, _ := strings.Cut(j.hosts[i+1].Name, ".")
	return start(j.t, j.environment(j.hosts[i+1]), "unshare", "--uts", "sh", "-c", `echo "$HOSTNAME" > /proc/sys/kernel/hostname && exec "$@"`, "sh",
		filepath.Join(j.bin, "mpi-agent"), "serve", "--listen", j.hosts[i+1].Address, "--hostname", hostname)
}

// trainOnGPU runs the program in a mode and returns how the launcher ended, its verdict, and what the condition of the job says.
func (j *job) trainOnGPU(starter []string, mode string) (ended, mpi.Verdict, string) {
	j.t.Helper()
	program, err := filepath.Abs(filepath.Join("testdata", "gpu", "train.py"))
	if err != nil {
		j.t.Fatal(err)
	}
	for i := range len(j.hosts) - 1 {
		j.machine(i)
	}
	launching := j.launch(nil, append(starter, program, mode)...)
	if result, err := j.push(); err != nil || !result.Passed {
		j.t.Fatal(result, err)
	}
	got := launching.wait()
	text, err := os.ReadFile(j.verdictAt)
	if err != nil {
		j.t.Fatal(err)
	}
	pods := []diagnose.Pod{{Name: "demo-launcher-0-0-x7x2p", Role: mpi.LauncherJob, Failed: got.code != 0, Containers: []diagnose.Container{
		{Name: mpi.Container, End: &diagnose.ContainerEnd{Code: got.code, Message: string(text), At: time.Now()}},
	}}}
	for i := range len(j.hosts) - 1 {
		pods = append(pods, diagnose.Pod{Name: fmt.Sprintf("demo-node-0-%d-x7x2p", i), Role: mpi.NodeJob, Index: i})
	}
	condition := ""
	if cause := diagnose.FirstCause(pods, nil); cause != nil {
		condition = string(cause.Reason) + ": " + cause.Text()
	}
	j.t.Logf("exit code %d\n--- standard output\n%s\n--- standard error\n%s\n--- verdict\n%s\n--- condition\n%s", got.code, got.stdout, got.stderr, text, condition)
	return got, j.verdict(), condition
}

func TestTrainingOnAGPU(t *testing.T) {
	t.Parallel()
	onGPU(t)
	for _, launcher := range []string{"torchrun", "mpich", "openmpi"} {
		for _, nodes := range []int{1, 2} {
			t.Run(launcher+", nodes: "+strconv.Itoa(nodes), func(t *testing.T) {
				t.Parallel()
				j, starter := newGPUJob(t, launcher, nodes)
				got, verdict, _ := j.trainOnGPU(starter, "steps")
				if !verdict.Succeeded() || verdict.Message != "" || strings.Count(got.stdout, " 50 steps on ") != nodes {
					t.Errorf("%+v", verdict)
				}
			})
		}
	}
	for _, launcher := range []string{"mpich", "openmpi"} {
		t.Run(launcher+", through the host", func(t *testing.T) {
			t.Parallel()
			j, starter := newGPUJob(t, launcher, 2)
			got, verdict, _ := j.trainOnGPU(starter, "through-host")
			if !verdict.Succeeded() || strings.Count(got.stdout, "added up by") != 2 {
				t.Errorf("%+v", verdict)
			}
		})
	}
}

func TestNCCLSaysHowItWorks(t *testing.T) {
	t.Parallel()
	onGPU(t)
	for _, launcher := range []string{"torchrun", "mpich", "openmpi"} {
		t.Run(launcher, func(t *testing.T) {
			t.Parallel()
			j, starter := newGPUJob(t, launcher, 2)
			for _, v := range mpi.NCCLVariables() {
				j.setenv(v.Name, v.Value)
			}
			got, verdict, _ := j.trainOnGPU(starter, "steps")
			for _, words := range []string{"NCCL INFO NCCL version ", "NCCL_HOSTID set by environment to machine-1", "NCCL INFO NET/Socket : Using", "Init COMPLETE"} {
				if !strings.Contains(got.stdout, words) {
					t.Errorf("no %q in the log of the launcher", words)
				}
			}
			if !verdict.Succeeded() {
				t.Errorf("%+v", verdict)
			}
		})
	}
}

func TestFailuresOnAGPU(t *testing.T) {
	t.Parallel()
	onGPU(t)
	// modes are what happens, the reason that a user reads and the line that explains it.
	modes := map[string]struct {
		reason mpi.Reason
		says   string // in the message
		line   string // among the last lines
	}{
		"out-of-memory":      {diagnose.CUDAOutOfMemory, "CUDA out of memory (rank 1 exited with code 1)", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate"},
		"duplicate":          {diagnose.NCCLFailed, ": Duplicate GPU detected : rank ", "Duplicate GPU detected"},
		"no-gpu":             {diagnose.GPUUnavailable, "no GPU: ", "No CUDA GPUs are available"},
		"no-gpu-for-nccl":    {diagnose.GPUUnavailable, "no GPU: ", "no GPUs found"},
		"ordinal":            {diagnose.GPUUnavailable, "no GPU: ", "invalid device ordinal"},
		"device-assert":      {diagnose.CUDAFailed, "Assertion `srcIndex < srcSelectDimSize` failed (Indexing.cu:", "device-side assert triggered"},
		"illegal-address":    {diagnose.CUDAFailed, "an illegal memory access was encountered", "torch.AcceleratorError: CUDA error: an illegal memory access was encountered"},
		"killed":             {diagnose.RankKilled, "rank 1 was killed by SIGKILL", ""},
		"leaves":             {diagnose.RankFailed, "rank 1 exited with code 7", ""},
		"late":               {diagnose.NCCLTimeout, "a collective operation of NCCL did not end in time: rank 1 did not come to it", "Watchdog caught collective operation timeout"},
		"hang":               {mpi.ReasonHang, "; rank 1 (", ""},
		"cupy-out-of-memory": {diagnose.CUDAOutOfMemory, "CUDA out of memory (rank 1 exited with code 1)", "Out of memory allocating"},
		"jax-out-of-memory":  {diagnose.CUDAOutOfMemory, "CUDA out of memory (rank 1 exited with code 1)", "RESOURCE_EXHAUSTED"},
	}
	for mode, want := range modes {
		for _, launcher := range []string{"torchrun", "torchrun in order", "mpich", "openmpi"} {
			if launcher == "torchrun in order" && mode != "out-of-memory" && mode != "killed" {
				continue // each takes the time of the hang
			}
			t.Run(mode+" under "+launcher, func(t *testing.T) {
				t.Parallel()
				j, starter := newGPUJob(t, launcher, 2)
				hang := "50s" // no other job waits so long
				if mode == "hang" {
					hang = "15s"
				}
				j.setenv("LOCKSTEP_HANG_AFTER", hang)
				got, verdict, _ := j.trainOnGPU(starter, mode)
				if got.code == 0 || verdict.Reason != want.reason || !strings.Contains(verdict.Message, want.says) || !strings.Contains(strings.Join(verdict.Lines, "\n"), want.line) {
					t.Errorf("want %s, %q and a line with %q", want.reason, want.says, want.line)
				}
				if who := verdict.Rank; mode != "hang" && (who == nil || who.Rank == nil || *who.Rank != 1 && mode != "duplicate" && mode != "no-gpu-for-nccl" && mode != "late") {
					t.Errorf("the rank is %+v", who)
				}
			})
		}
	}
}

// The agent does nothing between two steps. What it costs is measured, and printed, as turns of the same program with and without it.
func TestStepTimesOnAGPU(t *testing.T) {
	onGPU(t)
	if os.Getenv("LOCKSTEP_TEST_GPU_TIMES") == "" {
		t.Skip("NOTHING RAN: LOCKSTEP_TEST_GPU_TIMES=1 runs it, with nothing else on the machine")
	}
	for range 5 {
		bare, err := exec.Command("python3", "testdata/gpu/train.py", "step-times").Output()
		if err != nil {
			t.Fatal(err)
		}
		j, starter := newGPUJob(t, "mpich", 1)
		got, _, _ := j.trainOnGPU(starter, "step-times")
		t.Logf("bare:\n%sthrough the agent:\n%s", bare, got.stdout)
	}
}

// ethernet returns an interface other than the loopback one, which daemons of Open MPI 5 do not take.
func ethernet(t *testing.T) string {
	t.Helper()
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range interfaces {
		addresses, _ := i.Addrs()
		if i.Flags&net.FlagUp != 0 && i.Flags&net.FlagLoopback == 0 && len(addresses) > 0 {
			return i.Name
		}
	}
	t.Skip("NOTHING RAN: Open MPI 5 wants an interface other than the loopback one")
	return ""
}

// freePort returns a port of the loopback interface that was free a moment ago.
func freePort(t *testing.T) int {
	t.Helper()
	_, port := agenttest.FreeAddresses(t, 1)
	return port
}
