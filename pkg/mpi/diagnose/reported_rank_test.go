package diagnose

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
)

func end(rank, code int, signal, host string) *mpi.RankEnd {
	return &mpi.RankEnd{Rank: &rank, Code: code, Signal: signal, Host: host}
}

const (
	openMPI4 = `--------------------------------------------------------------------------
mpirun detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:

  Process name: [[40904,1],3]
  Exit code:    6
--------------------------------------------------------------------------`
	openMPI5 = `prterun detected that one or more processes exited with non-zero status,
thus causing the job to be terminated. The first process to do so was:

   Process name: [prterun-allfail0-o5-launcher-0-0-17@1,0]
   Exit code:    6
--------------------------------------------------------------------------`
	killed5 = `prterun noticed that process rank 3 with PID 36 on node handkill0-o5-node-0-1 exited on
signal 9 (Killed).`
	intel = `===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   RANK 3 PID 31 RUNNING AT demo-node-0-1
=   EXIT STATUS: 6
===================================================================================
=   RANK 0 PID 30 RUNNING AT demo-node-0-0
=   KILLED BY SIGNAL: 9 (Killed)
===================================================================================`
	mpich = `=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 17 RUNNING AT killparent-mp-node-0-0.killparent-mp
=   EXIT CODE: 15
=   CLEANING UP REMAINING PROCESSES
=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES`
)

// torchrunFailed is how torchrun of PyTorch 2.11 ends when a rank has failed.
const torchrunFailed = `E1126 21:36:07.284000 6140 torch/distributed/elastic/multiprocessing/api.py:986] failed (exitcode: 1) local_rank: 0 (pid: 6346) of binary: /opt/venv/bin/python
Traceback (most recent call last):
  File "/opt/venv/bin/torchrun", line 10, in <module>
    sys.exit(main())
             ^^^^^^
  File "/opt/venv/lib/python3.12/site-packages/torch/distributed/launcher/api.py", line 317, in launch_agent
    raise ChildFailedError(
torch.distributed.elastic.multiprocessing.errors.ChildFailedError: 
============================================================
/w/train.py FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-26_21:36:07
  host      : demo-node-0-1
  rank      : 1 (local_rank: 0)
  exitcode  : 1 (pid: 6346)
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
============================================================`

func TestReported(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		want         *mpi.RankEnd
	}{
		"Open MPI 4":         {"the code stands in a line of its own", openMPI4, end(3, 6, "", "")},
		"Open MPI 5":         {"", openMPI5, end(0, 6, "", "")},
		"Open MPI, tagged":   {"", "[1,0]<stderr>:  Process name: [[40904,1],3]\n[1,0]<stderr>:  Exit code:    6", end(3, 6, "", "")},
		"signal, Open MPI 4": {"", "mpirun noticed that process rank 3 with PID 22 on node misl-mod-node-0-1.misl-mod exited on signal 11 (Segmentation fault).", end(3, 139, "SIGSEGV", "misl-mod-node-0-1.misl-mod")},
		"signal, Open MPI 5": {"the line is broken where it is long", killed5, end(3, 137, "SIGKILL", "handkill0-o5-node-0-1")},
		"Intel MPI":          {"it names all ranks, the first one first", intel, end(3, 6, "", "demo-node-0-1")},
		"MPICH":              {"it names no rank", mpich, nil},
		"horovodrun":         {"", "Process 3 exit with status code 1.\nProcess 0 exit with status code 143.", end(3, 1, "", "")},
		"torchrun":           {"", torchrunFailed, end(1, 1, "", "")},
		"torchrun, signal":   {"", "  rank      : 1 (local_rank: 0)\n  exitcode  : -9 (pid: 6708)", end(1, 137, "SIGKILL", "")},
		"torchrun, twice":    {"each node has its own, and the first one failed first", torchrunFailed + "\n  rank      : 0 (local_rank: 0)\n  exitcode  : -6 (pid: 6709)", end(1, 1, "", "")},
		"two launches":       {"the command passed over the first", openMPI5 + "\n" + killed5, end(3, 137, "SIGKILL", "handkill0-o5-node-0-1")},
		"cut":                {"the code is not in the output any more", "  Process name: [[40904,1],3]", nil},
		"no code":            {"", "  Process name: [[40904,1],3]\n  Exit code:    99999999999", nil},
		"a success":          {"", "Process 3 exit with status code 0.", nil},
		"a program":          {"that counts ranks", "rank 3 exited with code 6\nProcess name: trainer", nil},
	}
	for name, c := range cases {
		if diff := cmp.Diff(c.want, ReportedRank(strings.Split(c.text, "\n"))); diff != "" {
			t.Errorf("%s: %s: %s", name, c.reason, diff)
		}
	}
}

