package main

import (
	"encoding/json"
	"strings"
	"testing"

	"lockstep.dev/lockstep/pkg/mpi/agent/probe"
)

// probing is mpirun and a launch daemon that start two ranks of a command on every node, as a launcher of MPI does.
func (j *job) probing() {
	j.script("mpirun", `#!/bin/sh
size=$(($(wc -l <"$HOSTFILE") * 2)) first=0 pids=
while read host slots; do
	rsh "$host" orted "$first" "$size" "$@" </dev/null &
	pids="$pids $!" first=$((first + 2))
done <"$HOSTFILE"
code=0
for pid in $pids; do wait $pid || code=$?; done
exit $code
`)
	j.script("orted", `#!/bin/sh
first=$1; export OMPI_COMM_WORLD_SIZE=$2; shift 2
OMPI_COMM_WORLD_RANK=$first "$@" & one=$!
OMPI_COMM_WORLD_RANK=$((first + 1)) "$@" & two=$!
code=0
for pid in $one $two; do wait $pid || code=$?; done
exit $code
`)
}

// probe starts a probe as a job.
func (j *job) probe(arguments ...string) ended {
	j.t.Helper()
	j.nodes()
	j.probing()
	j.script("probe-here", "#!/bin/sh\nexec mpi-agent probe --hostname $HOSTNAME --for 1s \"$@\"\n")
	launcher := j.launch(nil, append([]string{"mpirun", "probe-here"}, arguments...)...)
	if result, err := j.push(); err != nil || !result.Passed {
		j.t.Fatal(result, err)
	}
	return launcher.wait()
}

func TestProbeMeasuresAllPairsOfAJob(t *testing.T) {
	t.Parallel()
	j := newJob(t, 2)
	got := j.probe("--ranks", "4")
	var report probe.Report
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil || got.code != 0 {
		t.Fatalf("%v, %+v", err, got)
	}
	if !report.OK || report.Schema != probe.Schema || len(report.Pairs) != 6 || report.BetweenHosts.Pairs != 4 || report.WithinHosts.Pairs != 2 {
		t.Errorf("%s", got.stdout)
	}
	if report.Ranks[3].Host != "demo-node-0-1" {
		t.Errorf("ranks %+v", report.Ranks)
	}
	if strings.Count(got.stdout, "\n") != 1 {
		t.Error("the JSON is not one line")
	}
}

func TestProbeFailsWhenALimitDoesNotHold(t *testing.T) {
	t.Parallel()
	j := newJob(t, 2)
	got := j.probe("-o", "table", "--min-bandwidth", "1e12")
	if got.code != 1 || !strings.Contains(got.stdout, "NOT OK: 4 ranks on 2 hosts") || !strings.Contains(got.stdout, "at least 1000000000000 is asked for") {
		t.Errorf("%+v", got)
	}
}

func TestProbeUsage(t *testing.T) {
	t.Parallel()
	bin := program(t) + "/mpi-agent"
	cases := map[string]struct {
		args []string
		code int
		want string
	}{
		"format":      {[]string{"-o", "yaml"}, 2, "allowed are auto, table and json"},
		"argument":    {[]string{"all"}, 2, "takes no arguments"},
		"no time":     {[]string{"--for", "0s"}, 2, "longer than 0"},
		"no launcher": {nil, 1, "run the probe under mpirun"},
	}
	for name, c := range cases {
		got := start(t, []string{asAgent + "=1"}, append([]string{bin, "probe"}, c.args...)...).wait()
		if got.code != c.code || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A launcher that runs ranks is a host of the hostfile, before the nodes, and reports its ranks like them.
func TestLauncherRunsRanks(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1)
	j.write(j.hostfile, "demo-launcher-0-0.demo slots=1\ndemo-node-0-0.demo slots=1\n", 0o644)
	j.nodes()
	j.script("mpirun", `#!/bin/sh
OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 "$@" & here=$!
rsh demo-node-0-0.demo orted "$@" </dev/null || exit 1
wait $here
`)
	j.script("orted", "#!/bin/sh\nOMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 \"$@\"\n")
	j.script("probe-here", "#!/bin/sh\nexec mpi-agent probe --hostname $HOSTNAME --for 200ms \"$@\"\n")
	launcher := j.launch(nil, "mpirun", "probe-here", "--ranks", "2")
	if result, err := j.push(); err != nil || !result.Passed {
		t.Fatal(result, err)
	}
	got := launcher.wait()
	var report probe.Report
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil || got.code != 0 || report.BetweenHosts == nil {
		t.Fatalf("%v, %+v", err, got)
	}
	verdict := j.verdict()
	if len(verdict.Nodes) != 1 || verdict.Timings == nil || verdict.Timings.RankSeconds == nil {
		t.Errorf("%+v", verdict)
	}
}

// numNodes is 1 and the launcher runs the ranks: the job is one pod, and asks nobody for addresses.
func TestAJobOfOnePodRunsItsRanks(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1)
	j.hosts[0].Address = "127.0.0.1"
	j.write(j.hostfile, "demo-launcher-0-0.demo slots=2\n", 0o644)
	j.script("mpirun", `#!/bin/sh
OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 "$@" &
OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 "$@" && wait $!
`)
	got := j.launch([]string{"--dns-after", "0", "--gate-timeout", "1ms"}, "mpirun", "mpi-agent", "probe", "--for", "200ms").wait()
	var report probe.Report
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil || got.code != 0 || report.WithinHosts == nil || report.BetweenHosts != nil {
		t.Errorf("%v, %+v", err, got)
	}
}
