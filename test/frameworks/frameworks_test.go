package frameworks

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/test/frameworks/results"
	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/testjob"
)

const (
	yes = "yes"
	not = results.NotApplicable

	horovod   = "torch-train --with horovod"
	torch     = "torch-train --with torch"
	deepspeed = "torch-train --with deepspeed"
	// accelerate takes the backend MPI unless it is told another.
	accelerate = "torch-train --with accelerate"
	tensorflow = "tensorflow-train"
	// another is told where rank 2 took others along that were gone first, or where a launcher around it ended with a code of its own (docs/limits.md).
	another = "RankFailed"
	// noEnd is told where a job is still running when its time is over: who leaves Python waits for all others, where mpi4py or PyTorch's backend
	// ends MPI for it (docs/limits.md).
	noEnd = "no end"
	// imb is some of Intel's benchmarks.
	imb = "mpirun IMB-MPI1 -iter 100 -msglog 10:12 -time 2 PingPong Allreduce"
	// first is the host of rank 0, which torch.distributed does not know under mpirun.
	first = `MASTER_ADDR=$(head -n 1 ` + mpi.HostfilePath + ` | cut -d ' ' -f 1)`
)

// torchrun is started on each node by ssh, as its documentation says of machines without a scheduler. PyTorch 1.13 cannot pass on the output of
// ranks under Python 3.11, and needs -r and -t instead.
const torchrun = `number=0 pids=
export ` + first + `
while read -r host _; do
  ssh "$host" torchrun -r 1 -t 1 --log_dir /tmp/torchrun --nnodes 2 --nproc_per_node 2 --node_rank $number --master_addr "$MASTER_ADDR" --master_port 29500 \
    /usr/local/bin/%s < /dev/null &
  pids="$pids $!" number=$((number + 1))
done < ` + mpi.HostfilePath + `
for pid in $pids; do wait -n || exit; done`

// hpccPassed is what HPCC says where none of its results was wrong.
const hpccPassed = `(?m)^Success=1$`

// ownTests is the last word of each rank of mpi4py's own tests.
const ownTests = `(?s)Ran \d\d\d+ tests.*OK`

// mpi4py's own tests, a rank for each processor: where there are more, each spins while it waits. Tests that spawn crash Open MPI 5's mpirun itself
// (docs/limits.md), those of files wait for ever where the nodes share no folder, and windows of shared memory are refused between nodes.
const (
	betweenNodes = "python3 /usr/local/share/mpi4py/test/main.py -q -e spawn -e io -x AllocateSharedWorld"
	onOneNode    = "python3 /usr/local/share/mpi4py/test/main.py -q -i io -i win"
)

// way is one way to start a framework.
type way struct {
	framework, launcher, mpi, runtime string
	nodes                             int32
	// command is for bash, and of a training that can fail, %s is the program with its arguments.
	command, program string
	// witness is a line of the log of a suite that is not a training.
	witness string
	// exit, killed and memory are what is known to be told instead of the rank, each time or now and then (docs/limits.md).
	exit, killed, memory []string
}

