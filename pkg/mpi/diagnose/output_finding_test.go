package diagnose

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"lockstep.dev/lockstep/pkg/mpi"
)

// outputs are the last lines of programs, as they print them, and what they mean.
var outputs = map[string]struct {
	text    string
	reason  mpi.Reason
	summary string
	rank    int // -1: none
	host    string
}{
	"PyTorch OOM": {`[rank5]: Traceback (most recent call last):
[rank5]:   File "/w/train.py", line 71, in <module>
[rank5]:     loss.backward()
[rank5]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 1 has a total capacity of 79.10 GiB of which 1.02 GiB is free.
[rank2]: torch.distributed.DistBackendError: NCCL communicator was aborted on rank 2.`, CUDAOutOfMemory, "CUDA out of memory", 5, ""},
	"old PyTorch OOM, tagged by Open MPI": {`[1,3]<stderr>:RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB`, CUDAOutOfMemory, "CUDA out of memory", 3, ""},
	"TensorFlow OOM":                      {`tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with shape[64,2048]`, CUDAOutOfMemory, "CUDA out of memory", -1, ""},
	"JAX OOM":                             {`XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 bytes.`, CUDAOutOfMemory, "CUDA out of memory", -1, ""},
	"no GPU":                              {`RuntimeError: No CUDA GPUs are available`, GPUUnavailable, "no GPU: No CUDA GPUs are available", -1, ""},
	"no device":                           {`CUDA error: no CUDA-capable device is detected`, GPUUnavailable, "no GPU", -1, ""},
	"wrong ordinal":                       {`RuntimeError: CUDA error: invalid device ordinal`, GPUUnavailable, "invalid device ordinal", -1, ""},
	"driver":                              {`CUDA error: CUDA driver version is insufficient for CUDA runtime version`, GPUDriverTooOld, "too old", -1, ""},
	"PyTorch driver":                      {`RuntimeError: The NVIDIA driver on your system is too old (found version 11040).`, GPUDriverTooOld, "too old", -1, ""},
	"ECC":                                 {`RuntimeError: CUDA error: uncorrectable ECC error encountered`, GPUHardwareError, "a GPU failed", -1, ""},
	"Xid":                                 {`NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', GPU has fallen off the bus.`, GPUHardwareError, "a GPU failed", -1, ""},
	"Xid of a program":                    {`NVRM: Xid (PCI:0000:3b:00): 48, pid=412, DBE (double bit error)`, GPUHardwareError, "a GPU failed", -1, ""},
	"NCCL system error": {`RuntimeError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1269, unhandled system error, NCCL version 2.14.3
ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.`, NCCLFailed, "unhandled system error", -1, ""},
	"NCCL warning":  {`w-1:31:52 [0] NCCL WARN Bootstrap : no socket interface found`, NCCLFailed, "Bootstrap : no socket interface found", -1, ""},
	"NCCL watchdog": {`[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600123 milliseconds before timing out.`, NCCLTimeout, "did not end in time", 3, ""},
	"NCCL peer":     {`ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.`, PeerFailed, "NCCL lost a rank", -1, ""},
	"ibv":           {`w-0:88:120 [1] NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory`, OutOfMemory, "out of memory", -1, ""},
	"ibv modify":    {`w-0:88:120 [1] NCCL WARN Call to ibv_modify_qp failed with error Invalid argument errno 22`, RDMAFailed, "ibv_modify_qp", -1, ""},
	"NET/IB":        {`w-0:88:120 [1] NCCL WARN NET/IB : Got completion from peer 10.0.0.2<41000> with status=12 opcode=0`, RDMAFailed, "Got completion", -1, ""},
	"UCX retry":     {`[w-1:90:0:90] ib_mlx5_log.c:177 Transport retry count exceeded on mlx5_0:1/RoCE (synd 0x15 vend 0x81 hw_synd 0/0)`, RDMAFailed, "Transport retry count exceeded", -1, ""},
	"duplicate GPU": {`[rank1]: torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:93, invalid usage (run with NCCL_DEBUG=WARN for details), NCCL version 2.28.9
[rank1]: ncclInvalidUsage: This usually reflects invalid usage of NCCL library.
[rank1]: Last error:
[rank1]: Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 60`, NCCLFailed, "NCCL: invalid usage (run with NCCL_DEBUG=WARN for details): Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 60", 1, ""},
	"duplicate GPU, cut by another rank": {`[rank1]: torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:93, invalid usage (run with NCCL_DEBUG=WARN for details), NCCL version 2.28.9
[rank1]: Last error:
[rank0]: Traceback (most recent call last):`, NCCLFailed, "NCCL: invalid usage (run with NCCL_DEBUG=WARN for details)", 1, ""},
	"no GPU for NCCL": {`Traceback (most recent call last):
  File "/w/train.py", line 87, in <module>
    dist.init_process_group("nccl")
ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!`, GPUUnavailable, "only supported with GPUs, no GPUs found", -1, ""},
	"CuPy OOM": {`Traceback (most recent call last):
  File "cupy/cuda/memory.pyx", line 1560, in cupy.cuda.memory.SingleDeviceMemoryPool._try_malloc
cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 1,099,511,627,776 bytes (allocated so far: 0 bytes).`, CUDAOutOfMemory, "CUDA out of memory", -1, ""},
	"assertion on a GPU": {"/pytorch/aten/src/ATen/native/cuda/Indexing.cu:1515: indexSelectSmallIndex: block: [0,0,0], thread: [0,0,0] Assertion `srcIndex < srcSelectDimSize` failed." + `
[rank1]: Traceback (most recent call last):
[rank1]:   File "/w/train.py", line 100, in device_assert
[rank1]: torch.AcceleratorError: CUDA error: device-side assert triggered`, CUDAFailed, "a kernel on a GPU failed: Assertion `srcIndex < srcSelectDimSize` failed (Indexing.cu:1515)", -1, ""},
	"illegal address on a GPU": {`[rank1]: Traceback (most recent call last):
[rank1]:   File "/w/train.py", line 110, in illegal_address
[rank1]:     torch.cuda.synchronize()
[rank1]: torch.AcceleratorError: CUDA error: an illegal memory access was encountered`, CUDAFailed, "a kernel on a GPU failed: an illegal memory access was encountered", 1, ""},
	"illegal address, driver": {`cupy_backends.cuda.api.driver.CUDADriverError: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered`, CUDAFailed, "CUDA_ERROR_ILLEGAL_ADDRESS", -1, ""},
	"NCCL watchdog, a late rank": {`[rank0]:[E1126 21:35:00.318886119 ProcessGroupNCCL.cpp:689] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2, OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576, Timeout(ms)=8000) ran for 8096 milliseconds before timing out.
[rank0]:[E1126 21:35:05.304484431 ProcessGroupNCCL.cpp:1914] [PG ID 0 PG GUID 0(default_pg) Rank 0] Received a dump signal due to a collective timeout from this local rank and we will try our best to dump the debug info. Last enqueued NCCL work: 2, last completed NCCL work: 1.This is most likely caused by incorrect usages of collectives
[rank1]:[E1126 21:35:05.308753810 ProcessGroupNCCL.cpp:1914] [PG ID 0 PG GUID 0(default_pg) Rank 1] Received a dump signal due to a collective timeout from  rank 0 and we will try our best to dump the debug info. Last enqueued NCCL work: 1, last completed NCCL work: 1.This is most likely caused by incorrect usages of collectives`,
		NCCLTimeout, "a collective operation of NCCL did not end in time: rank 1 did not come to it", 0, ""},
	"a syntax error": {"  File \"/w/train.py\", line 53\n    print(f\"on {\"cpu\"}\")\n                 ^^^\nSyntaxError: f-string: expecting '}'", PythonException, "SyntaxError: f-string: expecting '}'", -1, ""},
	"Horovod": {`[1]<stderr>:horovod.common.exceptions.HorovodInternalError: Horovod has been shut down. This was caused by an exception on one of the ranks or an attempt to allreduce`,
		PeerFailed, "connection to another rank was lost", 1, ""},
	"horovodrun's own": {"Traceback (most recent call last):\n  File \"/usr/local/bin/horovodrun\", line 8, in <module>\nRuntimeError: Horovod detected that one or more processes exited with non-zero status, thus causing the job to be terminated. The first process to do so was:",
		PeerFailed, "another process of the job failed", -1, ""},
	"Horovod, the rank behind it": {`[0]<stderr>:horovod.common.exceptions.HorovodInternalError: Horovod has been shut down.
[1]<stderr>:Traceback (most recent call last):
[1]<stderr>:  File "train.py", line 3, in <module>
[1]<stderr>:ValueError: bad label
Process 1 exit with status code 1.`, PythonException, "ValueError: bad label", 1, ""},
	"lockstep-mpi": {`[1,2]<stderr>:lockstep-raised eJxFjsEKwjAQRH9l2FMLRaTH3vULxFMu27hqMN2WJBWK+O8mBcltZmf27X4osL5oQN+BnnNMWdJ7ouzStkhxV/arnEKYQ5lOEiM/9mDkGzyP4vd2YCsj28Kiy9+gmTITQaxogmXv80ZM7WAUODsvMHRf1SY362HZTCZ5p4L+2MEpMtRpqQJZRUH9pTH1vqHWaI0G1ETp+wPXxEnR
[1,2]<stderr>:Traceback (most recent call last):
[1,2]<stderr>:  File "function.py", line 20, in train
[1,2]<stderr>:    raise ValueError("bad label")
[1,2]<stderr>:ValueError: bad label`, PythonException, "ValueError: bad label", 2, ""},
	"horovodrun":      {`Process 3 exit with status code 1.`, RankFailed, "rank 3 exited with code 1", 3, ""},
	"DeepSpeed":       {`[2026-01-01 10:00:00,000] [ERROR] [launch.py:325:sigkill_handler] ['/usr/bin/python3', '-u', 'train.py'] exits with return code = 1`, RankFailed, "a rank exited with code 1", -1, ""},
	"torchrun":        {`torch.distributed.elastic.multiprocessing.errors.ChildFailedError:`, PeerFailed, "another process of the job failed", -1, ""},
	"Gloo peer":       {`RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.3]:4711`, PeerFailed, "connection to another rank was lost", -1, ""},
	"rendezvous":      {`torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect to (demo-launcher-0-0.demo, 29500).`, MPIPortsBlocked, "MPI communication failure - check NetworkPolicies: connection to demo-launcher-0-0.demo, 29500 timed out", -1, ""},
	"Python":          {"Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    f()\n          ^\nKeyError: 'x'", PythonException, "KeyError: 'x'", -1, ""},
	"bare exception":  {"Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nAssertionError", PythonException, "AssertionError", -1, ""},
	"two ranks":       {"[0] Traceback (most recent call last):\n[1] Traceback (most recent call last):\n[1]   File \"a.py\"\n[0]   File \"a.py\"\n[1] ValueError: one\n[0] ValueError: zero", PythonException, "ValueError: one", 1, ""},
	"module":          {"ModuleNotFoundError: No module named 'horovod'", PythonModuleMissing, "the Python module horovod is missing", -1, ""},
	"module of -m":    {"/usr/bin/python3: No module named deepspeed.launcher", PythonModuleMissing, "deepspeed.launcher", -1, ""},
	"script":          {"python3: can't open file '/w/trian.py': [Errno 2] No such file or directory", CommandNotFound, "the script `/w/trian.py` is not there", -1, ""},
	"MemoryError":     {"Traceback (most recent call last):\n  File \"a.py\"\nMemoryError", OutOfMemory, "out of memory", -1, ""},
	"bad_alloc":       {"terminate called after throwing an instance of 'std::bad_alloc'", OutOfMemory, "out of memory", -1, ""},
	"Killed":          {"/w/run.sh: line 12:   345 Killed                  python3 train.py", RankKilled, "most often for lack of memory", -1, ""},
	"plain Killed":    {"Killed", RankKilled, "SIGKILL", -1, ""},
	"a word":          {"Killed 3 stale workers at start-up is what a log may say", "", "", -1, ""},
	"loader bus":      {"RuntimeError: DataLoader worker (pid 812) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory.", SharedMemoryTooSmall, "/dev/shm is too small", -1, ""},
	"torch shm":       {"RuntimeError: unable to write to file </torch_77_1>: No space left on device (28)", SharedMemoryTooSmall, "/dev/shm is too small", -1, ""},
	"NCCL shm":        {"NCCL WARN Error: failed to extend /dev/shm/nccl-x1y2 to 9637892 bytes, error: No space left on device (28)", SharedMemoryTooSmall, "/dev/shm is too small", -1, ""},
	"OMPI bus":        {"[w-0:00031] Signal: Bus error (7)", SharedMemoryTooSmall, "SIGBUS", -1, ""},
	"OMPI bus report": {"mpirun noticed that process rank 2 with PID 99 on node w-1 exited on signal 7 (Bus error).", SharedMemoryTooSmall, "rank 2 was killed by SIGBUS", 2, "w-1"},
	"disk":            {"OSError: [Errno 28] No space left on device: '/ckpt/step-100.pt'", DiskFull, "no space left on device", -1, ""},
	"read-only":       {"OSError: [Errno 30] Read-only file system: '/workspace/out.txt'", ReadOnlyFileSystem, "`/workspace/out.txt` is on", -1, ""},
	"read-only, tool": {"touch: cannot touch '/workspace/a': Read-only file system", ReadOnlyFileSystem, "`/workspace/a` is on", -1, ""},
	"read-only, bare": {"error: EROFS", ReadOnlyFileSystem, "a file system is read-only", -1, ""},
	"quota of a disk": {"cp: error writing 'x': Disk quota exceeded", DiskFull, "no space", -1, ""},
	"library":         {"./prog: error while loading shared libraries: libcudart.so.12: cannot open shared object file: No such file or directory", LibraryMissing, "the library libcudart.so.12 is missing", -1, ""},
	"library, Python": {"ImportError: libGL.so.1: cannot open shared object file: No such file or directory", LibraryMissing, "libGL.so.1", -1, ""},
	"library, old":    {"./prog: /lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by ./prog)", LibraryMissing, "GLIBCXX_3.4.32", -1, ""},
	"MPI library":     {"./prog: error while loading shared libraries: libmpi.so.40: cannot open shared object file: No such file or directory", MPIVersionMismatch, "another MPI", -1, ""},
	"MPI library, other": {"./prog: /usr/lib/libmpi.so.12: version `OMPI_5' not found (required by ./prog)",
		MPIVersionMismatch, "OMPI_5", -1, ""},

	"slots, 4": {`--------------------------------------------------------------------------
There are not enough slots available in the system to satisfy the 16
slots that were requested by the application:

  mpi-hello`, NotEnoughSlots, "the 16 ranks asked for", -1, ""},
	"executable, 4": {`mpirun was unable to find the specified executable file, and therefore
did not launch the job.  This error was first reported for process
rank 0; it may have occurred for other processes as well.

Node:       demo-node-0-1
Executable: ./trian`, CommandNotFound, "the program `./trian` was not found", -1, "demo-node-0-1"},
	"executable, 5":     {"prterun was unable to find the specified executable file, and therefore did not launch the job.", CommandNotFound, "the program was not found", -1, ""},
	"executable, Hydra": {"[proxy:0@demo-node-0-1] HYDU_create_process (lib/utils/launch.c:73): execvp error on file ./trian (No such file or directory)", CommandNotFound, "the program `./trian` cannot be started: No such file or directory", -1, ""},
	"shell":             {"bash: line 1: trian: command not found", CommandNotFound, "`trian`", -1, ""},
	"dash":              {"sh: 1: trian: not found", CommandNotFound, "`trian`", -1, ""},
	"MPI_Abort, 4":      {"MPI_ABORT was invoked on rank 2 in communicator MPI_COMM_WORLD\nwith errorcode 9.", MPIAborted, "rank 2 called MPI_Abort", 2, ""},
	"MPI_Abort, MPICH":  {"Abort(9) on node 2 (rank 2 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 9) - process 2", MPIAborted, "rank 2 called MPI_Abort with code 9", 2, ""},
	"MPI error, 4":      {"*** An error occurred in MPI_Recv\n*** on communicator MPI_COMM_WORLD\n*** MPI_ERR_TRUNCATE: message truncated", MPIFailed, "MPI_ERR_TRUNCATE: message truncated", -1, ""},
	"MPI error, MPICH":  {"Fatal error in internal_Send: Invalid rank, error stack:", MPIFailed, "internal_Send: Invalid rank", -1, ""},
	"TCP, 4":            {"[demo-node-0-1][[61231,1],1][btl_tcp_endpoint.c:625:mca_btl_tcp_endpoint_recv_connect_ack] connect() to 10.244.1.5 failed: Connection timed out (110)", MPIPortsBlocked, "MPI communication failure - check NetworkPolicies: connection to 10.244.1.5", -1, ""},
	"TCP, a text":       {"WARNING: Open MPI failed to TCP connect to a peer MPI process.  This\nshould not happen.\n\n  Local host: demo-node-0-1\n  PID:        57\n", MPIPortsBlocked, "MPI communication failure - check NetworkPolicies", -1, "demo-node-0-1"},
	"unreachable, 4":    {"At least one pair of MPI processes are unable to reach each other for\nMPI communications.", MPIPortsBlocked, "ranks cannot reach each other", -1, ""},
	"proxy, Hydra":      {`[proxy:1@demo-node-0-1] HYDU_sock_connect (lib/utils/sock.c:133): unable to connect from "demo-node-0-1" to "demo-launcher-0-0" (Connection refused)`, MPIPortsBlocked, "demo-node-0-1 cannot reach demo-launcher-0-0: Connection refused", -1, ""},
	"version, ORTE":     {"[demo-launcher-0-0:00021] [[1,0],0] ORTE_ERROR_LOG: Data unpack would read past end of buffer in file util/show_help.c", MPIVersionMismatch, "different versions", -1, ""},
	"version, Hydra":    {"[proxy:unset@demo-node-0-1] unrecognized argument pmi-process-mapping", MPIVersionMismatch, "different versions", -1, ""},
	"version, PMIx":     {"A PMIx version mismatch was detected between the server and the client", MPIVersionMismatch, "different versions", -1, ""},
	"daemon, 4": {`ORTE has lost communication with a remote daemon.

  HNP daemon   : [[61231,0],0] on node demo-launcher-0-0
  Remote daemon: [[61231,0],2] on node demo-node-0-1
`, LaunchDaemonLost, "lost the daemon", -1, "demo-node-0-1"},
	"daemon, 5":          {"PRTE has lost communication with a remote daemon.", LaunchDaemonLost, "lost the daemon", -1, ""},
	"daemon, start":      {"An ORTE daemon has unexpectedly failed after launch and before\ncommunicating back to mpirun.", LaunchDaemonLost, "lost the daemon", -1, ""},
	"proxy, Intel":       {"[mpiexec@demo-launcher-0-0] check_exit_codes (hydra_demux_poll.c:117): unable to run bstrap_proxy on demo-node-0-1 (pid 31, exit code 65280)", LaunchDaemonLost, "on demo-node-0-1", -1, "demo-node-0-1"},
	"signal, 4":          {"mpirun noticed that process rank 1 with PID 0 on node demo-node-0-1 exited on signal 11 (Segmentation fault).", RankKilled, "rank 1 was killed by signal 11 (Segmentation fault)", 1, "demo-node-0-1"},
	"signal, 5":          {"prterun noticed that process rank 3 with PID 77 on node demo-node-0-1 exited on\nsignal 9 (Killed).", RankKilled, "rank 3 was killed by a signal", 3, "demo-node-0-1"},
	"signal, Hydra":      {"=   KILLED BY SIGNAL: 9 (Killed)", RankKilled, "killed by signal 9 (Killed)", -1, ""},
	"string, Hydra":      {"YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)", RankKilled, "signal 11 (Segmentation fault)", -1, ""},
	"no interpreter":     {"bash: line 1: ./run.sh: cannot execute binary file: Exec format error", CommandNotFound, "the program `./run.sh` cannot be run: it names no interpreter (`#!/bin/sh`), or is built for another architecture", -1, ""},
	"other machine":      {"sh: 1: ./solver: Exec format error", CommandNotFound, "the program `./solver` cannot be run", -1, ""},
	"old bash":           {"run.sh: line 3: /opt/solver: cannot execute binary file", CommandNotFound, "the program `/opt/solver` cannot be run", -1, ""},
	"Python, machine":    {"OSError: [Errno 8] Exec format error: './solver'", CommandNotFound, "exec format error", -1, ""},
	"bad interpreter":    {"/usr/bin/bash: ./run.sh: /bin/bash^M: bad interpreter: No such file or directory", CommandNotFound, "the program `./run.sh` cannot be run: its interpreter is not in the image, or its lines end as on Windows", -1, ""},
	"new bash":           {"bash: ./run.sh: cannot execute: required file not found", CommandNotFound, "the program `./run.sh` cannot be run: its interpreter", -1, ""},
	"PRRTE, interpreter": {"  Error:             ./run.sh has a bad interpreter on the first line.", CommandNotFound, "the program `./run.sh` cannot be run: its interpreter", -1, ""},
	"env, Windows":       {"/usr/bin/env: ‘bash\\r’: No such file or directory", CommandNotFound, "`dos2unix`", -1, ""},
	"lines of Windows":   {"run.sh: line 2: $'\\r': command not found", CommandNotFound, "the lines of a script end as on Windows", -1, ""},
	"long argument":      {"./run.sh: line 3: /usr/bin/python3: Argument list too long", ArgumentTooLong, "Argument list too long", -1, ""},
	"UCX signal":         {"[demo-node-0-0:31   :0:31] Caught signal 11 (Segmentation fault: address not mapped to object at address (nil))", RankKilled, "Segmentation fault", -1, ""},
	"Python segv":        {"Fatal Python error: Segmentation fault", RankKilled, "Segmentation fault", -1, ""},
	"OMPI segv":          {"[w-0:00031] Signal: Segmentation fault (11)", RankKilled, "signal 11 (Segmentation fault)", -1, ""},
	"exit code, 4":       {"  Process name: [[61231,1],3]\n  Exit code:    3", RankFailed, "rank 3 exited", 3, ""},
	"exit code, 5":       {"   Process name: [prterun-demo-launcher-0-0-21@1,3] Exit code:    3", RankFailed, "rank 3 exited", 3, ""},
	"rank, Intel":        {"=   RANK 1 PID 31 RUNNING AT demo-node-0-1", RankFailed, "rank 1 ended badly", 1, "demo-node-0-1"},
	"BAD":                {"=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES", RankFailed, "a rank ended badly", -1, ""},
	"ssh refused":        {"ssh: connect to host demo-node-0-1 port 2222: Connection refused", ConnectionRefused, "MPI communication failure - check NetworkPolicies: demo-node-0-1 port 2222: connection refused", -1, "demo-node-0-1"},
	"ssh timed out":      {"ssh: connect to host demo-node-0-1 port 2222: Connection timed out", ConnectionTimedOut, "MPI communication failure - check NetworkPolicies: demo-node-0-1 port 2222", -1, "demo-node-0-1"},
	"ssh name":           {"ssh: Could not resolve hostname demo-node-0-1.demo: Name or service not known", NameNotResolved, "demo-node-0-1.demo", -1, "demo-node-0-1.demo"},
	"ssh key":            {"mpiuser@demo-node-0-1: Permission denied (publickey,keyboard-interactive).", AuthenticationFailed, "not accepted by demo-node-0-1", -1, "demo-node-0-1"},
	"our rsh":            {"mpi-agent rsh: lost node demo-node-0-1.demo (10.0.0.7): stopped answering: 3 keepalives; check whether", WorkerLost, "lost demo-node-0-1.demo: stopped answering: 3 keepalives", -1, "demo-node-0-1.demo"},
	"our rsh, stranger":  {"mpi-agent rsh: elsewhere is not a host of this job, which has demo-node-0-0, demo-node-0-1", "CommandFailed", "elsewhere is not a host of the job, which has demo-node-0-0, demo-node-0-1", -1, ""},
	"our rsh, key":       {"mpi-agent rsh: cannot reach node demo-node-0-1.demo (10.0.0.7): authentication failed; check", AuthenticationFailed, "not accepted by demo-node-0-1.demo", -1, "demo-node-0-1.demo"},
	"our rsh, port":      {"mpi-agent rsh: cannot reach node demo-node-0-1.demo (10.0.0.7): connection timed out; check", ConnectionTimedOut, "demo-node-0-1.demo port 2222: connection timed out", -1, "demo-node-0-1.demo"},
	"DNS":                {"socket.gaierror: [Errno -3] Temporary failure in name resolution", NameNotResolved, "cannot be resolved", -1, ""},
	"our rsh, refused":   {"mpi-agent rsh: cannot reach node demo-node-0-1.demo (10.0.0.7): connection refused; check", ConnectionRefused, "MPI communication failure - check NetworkPolicies: demo-node-0-1.demo port 2222: connection refused", -1, "demo-node-0-1.demo"},
	"UCX TCP":            {"[1720000000.1] [demo-node-0-1:31  :0] sock.c:337  UCX  ERROR connect(fd=35, dest_addr=10.0.0.7:41000) failed: Connection timed out", MPIPortsBlocked, "MPI communication failure - check NetworkPolicies", -1, ""},
	"other error, MPICH": {"Abort(70897167) on node 1 (rank 1 in comm 0): Fatal error in internal_Finalize: Other MPI error, error stack:", MPIFailed, "MPI error in internal_Finalize", 1, ""},
	"UCX transport":      {"[1720000000.1] [demo-node-0-1:31  :0] select.c:549  UCX  ERROR   no active messages transport to <no debug data>: self/memory0 - Destination is unreachable", MPIFailed, "UCX finds no transport", -1, ""},
	"init, 4":            {"It looks like MPI_INIT failed for some reason; your parallel process is\nlikely to abort.", MPIFailed, "could not be initialised", -1, ""},
	"shell segv":         {"Segmentation fault (core dumped)", RankKilled, "SIGSEGV", -1, ""},
	"lost, Hydra":        {"[proxy:0@demo-node-0-0] HYD_pmcd_pmip_control_cmd_cb (proxy/pmip_cb.c:480): assert (!closed) failed", LaunchDaemonLost, "lost the proxy", -1, ""},
	"nothing":            {"step 100 loss 0.3\nsaved checkpoint\n", "", "", -1, ""},
	"root wins":          {"MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD\nOSError: [Errno 28] No space left on device", DiskFull, "no space left", -1, ""},
	"control codes":      {"\x1b[31mRuntimeError: CUDA out of memory.\x1b[0m\r\n", CUDAOutOfMemory, "CUDA out of memory", -1, ""},
	"secret":             {"Traceback (most recent call last):\n  File \"a.py\"\nValueError: cannot open https://jane:s3cr3t@host/x?token=abcdef", PythonException, "ValueError: cannot open https://***@host/x?token=***", -1, ""},
	"tag of a file":      {"[12] ValueError", "", "", -1, ""},
	"huge rank":          {"MPI_ABORT was invoked on rank 99999999999999999999 in communicator", MPIAborted, "called MPI_Abort", -1, ""},
	"uncaught in C++":    {"terminate called after throwing an instance of 'std::runtime_error'\n  what():  NCCL error: unhandled cuda error, NCCL version 2.20", NCCLFailed, "unhandled cuda error", -1, ""},
}