// TestOutputOf: what scripts and libraries print and do without is not why a rank ended otherwise.
func TestOutputOf(t *testing.T) {
	const (
		apex  = "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    import apex\nModuleNotFoundError: No module named 'apex'"
		smi   = "nvidia-smi: error while loading shared libraries: libnvidia-ml.so.1: cannot open shared object file: No such file or directory"
		cache = "cache: std::bad_alloc, falling back to disk"
		throw = "terminate called after throwing an instance of 'std::bad_alloc'"
	)
	tagged := func(rank, text string) string {
		return "[1," + rank + "]<stderr>:" + strings.ReplaceAll(text, "\n", "\n[1,"+rank+"]<stderr>:")
	}
	cases := map[string]struct {
		reason, text string
		first        *mpi.RankEnd
		want         mpi.Reason
	}{
		"module, signal":         {"Python ends with a code", apex, end(3, 139, "SIGSEGV", ""), ""},
		"module, code 1":         {"", apex, end(3, 1, "", ""), PythonModuleMissing},
		"module, other code":     {"", apex, end(3, 9, "", ""), ""},
		"module, peer":           {"MPICH ended the rank because another one was gone", apex, end(0, 15, "", ""), PythonModuleMissing},
		"module, no code":        {"nobody saw how the rank ended", apex, end(3, 0, "", ""), PythonModuleMissing},
		"module, own, wrapped":   {"a script may choose the code", tagged("3", apex), end(3, 9, "", ""), PythonModuleMissing},
		"module, own, signal":    {"", tagged("3", apex), end(3, 139, "SIGSEGV", ""), ""},
		"module, of another":     {"its end is not known", tagged("2", apex), end(3, 139, "SIGSEGV", ""), PythonModuleMissing},
		"library, of a tool":     {"", smi, end(1, 9, "", ""), ""},
		"library, of the loader": {"", smi, end(1, 127, "", ""), LibraryMissing},
		"memory, caught":         {"", cache, end(2, 9, "", ""), ""},
		"memory, abort":          {"", throw, end(2, 134, "SIGABRT", ""), OutOfMemory},
		"memory, signal":         {"", throw, end(2, 139, "SIGSEGV", ""), ""},
		"memory, fork":           {"a shell", "bash: fork: Cannot allocate memory", end(2, 254, "", ""), OutOfMemory},
		"the other line":         {"what is left counts", smi + "\nRuntimeError: CUDA out of memory.", end(1, 134, "SIGABRT", ""), CUDAOutOfMemory},
		"a symptom":              {"", smi + "\nConnection reset by peer", end(1, 134, "SIGABRT", ""), PeerFailed},
	}
	for name, c := range cases {
		got := FindInOutputOfRank(strings.Split(c.text, "\n"), *c.first)
		if got == nil {
			got = &OutputFinding{}
		}
		if got.Reason != c.want {
			t.Errorf("%s: %s: want %q, got %q", name, c.reason, c.want, got.Reason)
		}
	}
}

func FuzzReported(f *testing.F) {
	for _, text := range []string{openMPI4, openMPI5, killed5, intel, mpich} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		end := ReportedRank(strings.Split(text, "\n"))
		if end != nil && (end.Rank == nil || *end.Rank < 0 || end.Code <= 0 || end.Code > 255) {
			t.Errorf("not how a rank ended: %+v", end)
		}
	})
}