var ways = []way{
	{framework: "C", launcher: "mpirun", mpi: "Open MPI 4.1.4", runtime: "openmpi4-cpu", witness: `(?m)^rank=3 size=4 .* ok$`, command: "mpirun mpi-hello"},
	{framework: "mpi4py", launcher: "mpirun", mpi: "Open MPI 5.0.7", runtime: "openmpi5-cpu", command: "mpirun mpi-train"},
	{framework: "mpi4py", launcher: "mpirun", mpi: "MPICH 4.2.1", runtime: "mpich-cpu", command: "mpirun mpi-train"},
	{framework: "mpi4py", launcher: "mpirun", mpi: "Intel MPI 2021.18", runtime: "intelmpi-cpu", command: "mpirun mpi-train"},
	{framework: "mpi4py", launcher: "mpiexec.hydra", mpi: "Intel MPI 2021.18", runtime: "intelmpi-cpu", command: "mpiexec.hydra mpi-train"},
	{framework: "IMB-MPI1", launcher: "mpirun", mpi: "Intel MPI 2021.18", runtime: "intelmpi-cpu", witness: `(?m)^# All processes entering MPI_Finalize`,
		command: imb},
	{framework: "IMB-MPI1", launcher: "mpirun", mpi: "Intel MPI 2021.18", runtime: "intelmpi-cpu", nodes: 4, witness: `(?m)^# All processes entering MPI_Finalize`,
		command: imb},
	{framework: "HPCC 1.5", launcher: "mpirun", mpi: "Open MPI 5.0.7", runtime: "torch-cpu", witness: hpccPassed, command: "mpirun hpcc-small 2 2"},
	{framework: "HPCC 1.5", launcher: "mpirun", mpi: "Open MPI 5.0.7", runtime: "torch-cpu", nodes: 4, witness: hpccPassed,
		command: "mpirun --mca mpi_yield_when_idle 1 hpcc-small 2 4"},
	{framework: "HPCC 1.5", launcher: "mpirun", mpi: "Open MPI 4.1.4", runtime: "openmpi4-cpu", witness: hpccPassed, command: "mpirun hpcc-small 2 2"},
	{framework: "HPCC 1.5", launcher: "mpirun", mpi: "Open MPI 4.1.4", runtime: "openmpi4-cpu", nodes: 4, witness: hpccPassed,
		command: "mpirun --map-by ppr:1:node hpcc-small 2 2"},
	{framework: "HPCC 1.5", launcher: "mpirun", mpi: "MPICH 4.2.1", runtime: "mpich-cpu", witness: hpccPassed, command: "mpirun hpcc-small 2 2"},
	{framework: "HPCC 1.5", launcher: "mpirun", mpi: "MPICH 4.2.1", runtime: "mpich-cpu", nodes: 4, witness: hpccPassed, command: "mpirun -ppn 1 -n 4 hpcc-small 2 2"},
	{framework: "HPCC 1.5", launcher: "mpirun", mpi: "Intel MPI 2021.18", runtime: "intelmpi-cpu", witness: hpccPassed, command: "mpirun hpcc-small 2 2"},
	{framework: "HPCC 1.5", launcher: "mpirun", mpi: "Intel MPI 2021.18", runtime: "intelmpi-cpu", nodes: 4, witness: hpccPassed, command: "mpirun -ppn 1 -n 4 hpcc-small 2 2"},
	{framework: "mpi4py's own tests", launcher: "mpirun", mpi: "Open MPI 5.0.7", runtime: "torch-cpu", witness: ownTests, command: "mpirun --map-by ppr:1:node " + betweenNodes},
	{framework: "mpi4py's own tests", launcher: "mpirun", mpi: "Open MPI 5.0.7", runtime: "torch-cpu", nodes: 4, witness: ownTests,
		command: "mpirun --map-by ppr:1:node --mca mpi_yield_when_idle 1 " + betweenNodes},
	{framework: "mpi4py's own tests of files and windows", launcher: "mpirun", mpi: "Open MPI 5.0.7", runtime: "torch-cpu", nodes: 1, witness: ownTests, command: "mpirun " + onOneNode},
	{framework: "mpi4py's own tests", launcher: "mpirun", mpi: "MPICH 4.2.1", runtime: "mpich-cpu", witness: ownTests, command: "mpirun -ppn 1 -n 2 " + betweenNodes},
	{framework: "mpi4py's own tests of files and windows", launcher: "mpirun", mpi: "MPICH 4.2.1", runtime: "mpich-cpu", nodes: 1, witness: ownTests, command: "mpirun " + onOneNode},
	{framework: "mpi4py's own tests", launcher: "mpirun", mpi: "Intel MPI 2021.18", runtime: "intelmpi-cpu", witness: ownTests,
		// What is true in Fortran is not known where no Fortran is.
		command: "mpirun -ppn 1 -n 2 " + betweenNodes + " -x testGetFortranInfo"},
	{framework: "Horovod 0.28, PyTorch 1.13", launcher: "mpirun", mpi: "Open MPI 4.1.4", runtime: "horovod-torch-cpu", command: "mpirun %s", program: horovod, exit: []string{another}},
	{framework: "Horovod 0.28, PyTorch 1.13", launcher: "horovodrun --mpi", mpi: "Open MPI 4.1.4", runtime: "horovod-torch-cpu",
		command: "horovodrun --mpi -np 4 --hostfile " + mpi.HostfilePath + " %s", program: horovod, exit: []string{another}},
	{framework: "Horovod 0.28, PyTorch 1.13", launcher: "horovodrun --gloo", mpi: "none", runtime: "horovod-torch-cpu",
		command: "horovodrun --gloo -np 4 --hostfile " + mpi.HostfilePath + " %s", program: horovod, exit: []string{another}},
	{framework: "PyTorch 1.13, gloo", launcher: "torchrun", mpi: "none", runtime: "horovod-torch-cpu", command: torchrun, program: torch},
	{framework: "PyTorch 2.6, gloo", launcher: "mpirun", mpi: "Open MPI 5.0.7", runtime: "torch-cpu", command: "export " + first + "\nmpirun -x MASTER_ADDR %s", program: torch},
	{framework: "PyTorch 2.6, gloo", launcher: "mpirun", mpi: "Open MPI 5.0.7", runtime: "torch-cpu", nodes: 4, command: "export " + first + "\nmpirun -x MASTER_ADDR %s", program: torch},
	{framework: "PyTorch 2.6, MPI", launcher: "mpirun", mpi: "Open MPI 5.0.7", runtime: "torch-cpu", command: "mpirun %s", program: torch + " --backend mpi", exit: []string{noEnd},
		killed: []string{another}},
	{framework: "Horovod 0.28, TensorFlow 2.13", launcher: "mpirun", mpi: "Open MPI 4.1.4", runtime: "horovod-tensorflow-cpu", command: "mpirun %s", program: tensorflow,
		exit: []string{another, "PythonException"}},
	{framework: "Horovod 0.28, TensorFlow 2.13", launcher: "horovodrun --mpi", mpi: "Open MPI 4.1.4", runtime: "horovod-tensorflow-cpu",
		command: "horovodrun --mpi -np 4 --hostfile " + mpi.HostfilePath + " %s", program: tensorflow, exit: []string{another, "PythonException"}},
	{framework: "Horovod 0.28, TensorFlow 2.13", launcher: "horovodrun --gloo", mpi: "none", runtime: "horovod-tensorflow-cpu",
		command: "horovodrun --gloo -np 4 --hostfile " + mpi.HostfilePath + " %s", program: tensorflow, exit: []string{another}},
	{framework: "Accelerate 1.15, PyTorch 2.6, gloo", launcher: "mpirun accelerate launch", mpi: "Open MPI 5.0.7", runtime: "torch-cpu",
		command: "export " + first + "\nmpirun -x MASTER_ADDR accelerate launch --cpu /usr/local/bin/%s", program: accelerate, exit: []string{another}, killed: []string{another}},
	{framework: "Accelerate 1.15, PyTorch 2.6, MPI", launcher: "accelerate launch --mpirun_hostfile", mpi: "Open MPI 5.0.7", runtime: "torch-cpu",
		command: first + "\naccelerate launch --cpu --num_machines 2 --num_processes 4 --main_process_ip $MASTER_ADDR --main_process_port 29500 \\\n" +
			"  --mpirun_hostfile " + mpi.HostfilePath + " /usr/local/bin/%s", program: accelerate + " --backend mpi", exit: []string{noEnd},
		killed: []string{"CommandFailed"}},
	{framework: "DeepSpeed 0.19, PyTorch 2.6", launcher: "deepspeed (pdsh)", mpi: "none", runtime: "deepspeed-cpu",
		command: "deepspeed --hostfile " + mpi.HostfilePath + " /usr/local/bin/%s", program: deepspeed},
	{framework: "DeepSpeed 0.19, PyTorch 2.6", launcher: "deepspeed --launcher openmpi", mpi: "Open MPI 5.0.7", runtime: "deepspeed-cpu",
		command: "deepspeed --launcher openmpi --hostfile " + mpi.HostfilePath + " /usr/local/bin/%s", program: deepspeed, exit: []string{noEnd}},
	{framework: "DeepSpeed 0.19, PyTorch 2.6", launcher: "mpirun", mpi: "Open MPI 5.0.7", runtime: "deepspeed-cpu", command: "mpirun %s", program: deepspeed, exit: []string{noEnd}},
}

