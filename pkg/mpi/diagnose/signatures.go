package diagnose

import (
	"regexp"

	"lockstep.dev/lockstep/pkg/mpi"
)

// The tables of this file know programs by what they print. Each line is cited in the tests as the program prints it. A
// signature must be so narrow that a program which succeeds does not print it: where that cannot be, it is a suspect or a
// rumour, which an exception makes a root.

var rx = regexp.MustCompile

// jobHost finds the name of a pod of a job, with what stands behind its number. Programs reach for other hosts too, and
// go on without them.
const jobHost = `[^\s:"'(@]+-(?:` + mpi.LauncherJob + `|` + mpi.NodeJob + `)-0-\d+[^\s:"',)]*`

// unresolved are the words of the resolver.
const unresolved = `(?:temporary failure in name resolution|name or service not known|nodename nor servname|unknown host|no address associated with hostname)`

// mpiNames are MPI libraries, their launchers and what these start with.
const mpiNames = `\b(?:Open ?MPI|OMPI|MPICH|Intel MPI|PMI[x12]?|PRRTE|PRTE|ORTE|Hydra)\b`

// blocked are the words that users must read when connections fail.
const blocked = "MPI communication failure - check NetworkPolicies: "

// cannotRun begins what shells and launchers report of a file that the system cannot run.
const cannotRun = "the program `$file$file2` cannot be run: "

const readOnly = "`$file` is on a read-only file system"

// ownSignatures are what our own agent prints.
var ownSignatures = []outputSignature{
	{AuthenticationFailed, Root, rx(`^mpi-agent rsh: cannot reach node (?P<host>[^ ]+).*: authentication failed`), "the key of the job was not accepted by $host"},
	{ConnectionRefused, Root, rx(`^mpi-agent rsh: cannot reach node (?P<host>[^ ]+).*: connection refused`), blocked + "$host port 2222: connection refused"},
	{ConnectionTimedOut, Root, rx(`^mpi-agent rsh: cannot reach node (?P<host>[^ ]+).*: (?P<why>connection timed out|no route to host|it accepts connections but does not answer)`), blocked + "$host port 2222: $why"},
	{mpi.ReasonCommandFailed, Root, rx(`^mpi-agent rsh: (?P<name>\S+) is not a host of this job, which has (?P<known>.*)`), "$name is not a host of the job, which has $known"},
	{WorkerLost, Failure, rx(`^mpi-agent rsh: (?:lost|cannot reach) node (?P<host>[^ ]+)(?: \([^)]*\))?: (?P<why>[^;]*)`), "lost $host: $why"},
}

