package workload

import (
	"crypto/sha256"
	"encoding/hex"
)

// profile is a kind of machine.
type profile struct {
	Name, Comment string
	// CPU is in cores, Memory in Gi.
	CPU, Memory int
	// Accelerators is the number of nvidia.com/gpu per machine, 0 for none.
	Accelerators int
	Label        string
}

// The profiles. A tenant's quota is counted in machines of these.
var profiles = []profile{
	{Name: "cpu-standard", Comment: "The machines of the first rack row: what is left of 32 cores when daemons have taken theirs.", CPU: 30, Memory: 120, Label: "standard"},
	{Name: "cpu-highmem", Comment: "Large memory for meshes and graphs that do not fit elsewhere.", CPU: 62, Memory: 500, Label: "highmem"},
	{Name: "gpu-8xh100", Comment: "DGX-like machines, eight H100. Jobs always take whole machines.", CPU: 96, Memory: 1000, Accelerators: 8, Label: "h100"},
	{Name: "gpu-8xa100", Comment: "The generation before. Cheaper, and rarely full.", CPU: 94, Memory: 900, Accelerators: 8, Label: "a100"},
	{Name: "gpu-4xl40s", Comment: "Four L40S for fine-tuning and inference tests.", CPU: 46, Memory: 360, Accelerators: 4, Label: "l40s"},
}

// runtime is a catalog entry.
type runtime struct {
	Name, Comment, Description, Framework, Implementation, Version, Profile string
	// CPU and Memory (Gi) are per node; 0 means the whole machine.
	CPU, Memory int
	// Slots is a number, or `auto`.
	Slots             string
	Default, Max      int
	LauncherRunsRanks bool
	// Successor is what users of a deprecated runtime move to; "" for a runtime that is not deprecated.
	Successor            string
	Variable, Value, Why string
}

// Image returns the reference of a runtime's image, with a digest as clusters that require one want it.
func (r runtime) Image() string { return image("mpi/" + r.Name + ":" + r.Version) }

// Accelerated reports whether the machines of the runtime have accelerators.
func (r runtime) Accelerated() bool { return r.Slots == "auto" }

// image returns a reference whose digest follows from its name.
func image(name string) string {
	sum := sha256.Sum256([]byte(name))
	return "registry.example.com/" + name + "@sha256:" + hex.EncodeToString(sum[:])
}