var _ = Describe("Frameworks", Ordered, ContinueOnFailure, func() {
	for i, w := range ways {
		It(fmt.Sprintf("run: %s by %s on %s, %d nodes", w.framework, w.launcher, w.mpi, w.size()), func(ctx SpecContext) {
			row := w.try(ctx, fmt.Sprintf("way-%d", i))
			rows = append(rows, row)
			Expect(row.Runs).To(Equal(yes))
			Expect(row.Learns).To(BeElementOf(yes, not))
			Expect(row.Exit).To(BeElementOf(append(w.exit, yes, not)))
			Expect(row.Killed).To(BeElementOf(append(w.killed, yes, not)))
			Expect(row.Memory).To(BeElementOf(append(w.memory, yes, not)))
		})
	}
})

// Where Kubeflow Trainer's own manager makes the pods, they are started in the same ways. What takes minutes, and more nodes, is not asked again.
var _ = Describe("Frameworks under stock Kubeflow Trainer, with our controller as companion", Ordered, ContinueOnFailure, func() {
	BeforeAll(func(ctx SpecContext) {
		undo, err := cluster.UseCompanion(ctx)
		DeferCleanup(func(ctx SpecContext) error { return undo(ctx) })
		Expect(err).NotTo(HaveOccurred())
		Expect(cluster.AdmitBeside(ctx, tenant, ofFrameworks...)).To(Succeed())
	}, NodeTimeout(platform.ScaleTimeout(15*time.Minute)))

	for i, w := range ways {
		if w.size() != nodes || w.witness == ownTests {
			continue
		}
		It(fmt.Sprintf("run: %s by %s on %s", w.framework, w.launcher, w.mpi), func(ctx SpecContext) {
			row := w.row()
			runs, learns := w.first(ctx, fmt.Sprintf("beside-%d", i))
			row.Companion = runs
			if runs == yes && learns != not {
				row.Companion = learns
			}
			rows = append(rows, row)
			Expect(row.Companion).To(Equal(yes))
		})
	}
})