// systemSignatures are what the operating system says through any program.
var systemSignatures = []outputSignature{
	{SharedMemoryTooSmall, Root, rx(`(?i)out of shared memory|insufficient shared memory|/dev/shm/\S*.*no space left|<?/torch_\S*>?.*no space left|error while creating shared memory segment|unable to (?:open|resize|allocate|mmap).*shared memory`), "/dev/shm is too small"},
	{SharedMemoryTooSmall, Root, rx(`is killed by signal: Bus error`), "a data loader worker was killed by SIGBUS: /dev/shm is too small"},
	{DiskFull, suspect, rx(`(?i)no space left on device|\bENOSPC\b|disk quota exceeded|\bEDQUOT\b`), "no space left on device"},
	{NameNotResolved, Root, rx(`(?i)could not resolve hostname "?(?P<host>` + jobHost + `)`), "the name $host cannot be resolved"},
	{NameNotResolved, Root, rx(`(?i)(?P<host>` + jobHost + `).*` + unresolved), "the name $host cannot be resolved"},
	{NameNotResolved, rumour, rx(`(?i)could not resolve hostname|` + unresolved), "a name cannot be resolved"},
	{ConnectionRefused, Root, rx(`(?i)ssh: connect to host (?P<host>` + jobHost + `) port (?P<port>\d+): connection refused`), blocked + "$host port $port: connection refused"},
	{ConnectionTimedOut, Root, rx(`(?i)ssh: connect to host (?P<host>` + jobHost + `) port (?P<port>\d+): (?P<why>connection timed out|no route to host|operation timed out)`), blocked + "$host port $port: $why"},
	{AuthenticationFailed, Root, rx(`(?i)(?P<host>` + jobHost + `): permission denied \((?:publickey|keyboard)`), "the key of the job was not accepted by $host"},
	{AuthenticationFailed, Symptom, rx(`(?i)permission denied \((?:publickey|keyboard)|host key verification failed|too many authentication failures`), "the key of the job was not accepted"},
	{MPIVersionMismatch, Root, rx(`error while loading shared libraries: (?P<lib>lib(?:mpi|open-rte|open-pal|pmix|prrte|mpicxx|mpifort)\S*\.so[.\d]*):`), "the image has another MPI than the program was built with: $lib is missing"},
	{LibraryMissing, Root, rx(`error while loading shared libraries: (?P<lib>[^:]+):`), "the library $lib is missing"},
	{LibraryMissing, suspect, rx(`(?:ImportError|OSError): (?P<lib>[^:\s]+\.so[.\d]*): cannot open shared object file`), "the library $lib is missing"},
	{MPIVersionMismatch, Root, rx("(?:libmpi|libpmix|libopen-rte|libopen-pal)\\S*: version .(?P<version>\\S+?)' not found"), "the image has another MPI than the program was built with: version $version is missing"},
	{LibraryMissing, Root, rx("(?P<lib>lib[^/\\s]+\\.so[.\\d]*): version .(?P<version>\\S+?)' not found"), "the library $lib is too old: version $version is missing"},
	{ReadOnlyFileSystem, suspect, rx(`(?i)read-only file system: '(?P<file>[^']+)'`), readOnly},
	{ReadOnlyFileSystem, suspect, rx(`(?i)(?P<file>/[^\s'":]+)['"]?: read-only file system`), readOnly},
	{ReadOnlyFileSystem, suspect, rx(`(?i)read-only file system|\bEROFS\b`), "a file system is read-only"},
	{OutOfMemory, Root, rx(`^MemoryError\b|instance of 'std::bad_alloc'|^OSError: \[Errno 12\]|numpy\S*\._ArrayMemoryError|DefaultCPUAllocator: (?:can't|not enough)`), "out of memory"},
	{OutOfMemory, suspect, rx(`std::bad_alloc`), "out of memory"},
	{OutOfMemory, Failure, rx(`(?i)cannot allocate memory`), "out of memory"},
	{ArgumentTooLong, suspect, argumentTooLong, "$0"},
}

// gpuSignatures are CUDA and the programs that use it.
var gpuSignatures = []outputSignature{
	{CUDAOutOfMemory, suspect, rx(`CUDA out of memory|CUDA error: out of memory|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|torch\.(?:cuda\.)?OutOfMemoryError|cupy\S*\.OutOfMemoryError|OOM when allocating tensor|RESOURCE_EXHAUSTED: Out of memory|CUBLAS_STATUS_ALLOC_FAILED`), "CUDA out of memory"},
	{GPUHardwareError, Root, rx(`(?i)uncorrectable (?:NVLink|ECC) error (?:encountered|detected)|fallen off the bus|double bit ecc error`), "a GPU failed: $0"},
	{GPUHardwareError, Root, rx(`NVRM: Xid \((?P<device>[^)]+)\): (?P<xid>48|62|64|74|79|94|95|119|120)\b`), "a GPU failed: Xid $xid on $device"},
	{GPUDriverTooOld, suspect, rx(`(?i)driver version is insufficient for CUDA runtime version|NVIDIA driver on your system is too old|cudaErrorInsufficientDriver|forward compatibility was attempted on non supported HW|unsatisfied condition: cuda`), "the GPU driver of the machine is too old for the CUDA of the image"},
	{GPUUnavailable, rumour, rx(`(?i)failed call to cuInit: .*|failed to initialize NVML`), "no GPU: $0"},
	{GPUUnavailable, suspect, rx(`(?i)no CUDA-capable device is detected|no CUDA GPUs are available|CUDA_ERROR_NO_DEVICE|found no NVIDIA driver|invalid device ordinal|cudaErrorNoDevice|ProcessGroupNCCL is only supported with GPUs, no GPUs found`), "no GPU: $0"},
	{CUDAFailed, Root, rx(`(?P<file>[\w.-]+\.cuh?):(?P<number>\d+): .*, thread: \[[\d,]+\] (?P<what>Assertion .* failed)`), "a kernel on a GPU failed: $what ($file:$number)"},
	{CUDAFailed, suspect, rx(`CUDA error: (?P<what>device-side assert triggered|an illegal (?:memory access|instruction) was encountered|misaligned address|unspecified launch failure)`), "a kernel on a GPU failed: $what"},
	{CUDAFailed, suspect, rx(`CUDA_ERROR_(?:ILLEGAL_ADDRESS|ASSERT|MISALIGNED_ADDRESS|ILLEGAL_INSTRUCTION|LAUNCH_FAILED)|cudaError(?:IllegalAddress|Assert|MisalignedAddress|IllegalInstruction|LaunchFailure)\b`), "a kernel on a GPU failed: $0"},
}