func TestOutput(t *testing.T) {
	for name, tc := range outputs {
		t.Run(name, func(t *testing.T) {
			got := FindInOutput(strings.Split(tc.text, "\n"))
			if got == nil {
				got = &OutputFinding{}
			}
			rank := -1
			if got.Rank != nil {
				rank = *got.Rank
			}
			if got.Reason != tc.reason || !strings.Contains(got.Summary, tc.summary) || rank != tc.rank || got.Host != tc.host {
				t.Errorf("want %s, %q, rank %d, host %q\ngot  %s, %q, rank %d, host %q", tc.reason, tc.summary, tc.rank, tc.host, got.Reason, got.Summary, rank, got.Host)
			}
		})
	}
}

// TestWeight: what the agent may blame beside ranks of which it knows how they ended.
func TestWeight(t *testing.T) {
	gai := "socket.gaierror: [Errno -3] Temporary failure in name resolution"
	cases := map[string]struct {
		text   string
		reason mpi.Reason
		weight Weight
	}{
		"a name, uncaught":                {"Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n" + gai, NameNotResolved, Root},
		"a name, uncaught, cut":           {gai, NameNotResolved, Root},
		"a name, uncaught in C++":         {"terminate called after throwing an instance of 'std::system_error'\n  what():  Name or service not known", NameNotResolved, Root},
		"a name, said":                    {"cannot send statistics: Temporary failure in name resolution", NameNotResolved, Report},
		"a name of the job":               {"getaddrinfo(demo-node-0-1.demo): Name or service not known", NameNotResolved, Root},
		"ssh to the job":                  {"ssh: connect to host demo-node-0-1.demo port 22: Connection refused", ConnectionRefused, Root},
		"no GPU, uncaught":                {"Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nRuntimeError: No CUDA GPUs are available", GPUUnavailable, Root},
		"no GPU, said by a program in C":  {"main.cu:12: no CUDA-capable device is detected", GPUUnavailable, Failure},
		"CUDA error":                      {"CUDA error: out of memory", CUDAOutOfMemory, Root},
		"a check of CUDA before an abort": {"main.cu:12: CUDA_ERROR_OUT_OF_MEMORY\nMPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD", CUDAOutOfMemory, Failure},
		"an exception behind an abort":    {"MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD\n" + bad, PythonException, Failure},
		"an exception that warns":         {"Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nUserWarning: CUDA initialization: Found no NVIDIA driver on your system.", GPUUnavailable, Root},
		"NCCL's WARN is an error":         {"w-0:88:120 [1] NCCL WARN Call to ibv_modify_qp failed with error Invalid argument errno 22\nRuntimeError: NCCL error in: a.cpp:1, unhandled system error, NCCL version 2.14.3", RDMAFailed, Failure},
		"a peer that went away":           {bad + "\nw-0:88:120 [1] NCCL WARN NET/IB : Got completion from peer 10.0.0.2<41000> with status=12 opcode=0", PythonException, Failure},
		"Open MPI warns and dies":         {"WARNING: Open MPI failed to TCP connect to a peer MPI process.  This", MPIPortsBlocked, Failure},
	}
	for name, tc := range cases {
		if got := FindInOutput(strings.Split(tc.text, "\n")); got == nil || got.Reason != tc.reason || got.Weight != tc.weight {
			t.Errorf("%s: want %s of weight %d, got %+v", name, tc.reason, tc.weight, got)
		}
	}
}

