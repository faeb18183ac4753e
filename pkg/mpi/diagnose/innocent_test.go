package diagnose

import (
	"strings"
	"testing"
)

// innocent are lines that real programs print and then go on.
var innocent = map[string]string{
	// Names and networks.
	"urllib3":              `WARNING:urllib3.connectionpool:Retrying (Retry(total=4, connect=None, read=None, redirect=None, status=None)) after connection broken by 'NewConnectionError('<urllib3.connection.HTTPSConnection object at 0x7f3c>: Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')': /api/models`,
	"pip":                  `WARNING: Retrying (Retry(total=3, connect=None, read=None, redirect=None, status=None)) after connection broken by 'NameResolutionError("<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f>: Failed to resolve 'pypi.org' ([Errno -2] Name or service not known)")': /simple/tqdm/`,
	"Hugging Face":         `'(MaxRetryError("HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded with url: /gpt2/resolve/main/config.json (Caused by NameResolutionError("<urllib3.connection.HTTPSConnection object at 0x7f>: Failed to resolve 'huggingface.co' ([Errno -3] Temporary failure in name resolution)"))"), '(Request ID: 1b2c)')' thrown while requesting HEAD https://huggingface.co/gpt2/resolve/main/config.json`,
	"wandb":                `wandb: Network error (ConnectionError), entering retry loop.`,
	"wandb, name":          `wandb: W&B API key is configured, offline because api.wandb.ai: [Errno -2] Name or service not known`,
	"NLTK":                 `[nltk_data] Error loading punkt: <urlopen error [Errno -3] Temporary failure in name resolution>`,
	"c10d, name":           `[W socket.cpp:601] [c10d] The IPv6 network addresses of (demo-launcher-0-0, 29500) cannot be retrieved (gai error: -2 - Name or service not known).`,
	"c10d, retry":          `[W1121 10:00:00.000000000 socket.cpp:697] [c10d] The client socket has timed out after 60s while trying to connect to (demo-launcher-0-0.demo, 29500).`,
	"c10d, name of a peer": `[W1121 10:00:00.000000000 socket.cpp:200] [c10d] The hostname of the client socket cannot be retrieved. err=-3`,
	"git over ssh":         `ssh: Could not resolve hostname github.com: Temporary failure in name resolution`,
	"git, port":            `ssh: connect to host github.com port 22: Connection timed out`,
	"git, key":             `git@github.com: Permission denied (publickey).`,
	"ping":                 `ping: unknown host mirror.test`,

	// GPUs.
	"nvidia-smi -q":                `            Uncorrectable Error               : 0`,
	"nvidia-smi -q, older":         `        Double Bit ECC                    : 0`,
	"nvidia-smi -q, remapped":      `        Uncorrectable Error               : 2`,
	"single bits":                  `GPU 3: 12 corrected single-bit ECC error events since boot`,
	"NVML":                         `Failed to initialize NVML: Driver/library version mismatch`,
	"NVML, no driver":              `NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.`,
	"TensorFlow, no GPU":           `2026-01-01 10:00:00.000000: E external/local_xla/xla/stream_executor/cuda/cuda_driver.cc:274] failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected`,
	"TensorFlow, no GPU, 2.19":     `E0000 00:00:1700000000.000000      31 cuda_executor.cc:1228] INTERNAL: CUDA Runtime error: Failed call to cudaGetRuntimeVersion: Error loading CUDA libraries. GPU will not be used.: Error loading CUDA libraries. GPU will not be used.`,
	"TensorFlow, library":          `2026-01-01 10:00:00.000000: W tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open shared object file: No such file or directory`,
	"TensorFlow, pinned memory":    `2026-01-01 10:00:00.000000: E tensorflow/stream_executor/cuda/cuda_driver.cc:802] failed to alloc 17179869184 bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of memory`,
	"TensorFlow, smaller":          `2026-01-01 10:00:00.000000: I tensorflow/stream_executor/cuda/cuda_driver.cc:893] failed to allocate 7.43G (7980056576 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory`,
	"TensorFlow, allocator":        `2026-01-01 10:00:00.000000: W tensorflow/core/common_runtime/bfc_allocator.cc:290] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.51GiB with freed_by_count=0. The caller indicates that this is not a failure`,
	"PyTorch, no driver":           `/opt/conda/lib/python3.11/site-packages/torch/cuda/__init__.py:129: UserWarning: CUDA initialization: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU (Triggered internally at ../c10/cuda/CUDAFunctions.cpp:108.)`,
	"PyTorch, old driver":          `/opt/conda/lib/python3.11/site-packages/torch/cuda/__init__.py:129: UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 11040). (Triggered internally at ../c10/cuda/CUDAFunctions.cpp:108.)`,
	"banner of a container":        `[[Forward compatibility was attempted on non supported HW (CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE) cuInit()=804]]`,
	"banner of a container, shm":   `NOTE: The SHMEM allocation limit is set to the default of 64MB.  This may be insufficient for PyTorch.`,
	"a smaller batch":              `CUDA out of memory with batch size 64, trying 32`,
	"Ultralytics":                  `WARNING ⚠️ CUDA OutOfMemoryError with batch=16. CUDA out of memory. Reducing to batch=8 and retrying (1/3).`,
	"Inductor":                     `Runtime error during autotuning: out of resource: shared memory, Required: 135168, Hardware limit: 101376. Reducing block sizes or num_stages may help.. Ignoring this choice.`,
	"kernel log, row remapped":     `NVRM: Xid (PCI:0000:3b:00): 63, pid=412, Row Remapper: New row marked for remapping`,
	"kernel log, rate of ECC":      `NVRM: Xid (PCI:0000:3b:00): 92, pid=412, High single-bit ECC error rate`,
	"JAX":                          `WARNING:jax._src.xla_bridge:An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed. Falling back to cpu.`,
	"Lightning":                    `GPU available: False, used: False`,
	"PyTorch, environment":         `[W Utils.hpp:108] Warning: Environment variable NCCL_BLOCKING_WAIT is deprecated; use TORCH_NCCL_BLOCKING_WAIT instead`,
	"PyTorch, group not destroyed": `[rank0]:[W1121 10:00:00.000000000 ProcessGroupNCCL.cpp:1250] Warning: WARNING: process group has NOT been destroyed before we destruct ProcessGroupNCCL.`,
	"PyTorch, semaphores":          `/usr/lib/python3.11/multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: There appear to be 1 leaked shared_memory objects to clean up at shutdown`,

	// NCCL and RDMA.
	"NCCL, no RDMA":          `w-0:31:52 [0] NCCL INFO NET/IB : No device found.`,
	"NCCL, plugin":           `w-0:31:52 [0] NCCL INFO NET/Plugin : No plugin found (libnccl-net.so), using internal implementation`,
	"NCCL, nv_peer_mem":      `w-0:31:52 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0' (failed to load nv_peer_mem)`,
	"NCCL, device":           `w-0:31:52 [0] NCCL WARN NET/IB : Unable to open device mlx5_3, error 13`,
	"NCCL, event":            `w-0:31:52 [0] NCCL WARN NET/IB : mlx5_0:1 Got async event : port error`,
	"NCCL, dmabuf":           `w-0:31:52 [0] NCCL INFO Call to ibv_reg_dmabuf_mr failed with error Operation not supported`,
	"NCCL, end":              `w-0:31:70 [0] NCCL INFO [Service thread] Connection closed by localRank 0`,
	"NCCL, aborted":          `w-0:31:70 [0] NCCL INFO comm 0x55 rank 0 nranks 2 cudaDev 0 busId 1000 - Abort COMPLETE`,
	"NCCL, time out":         `w-0:31:52 [0] NCCL INFO NCCL_IB_TIMEOUT set by environment to 22.`,
	"NCCL, symbol":           `demo-node-0-1:1663:1663 [0] NCCL INFO dlvsym failed on mlx5dv_reg_dmabuf_mr - /lib/x86_64-linux-gnu/libmlx5.so: undefined symbol: mlx5dv_reg_dmabuf_mr, version MLX5_1.25 version MLX5_1.25`,
	"NCCL, plugin IB":        `demo-node-0-1:1663:1663 [0] NCCL INFO Failed to initialize NET plugin IB`,
	"NCCL, host":             `demo-node-0-1:1663:1663 [0] NCCL INFO NCCL_HOSTID set by environment to machine-1`,
	"XLA, schedule":          `E1126 21:34:30.894711    3973 gpu_hlo_schedule.cc:1068] The byte size of input/output arguments (4398046511108) exceeds the base limit (63763906560). This indicates an error in the calculation!`,
	"libibverbs":             `libibverbs: Warning: couldn't load driver 'libmlx5-rdmav34.so': libmlx5-rdmav34.so: cannot open shared object file: No such file or directory`,
	"UCX, locked memory":     `[1720000000.100000] [w-0:31   :0]          mlx5.c:512  UCX  WARN  ibv_reg_mr(address=0x7f, length=4096) failed: Cannot allocate memory : Please set max locked memory (ulimit -l) to 'unlimited'`,
	"UCX, variables":         `[1720000000.100000] [w-0:31   :0]     parser.c:2036 UCX  WARN  unused environment variables: UCX_HOME (maybe: UCX_TLS?)`,
	"UCX, huge pages":        `[1720000000.100000] [w-0:31   :0]       sys.c:880  UCX  DIAG  mmap(huge pages) failed: Cannot allocate memory`,
	"libfabric":              `libfabric:31:1720000000:efa:fabric:efa_device_construct():88<warn> ibv_open_device failed! No such device`,
	"Horovod, a rank stalls": `[2026-01-01 10:00:00.000: W /tmp/horovod/common/stall_inspector.cc:107] One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds.`,

	// Open MPI and its like.
	"Open MPI, OpenFabrics":      "WARNING: There was an error initializing an OpenFabrics device.\n\n  Local host:   w-0\n  Local device: mlx5_0",
	"Open MPI, no fabric":        "[[61231,1],0]: A high-performance Open MPI point-to-point messaging module\nwas unable to find any relevant network interfaces:\n\nModule: OpenFabrics (openib)\n  Host: w-0\n\nAnother transport will be used instead, although this may result in\nlower performance.",
	"Open MPI, vader":            "WARNING: Open MPI will create a shared memory backing file in a directory that appears to be mounted on a network filesystem.",
	"Open MPI, CMA":              "[w-0:00031] Read -1, expected 4096, errno = 1",
	"Open MPI, vader, CMA":       "WARNING: Linux kernel CMA support was requested via the\nbtl_vader_single_copy_mechanism MCA variable, but CMA support is\nnot available due to restrictive ptrace settings.",
	"Open MPI, unlink":           "  System call: unlink(2) /dev/shm/vader_segment.w-0.1000.1b2c0001.1\n  Error:       No such file or directory (errno 2)",
	"Open MPI, unlink, one line": `[w-0:00031] unlink /dev/shm/vader_segment.w-0.1000.1b2c0001.1 failed: No such file or directory`,
	"Open MPI, root":             "mpirun has detected an attempt to run as root.",
	"PMIx, locks":                "[w-0:00031] PMIX ERROR: ERROR in file gds_ds12_lock_pthread.c at line 168",
	"PMIx, component":            "[w-0:00031] mca_base_component_repository_open: unable to open mca_op_avx: libmpi.so.20: cannot open shared object file: No such file or directory (ignored)",
	"a TCP connection":           "WARNING: Open MPI accepted a TCP connection from what appears to be a\nanother Open MPI process but cannot find a corresponding process\nentry for that peer.",

	// Versions.
	"transformers, version": `transformers version mismatch: config was saved with 4.30, running 4.41`,
	"protobuf":              `UserWarning: Protobuf gencode version 5.27.2 is exactly one major version older than the runtime version 6.31.1; version mismatch may cause trouble`,
	"DeepSpeed, CUDA":       `[WARNING]  torch version mismatch: DeepSpeed ops were compiled with 2.1, running 2.3`,
	"scikit-learn":          `InconsistentVersionWarning: Trying to unpickle estimator from version 1.2 when using version 1.4: mismatched versions`,
	"torchvision":           "/opt/conda/lib/python3.11/site-packages/torchvision/io/image.py:13: UserWarning: Failed to load image Python extension: '/lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required by /opt/conda/lib/python3.11/site-packages/torchvision/image.so)'",
	"a shell of conda":      "/bin/sh: /opt/conda/lib/libtinfo.so.6: no version information available (required by /bin/sh)",

	// Modules, files, memory.
	"xformers":            `Error caught was: No module named triton`,
	"TensorRT":            `2026-01-01 10:00:00.000000: W tensorflow/compiler/tf2tensorrt/utils/py_utils.cc:38] TF-TRT Warning: Could not find TensorRT`,
	"bitsandbytes":        `WARNING: bitsandbytes runs on the CPU: OSError: libcusparse.so.12: cannot open shared object file: No such file or directory`,
	"DeepSpeed, async_io": `[WARNING]  async_io requires the dev libaio .so object and headers but these were not found.`,
	"Horovod, extension":  `WARNING: Extension horovod.torch has not been built: /usr/lib/python3/horovod/torch/mpi_lib_v2.so not found`,
	"watches":             `Warning: ENOSPC: System limit for number of file watchers reached, watch '/w/logs'`,
	"TensorBoard":         `W1121 10:00:00.000000 31 plugin_event_accumulator.py:320] cannot write summary: No space left on device`,
	"pip, cache":          `WARNING: The directory '/.cache/pip' or its parent directory is not owned or is not writable by the current user. The cache has been disabled.`,
	"fork":                `OpenBLAS Warning : pthread_create failed: Cannot allocate memory`,
	"a cache, memory":     `cache: std::bad_alloc, falling back to disk`,
	"a cache":             `torch compile cache: cannot save entry: No space left on device`,
}

const bad = "Traceback (most recent call last):\n  File \"/w/train.py\", line 3, in <module>\n    train()\nValueError: bad label"

// TestInnocentLines: what a program survives is not why it fails, and never a reason to start the job again.
func TestInnocentLines(t *testing.T) {
	for name, text := range innocent {
		for order, lines := range map[string]string{"before": text + "\n" + bad, "behind": bad + "\n" + text} {
			got := FindInOutput(strings.Split(lines, "\n"))
			if got == nil || got.Reason != PythonException || got.Summary != "ValueError: bad label" {
				t.Errorf("%s %s the exception that ended the program: got %+v", name, order, got)
			}
		}
		if got := FindInOutput(strings.Split(text, "\n")); got != nil && IsInfrastructureReason(got.Reason) && got.Weight > Report {
			t.Errorf("%s starts the job again: %+v", name, got)
		}
	}
}