// fabricSignatures are NCCL, RDMA and what builds on them.
var fabricSignatures = []outputSignature{
	{RDMAFailed, Failure, rx(`(?i)call to ibv_\w+ failed|\bibv_\w+\S* (?:failed|returned)|NET/IB ?: .*(?:fatal|got completion)|transport retry count(?:er)? exceeded|local protection error|failed to (?:register|allocate) .*memory.*mlx|could not open .*uverbs`), "RDMA failed: $0"},
	{NCCLTimeout, Failure, rx(`\[Rank (?P<rank>\d+)\].*(?:Watchdog caught collective operation timeout|collective operation timeout)[^.]*`), "a collective operation of NCCL did not end in time"},
	{NCCLTimeout, Failure, rx(`(?i)watchdog caught collective operation timeout|NCCL.*timed out|ncclCommWatchdog|heartbeat monitor timed out`), "a collective operation of NCCL did not end in time"},
	{PeerFailed, Symptom, rx(`ncclRemoteError|remote process exited or there was a network error|NCCL.*(?:aborted|connection closed by (?:remote )?peer)`), "NCCL lost a rank"},
	{NCCLFailed, Failure, rx(`unhandled (?:system|cuda|internal) error[^,]*|invalid (?:usage|argument) \(run with NCCL_DEBUG[^,]*|ncclSystemError|ncclInternalError|ncclUnhandledCudaError|ncclInvalidUsage`), "NCCL: $0"},
	{NCCLFailed, Symptom, rx(`NCCL WARN (?P<what>.*)`), "NCCL: $what"},
	{PeerFailed, Symptom, rx(`(?i)Horovod has been shut down|HorovodInternalError|connection (?:closed|reset) by (?:remote )?peer|broken pipe|socket closed by peer`), "the connection to another rank was lost"},
	{MPIPortsBlocked, Failure, rx(`(?i)the client socket has timed out after \S+ while trying to connect to \(?(?P<to>[^)]*?)\)?\.?$`), blocked + "connection to $to timed out"},
}