// The twenty runtimes: three MPI families, two generations of each, on five kinds of machines.
var runtimes = []runtime{
	{Name: "openmpi5-standard", Description: "Open MPI 5 on standard machines, a quarter of one per node.", Framework: "MPI", Implementation: "OpenMPI", Version: "5.0.7", Profile: "cpu-standard", CPU: 8, Memory: 32, Slots: "8", Default: 2, Max: 16},
	{Name: "openmpi5-standard-whole", Description: "Open MPI 5 on whole standard machines.", Framework: "MPI", Implementation: "OpenMPI", Version: "5.0.7", Profile: "cpu-standard", Slots: "30", Default: 2, Max: 32, Comment: "One rank per core; the two that are missing belong to daemons."},
	{Name: "openmpi4-standard", Description: "Open MPI 4 for images that were not moved yet.", Framework: "MPI", Implementation: "OpenMPI", Version: "4.1.4", Profile: "cpu-standard", CPU: 8, Memory: 32, Slots: "8", Default: 2, Max: 16, Successor: "openmpi5-standard", Comment: "Nobody may start with it; what runs may stay until it is rebuilt."},
	{Name: "mpich4-standard", Description: "MPICH on standard machines.", Framework: "MPI", Implementation: "MPICH", Version: "4.2.1", Profile: "cpu-standard", CPU: 8, Memory: 32, Slots: "8", Default: 2, Max: 16},
	{Name: "intelmpi-standard", Description: "Intel MPI on standard machines.", Framework: "MPI", Implementation: "IntelMPI", Version: "2021.14", Profile: "cpu-standard", CPU: 16, Memory: 64, Slots: "16", Default: 2, Max: 16, Variable: "I_MPI_DEBUG", Value: "1", Why: "prints the fabric that was chosen, which support asks for first"},
	{Name: "openmpi5-highmem", Description: "Open MPI 5 with half a terabyte per node.", Framework: "MPI", Implementation: "OpenMPI", Version: "5.0.7", Profile: "cpu-highmem", CPU: 30, Memory: 240, Slots: "30", Default: 1, Max: 8},
	{Name: "intelmpi-highmem", Description: "Intel MPI with half a terabyte per node.", Framework: "MPI", Implementation: "IntelMPI", Version: "2021.14", Profile: "cpu-highmem", CPU: 30, Memory: 240, Slots: "30", Default: 1, Max: 8},
	{Name: "mpich4-highmem", Description: "MPICH with half a terabyte per node.", Framework: "MPI", Implementation: "MPICH", Version: "4.2.1", Profile: "cpu-highmem", CPU: 30, Memory: 240, Slots: "30", Default: 1, Max: 8, LauncherRunsRanks: true},
	{Name: "horovod-torch-h100", Description: "Horovod with PyTorch on eight H100 per node.", Framework: "Horovod", Implementation: "OpenMPI", Version: "5.0.7", Profile: "gpu-8xh100", Slots: "auto", Default: 2, Max: 16, Variable: "HOROVOD_FUSION_THRESHOLD", Value: "134217728", Why: "128 MiB: measured best with eight GPUs per node"},
	{Name: "horovod-tf-h100", Description: "Horovod with TensorFlow on eight H100 per node.", Framework: "TensorFlow", Implementation: "OpenMPI", Version: "4.1.4", Profile: "gpu-8xh100", Slots: "auto", Default: 2, Max: 16},
	{Name: "deepspeed-h100", Description: "DeepSpeed on eight H100 per node.", Framework: "DeepSpeed", Implementation: "OpenMPI", Version: "5.0.7", Profile: "gpu-8xh100", Slots: "auto", Default: 4, Max: 32, Variable: "OMP_NUM_THREADS", Value: "12", Why: "96 cores shared by eight ranks"},
	{Name: "pytorch-mpi-h100", Description: "PyTorch over MPI on eight H100 per node.", Framework: "PyTorch", Implementation: "MPICH", Version: "4.2.1", Profile: "gpu-8xh100", Slots: "auto", Default: 2, Max: 16},
	{Name: "horovod-torch-a100", Description: "Horovod with PyTorch on eight A100 per node.", Framework: "Horovod", Implementation: "OpenMPI", Version: "5.0.7", Profile: "gpu-8xa100", Slots: "auto", Default: 2, Max: 16},
	{Name: "horovod-tf-a100", Description: "Horovod with TensorFlow on eight A100 per node.", Framework: "TensorFlow", Implementation: "OpenMPI", Version: "4.1.4", Profile: "gpu-8xa100", Slots: "auto", Default: 2, Max: 16},
	{Name: "deepspeed-a100", Description: "DeepSpeed on eight A100 per node.", Framework: "DeepSpeed", Implementation: "OpenMPI", Version: "5.0.7", Profile: "gpu-8xa100", Slots: "auto", Default: 2, Max: 16},
	{Name: "pytorch-mpi-a100", Description: "PyTorch over MPI on eight A100 per node.", Framework: "PyTorch", Implementation: "IntelMPI", Version: "2021.14", Profile: "gpu-8xa100", Slots: "auto", Default: 2, Max: 16},
	{Name: "horovod-torch-l40s", Description: "Horovod with PyTorch on four L40S per node.", Framework: "Horovod", Implementation: "OpenMPI", Version: "5.0.7", Profile: "gpu-4xl40s", Slots: "auto", Default: 1, Max: 8},
	{Name: "deepspeed-l40s", Description: "DeepSpeed on four L40S per node.", Framework: "DeepSpeed", Implementation: "OpenMPI", Version: "5.0.7", Profile: "gpu-4xl40s", Slots: "auto", Default: 1, Max: 8},
	{Name: "pytorch-mpi-l40s", Description: "PyTorch over MPI on four L40S per node.", Framework: "PyTorch", Implementation: "MPICH", Version: "4.2.1", Profile: "gpu-4xl40s", Slots: "auto", Default: 1, Max: 8},
	{Name: "openmpi4-l40s", Description: "Open MPI 4 for old images on four L40S per node.", Framework: "MPI", Implementation: "OpenMPI", Version: "4.1.4", Profile: "gpu-4xl40s", Slots: "auto", Default: 1, Max: 8},
}