// row is what names a way.
func (w way) row() results.Row {
	return results.Row{Framework: w.framework, Launcher: w.launcher, MPI: w.mpi, Runtime: w.runtime, Nodes: w.size()}
}

func (w way) size() int32 { return cmp.Or(w.nodes, nodes) }

// try runs a way, and then once more with a rank that exits, with one that is killed, and with one that takes more memory than its pod may have.
func (w way) try(ctx SpecContext, name string) results.Row {
	row := w.row()
	row.Image, row.Command, row.Date = imageOf(ctx, w.runtime), w.text(""), time.Now().UTC().Format(time.DateOnly)
	row.Digest = images[row.Image]
	row.Runs, row.Learns = w.first(ctx, name)
	row.Exit, row.Killed, row.Memory = not, not, not
	if w.program != "" && row.Runs == yes {
		row.Exit = w.fault(ctx, name+"-exit", " --fail 2:3", "RankFailed", "code 3", w.exit)
		row.Killed = w.fault(ctx, name+"-kill", " --fail 2:kill", "RankKilled", "SIGKILL", w.killed)
		row.Memory = w.fault(ctx, name+"-memory", " --fail 2:memory", "OOMKilled", "memory", w.memory)
	}
	return row
}

// first runs a way in which nothing fails.
func (w way) first(ctx SpecContext, name string) (runs, learns string) {
	result, log := run(ctx, jobTimeout, w.job(name, ""))
	switch {
	case result.Condition != "Complete":
		return cmp.Or(result.Reason, noEnd), not
	case w.witness != "":
		return said(regexp.MustCompile(w.witness).MatchString(log), "not its last words"), not
	}
	tolerance := 1e-6
	if w.program != "" {
		tolerance = 0.01 // 32-bit floats
	}
	if err := testjob.CheckLearned(log, int(w.size()), slots, tolerance); err != nil {
		return yes, err.Error()
	}
	return yes, yes
}

// fault is yes if the condition names rank 2 and how it ended, or the reason and what the condition says instead.
func (w way) fault(ctx SpecContext, name, arguments, reason, how string, known []string) string {
	limit := jobTimeout
	if slices.Contains(known, noEnd) {
		limit = hangTimeout
	}
	result, _ := run(ctx, limit, w.job(name, arguments))
	if result.Condition == "" {
		return noEnd
	}
	named := result.Reason == reason && strings.Contains(result.Message, "rank 2") && strings.Contains(result.Message, how)
	return said(named, cmp.Or(result.Reason, result.Condition))
}

func said(so bool, otherwise string) string {
	if so {
		return yes
	}
	return otherwise
}

// text is what a user would write, with more arguments for the program.
func (w way) text(arguments string) string {
	if w.program == "" {
		return w.command
	}
	return fmt.Sprintf(w.command, w.program+arguments)
}

// job is what a user would make of it.
func (w way) job(name, arguments string) testjob.Job {
	return testjob.Job{Name: name, Namespace: tenant, Runtime: w.runtime, Nodes: w.size(), Slots: slots, Command: []string{"bash", "-c", w.text(arguments)}}
}