// mpiSignatures are MPI libraries and their launchers, as far as they say why.
var mpiSignatures = []outputSignature{
	{NotEnoughSlots, Root, rx(`not enough slots available in the system to satisfy the (?P<n>\d+)`), "there are fewer slots than the $n ranks asked for"},
	{NotEnoughSlots, Root, rx(`(?i)not enough slots available|all nodes which are allocated for this job are already filled`), "there are fewer slots than ranks asked for"},
	{CommandNotFound, Root, rx(`execvp error on file (?P<file>\S+) \((?P<why>[^)]*)\)`), "the program `$file` cannot be started: $why"},
	{CommandNotFound, Root, rx(`(?:mpirun|mpiexec|prterun|prun|prte) was unable to (?:find the specified executable file|launch the specified application)`), "the program was not found, or cannot be started"},
	{MPIVersionMismatch, Root, rx(`(?i)` + mpiNames + `.*\b(?:version mismatch|mismatched? versions?)|(?:version mismatch|mismatched? versions?)\b.*` + mpiNames + `|different versions? of ` + mpiNames + `|incompatible PMI`), "launcher and ranks use different versions of MPI"},
	{MPIVersionMismatch, Root, rx(`Data unpack would read past end of buffer|unrecognized argument (?:pmi|control|rmk|usize|upstream|retries)|PMI_Init.*unsupported version`), "launcher and ranks use different versions of MPI"},
	{MPIPortsBlocked, Failure, rx(`(?i)connect\(\) to (?P<to>\S+?)(?::(?P<port>\d+))? failed: (?P<why>connection (?:refused|timed out)|no route to host)`), blocked + "connection to $to $port: $why"},
	{MPIPortsBlocked, Failure, rx(`(?i)(?:WARNING: Open MPI )?failed to TCP connect to a peer MPI process`), blocked + "ranks cannot reach each other"},
	{MPIPortsBlocked, Root, rx(`(?i)pair of MPI processes are unable to reach each other`), blocked + "ranks cannot reach each other"},
	{MPIPortsBlocked, Root, rx(`unable to connect from "(?P<from>[^"]+)" to "(?P<to>[^"]+)" \((?P<why>[^)]*)\)`), blocked + "$from cannot reach $to: $why"},
	{MPIPortsBlocked, Failure, rx(`(?i)UCX +ERROR .*(?:connect\(\S*\) failed|connection timed out|no route to host)|OFI.*(?:connect|address vector).*(?:timed out|unreachable|refused)`), blocked + "$0"},
	{MPIFailed, Root, rx(`UCX +ERROR +no .*transport`), "UCX finds no transport: check UCX_TLS and UCX_NET_DEVICES"},
	{MPIAborted, suspect, rx(`MPI_ABORT was invoked on rank (?P<rank>\d+)`), "rank $rank called MPI_Abort"},
	{MPIAborted, suspect, rx(`application called MPI_Abort\([^,]*, (?P<code>-?\d+)\) - process (?P<rank>\d+)`), "rank $rank called MPI_Abort with code $code"},
	{MPIFailed, Failure, rx(`\*\*\* (?P<what>MPI_ERR_?\w*: .*)`), "$what"},
	{MPIFailed, Symptom, rx(`(?:\(rank (?P<rank>\d+) in comm \d+\): )?Fatal error in (?P<what>\w+): Other MPI error`), "MPI error in $what"},
	{MPIFailed, Failure, rx(`(?:\(rank (?P<rank>\d+) in comm \d+\): )?Fatal error in (?P<what>(?:P?MPI|internal)_\w+: .*)`), "$what"},
	{MPIFailed, Symptom, rx(`\*\*\* An error occurred in (?P<call>MPI_\w+)`), "an error occurred in $call"},
	{MPIFailed, Symptom, rx(`It looks like MPI_INIT failed|It looks like \S+_init failed|MPI_Init\S* failed`), "MPI could not be initialised"},
}

// pythonSignatures are exceptions with a reason of their own; all others are found by the traceback.
var pythonSignatures = []outputSignature{
	{PythonModuleMissing, Root, rx(`^ModuleNotFoundError: No module named '(?P<module>[^']+)'`), "the Python module $module is missing"},
	{PythonModuleMissing, Root, rx(`^\S*python\S*: No module named (?P<module>[\w.]+)$`), "the Python module $module is missing"},
	{PythonException, Failure, rx(`^(?:SyntaxError|IndentationError|TabError): `), ""},
	{CommandNotFound, Root, rx(`^\S*python\S*: can't open file '?(?P<file>[^':]+)'?: \[Errno 2\]`), "the script `$file` is not there"},
	{PeerFailed, Report, rx(`ChildFailedError|CalledProcessError|^KeyboardInterrupt|Horovod detected that one or more processes exited`), "another process of the job failed"},
}