// programs are all texts that programs print.
func programs() []string {
	texts := slices.Collect(maps.Values(innocent))
	for _, tc := range outputs {
		texts = append(texts, tc.text)
	}
	return texts
}

// TestEverySignatureIsShown: a signature without a text as a program prints it may never match.
func TestEverySignatureIsShown(t *testing.T) {
	for _, s := range signatures {
		shown := false
		for _, text := range programs() {
			for _, line := range strings.Split(text, "\n") {
				_, line = CutRankTag(StripEscapes(line))
				matches := s.line.MatchString(line)
				if shown = shown || matches; matches && !hasHint(line) {
					t.Errorf("no hint leads to %q", line)
				}
			}
		}
		if !shown {
			t.Errorf("no text in the table shows %s by %s", s.reason, s.line)
		}
		if _, found := ReasonDocOf(s.reason); !found {
			t.Errorf("%s is not documented", s.reason)
		}
	}
}

func FuzzOutput(f *testing.F) {
	for _, tc := range outputs {
		f.Add(tc.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(text, "\n")
		got := FindInOutput(lines)
		if got == nil {
			return
		}
		if got.Reason == "" || len(got.Summary) > maxLine || !utf8.ValidString(got.Summary) || strings.ContainsAny(got.Summary, "\n\x1b") {
			t.Errorf("not fit for a sentence: %+v", got)
		}
		if got.Rank != nil && *got.Rank < 0 {
			t.Errorf("no rank: %d", *got.Rank)
		}
	})
}
