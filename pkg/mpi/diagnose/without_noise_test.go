package diagnose

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWithoutNoise(t *testing.T) {
	const said = "Traceback (most recent call last):\n  File \"/w/train.py\", line 3, in <module>\n    raise ValueError(\"bad\")\nValueError: bad"
	cases := map[string]struct{ text, want string }{
		"torchrun": {said + "\n" + torchrunFailed, said + `
E1126 21:36:07.284000 6140 torch/distributed/elastic/multiprocessing/api.py:986] failed (exitcode: 1) local_rank: 0 (pid: 6346) of binary: /opt/venv/bin/python
/w/train.py FAILED`},
		"frames of C++": {`[rank0]:[E1126 21:37:37.973626550 ProcessGroupNCCL.cpp:2303] failure detected by watchdog
frame #4: c10d::ProcessGroupNCCL::Watchdog::run() + 0x157 (0x7f864 in libtorch_cuda.so)
frame #5: <unknown function> + 0xecdb4 (0x7f8612cecdb4 in /lib/x86_64-linux-gnu/libstdc++.so.6)
`, "[rank0]:[E1126 21:37:37.973626550 ProcessGroupNCCL.cpp:2303] failure detected by watchdog\n"},
		"Hydra": {`ValueError: bad
[mpiexec@vm] HYDU_sock_write (/mpich-5.0.2/src/pm/hydra/lib/utils/sock.c:250): write error (Bad file descriptor)
[proxy:0@demo-node-0-0] main (/mpich-5.0.2/src/pm/hydra/proxy/pmip.c:123): demux engine error waiting for event`, "ValueError: bad"},
		"Open MPI": {`ValueError: bad
[demo-launcher-0-0:00016] plm:ssh: Warning: setpgid(19,19) failed in parent with errno=Permission denied(13)
[demo-launcher-0-0:00016] plm:rsh: Warning: setpgid(20,20) failed in parent with errno=Permission denied(13)
[demo-launcher-0-0:00016] 3 more processes have sent help message help-mpi-api.txt / mpi-abort
[demo-launcher-0-0:00016] 1 more process has sent help message help-mpi-btl-tcp.txt / client connect fail
[demo-launcher-0-0:00016] Set MCA parameter "orte_base_help_aggregate" to 0 to see all help / error messages`, "ValueError: bad"},
		"a function of Python": {
			"[1,2]<stderr>:lockstep-raised eJxFjsEKwjAQRH9l\n[1,2]<stderr>:ValueError: bad",
			"[1,2]<stderr>:ValueError: bad",
		},
		"Open MPI's errors":   {"[demo-node-0-0:00031] *** An error occurred in MPI_Send", "[demo-node-0-0:00031] *** An error occurred in MPI_Send"},
		"another rank within": {"[rank0]: Traceback (most recent call last):\n[rank1]: step 3\n[rank0]:   File \"a.py\"\n[rank0]: subprocess.CalledProcessError: Command 'x' returned 1", "[rank1]: step 3"},
		"two at once": {"[rank0]: Traceback (most recent call last):\n[rank1]: Traceback (most recent call last):\n[rank0]:   File \"a.py\"\n[rank1]:   File \"b.py\"\n" +
			"[rank0]: subprocess.CalledProcessError: x\n[rank1]: subprocess.CalledProcessError: y\n[rank1]: step 4", "[rank1]: step 4"},
		"a program's own": {"step 3\n  time: 4 s\n  rank 3 of 4", "step 3\n  time: 4 s\n  rank 3 of 4"},
		"nothing else":    {"----\nframe #4: c10d", "----\nframe #4: c10d"},
	}
	for name, tc := range cases {
		got := strings.Join(WithoutNoise(strings.Split(tc.text, "\n")), "\n")
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", name, diff)
		}
	}
}