// launcherSignatures are the reports of launchers, and what a shell says.
var launcherSignatures = []outputSignature{
	{SharedMemoryTooSmall, Symptom, rx(`process rank (?P<rank>\d+) with PID \d+ on node (?P<host>\S+) exited on signal 7\b`), "rank $rank was killed by SIGBUS: most often /dev/shm is too small"},
	{RankKilled, Symptom, rx(`process rank (?P<rank>\d+) with PID \d+ on node (?P<host>\S+) exited on signal (?P<signal>\d+) \((?P<name>[^)]*)\)`), "rank $rank was killed by signal $signal ($name)"},
	{RankKilled, Symptom, rx(`process rank (?P<rank>\d+) with PID \d+ on node (?P<host>\S+) exited on$`), "rank $rank was killed by a signal"},
	{SharedMemoryTooSmall, Symptom, rx(`Signal: Bus error \(7\)|(?i)fatal python error: bus error|Caught signal 7 \(Bus error|^Bus error(?: \(core dumped\))?$`), "killed by SIGBUS: most often /dev/shm is too small"},
	{RankKilled, Symptom, rx(`Signal: (?P<name>Segmentation fault|Floating point exception|Aborted|Illegal instruction) \((?P<signal>\d+)\)`), "killed by signal $signal ($name)"},
	{RankKilled, Symptom, rx(`(?i)caught signal (?P<signal>\d+) \((?P<name>[^):]*)|fatal python error: (?P<py>\w[\w ]*)`), "killed by a signal: $name$py"},
	{RankKilled, Symptom, rx(`KILLED BY SIGNAL: (?P<signal>\d+) \((?P<name>[^)]*)\)`), "killed by signal $signal ($name)"},
	{RankKilled, Symptom, rx(`EXIT STRING: (?P<name>[^(]*) \(signal (?P<signal>\d+)\)`), "killed by signal $signal ($name)"},
	{RankKilled, Symptom, rx(`^Killed$|: line \d+: +\d+ Killed\b|is killed by signal: Killed`), "killed by SIGKILL: most often for lack of memory"},
	{RankKilled, Symptom, rx(`^Segmentation fault(?: \(core dumped\))?$|: line \d+: +\d+ Segmentation fault\b`), "killed by SIGSEGV"},
	{LaunchDaemonLost, Symptom, rx(`(?:ORTE|PRTE|PRRTE) has lost communication with a remote daemon|(?:ORTE|PRTE|PRRTE) daemon has (?:unexpectedly )?failed|(?:ORTE|PRTE|PRRTE) was unable to reliably start one or more daemons`), "the launcher lost the daemon of a node"},
	{LaunchDaemonLost, Symptom, rx(`unable to run (?:bstrap_|pmi_)?proxy on (?P<host>\S+)`), "the launcher could not start its proxy on $host"},
	{LaunchDaemonLost, Symptom, rx(`one of the processes terminated badly; aborting|HYD\w+ \(.*\): (?:control_cb|assert \(!closed\) failed)|assert \(!closed\) failed`), "the launcher lost the proxy of a node"},
	{CommandNotFound, suspect, rx(`(?P<file>[\w./+-]+)['"]?(?:: cannot execute(?: binary file)?)?: Exec format error|(?P<file2>[\w./+-]+): cannot execute binary file`), cannotRun + "it names no interpreter (`#!/bin/sh`), or is built for another architecture"},
	{CommandNotFound, suspect, rx(`Exec format error`), "a program cannot be run: it names no interpreter (`#!/bin/sh`), or is built for another architecture (exec format error)"},
	{CommandNotFound, suspect, rx(`(?P<file>[\w./+-]+): (?:\S+: bad interpreter|cannot execute: required file not found)|(?P<file2>[\w./+-]+) has a bad interpreter on the first line`), cannotRun + "its interpreter is not in the image, or its lines end as on Windows (`dos2unix` corrects them)"},
	{CommandNotFound, suspect, rx(`\$'\\r': command not found|env: .\S+\\r.: No such file`), "the lines of a script end as on Windows: `dos2unix` corrects them"},
	{CommandNotFound, Symptom, rx(`(?:^|: )(?:line \d+: |\d+: )?(?P<command>[\w./-]+): (?:command )?not found$`), "the command `$command` was not found"},
	{RankFailed, Report, rx(`Process name: \[.*,(?P<rank>\d+)\]`), "rank $rank exited with a code other than 0"},
	{RankFailed, Report, rx(`RANK (?P<rank>\d+) PID \d+ RUNNING AT (?P<host>\S+)`), "rank $rank ended badly"},
	{RankFailed, Report, rx(`^Process (?P<rank>\d+) exit with status code (?P<code>\d+)`), "rank $rank exited with code $code"},
	{RankFailed, Report, rx(`BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES`), "a rank ended badly"},
	{RankFailed, Report, rx(`exits with return code = (?P<code>-?\d+)`), "a rank exited with code $code"},
}
