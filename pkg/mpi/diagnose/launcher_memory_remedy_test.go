package diagnose

import (
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/mpi"
)

// What raises the memory of nodes does nothing for a launcher beside them.
func TestWhoseMemory(t *testing.T) {
	const own = "the launcher's memory limit of 128Mi is the runtime's, and spec.trainer.resourcesPerNode does not change it"
	const nodes = "raise the memory limit (spec.trainer.resourcesPerNode"
	beside := func(pod *Pod) { pod.MemoryLimit = "128Mi" }
	oneOfThem := func(pod *Pod) { pod.MemoryLimit, pod.RunsRanks = "512Mi", true }
	inLauncher := mpi.Verdict{
		Reason: OOMKilled, ExitCode: 1, OOMKills: 1, LauncherOOMKills: 1, Host: "demo-launcher-0-0",
		Message: "Launcher failed: out of memory; the command `bash -c mpirun -n 4 mpi-hello; tail /dev/zero; echo rc $?; exit 1` exited with code 1; in the launcher's pod the kernel killed a process for lack of memory",
	}
	inWorker := mpi.Verdict{Reason: OOMKilled, ExitCode: 137, OOMKills: 1, Host: "demo-node-0-1.demo", Message: "Worker 1 failed: out of memory", Nodes: []mpi.NodeReport{{Name: "demo-node-0-1.demo", OOMKills: 1}}}
	both := inWorker
	both.OOMKills, both.LauncherOOMKills = 2, 1
	both.Message += "; in the launcher's pod the kernel killed a process for lack of memory"
	rank := inLauncher
	rank.Reason, rank.Host = RankFailed, "demo-node-0-1.demo"
	wide := both
	wide.Nodes = append(make([]mpi.NodeReport, 200), both.Nodes...)
	earlier := both
	earlier.LauncherOOMKills, earlier.Nodes = 0, nil
	unsaid := inLauncher
	unsaid.LauncherOOMKills = 0
	cannotAllocate := mpi.Verdict{Reason: OutOfMemory, ExitCode: 1, Message: "out of memory"}
	for name, tc := range map[string]struct {
		reason string
		pods   []Pod
		want   string
	}{
		"Launcher":          {"", []Pod{launcher(beside, said(t0, inLauncher)), worker()}, own},
		"LauncherUnknown":   {"a limit that is not known is not named", []Pod{launcher(said(t0, inLauncher))}, "the launcher's memory limit is the runtime's"},
		"LauncherOfNodes":   {"a launcher with ranks has the resources of a node", []Pod{launcher(oneOfThem, said(t0, inLauncher)), worker()}, nodes},
		"LauncherByKubelet": {"", []Pod{launcher(beside, died(t0, ContainerEnd{Code: 137, Reason: "OOMKilled"}))}, own},
		"Worker":            {"", []Pod{launcher(beside, said(t0, inWorker)), worker()}, nodes},
		"WorkerByKubelet":   {"", []Pod{launcher(beside), worker(died(t0, ContainerEnd{Code: 137, Reason: "OOMKilled"}))}, nodes},
		"Both":              {"", []Pod{launcher(beside, said(t0, both)), worker()}, nodes},
		"Wide":              {"a verdict that is too long has no report of the node where it was", []Pod{launcher(beside, said(t0, wide)), worker()}, nodes},
		"BothEarlierAgent":  {"an agent that does not say how many of them were in the launcher's pod", []Pod{launcher(beside, said(t0, earlier)), worker()}, nodes},
		"EarlierAgent":      {"it says where the failure was", []Pod{launcher(beside, said(t0, unsaid)), worker()}, own},
		"RankFailed":        {"the kernel killed in the launcher's pod only", []Pod{launcher(beside, said(t0, rank)), worker()}, own},
		"Program":           {"nobody knows where it ran", []Pod{launcher(beside, said(t0, cannotAllocate)), worker()}, "raise the memory limit (spec.trainer.resourcesPerNode)"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := FirstCause(tc.pods, nil); !strings.Contains(got.Remedy, tc.want) {
				t.Errorf("%s: want %q, got %s", tc.reason, tc.want, got.Text())
			}
		})
	}
}
