package mpirun

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/verdict"
)

// threeNodes is a job of three nodes with two slots each, the first of which is the launcher's pod.
func threeNodes(dialect mpi.Dialect) job {
	files := map[string]string{
		"/run/hostfile": "j-launcher-0-0:2\nj-node-0-0.j:2\nj-node-0-1.j:2\n",
		"two":           "# mine\nj-node-0-0 slots=4 max_slots=4\n\nuser@10.0.0.3 slots=4\n",
		"hydra":         "j-node-0-0:1\nj-node-0-1:1\n",
		"relative":      "+n1\n",
		"ranks":         "rank 0=j-node-0-0 slot=0\nrank 1=10.0.0.3 slot=0\n",
		"programs":      "-n 2 ./a\n-n 4 ./b -n 9\n",
		"itself":        "--app itself\n",
		"plain":         "j-node-0-0\nj-node-0-1\n",
	}
	return job{
		dialect: dialect, variables: []string{"I_MPI_PERHOST=2", "HYDRA_HOST_FILE=/run/hostfile", "OMPI_MCA_orte_default_hostfile=" + mpi.HostfilePath}, own: "j-launcher-0-0", hostfile: "/run/hostfile",
		table: mpi.HostTable{Hosts: []mpi.HostAddress{
			{Name: "j-launcher-0-0.j", Address: "10.0.0.1"}, {Name: "j-node-0-0.j", Address: "10.0.0.2"}, {Name: "j-node-0-1.j", Address: "10.0.0.3"},
		}},
		read: func(name string) ([]byte, error) {
			text, found := files[name]
			if !found {
				return nil, errors.New("no such file")
			}
			return []byte(text), nil
		},
		write: func(string) (string, error) { return "written", nil },
	}
}

func TestAskedWorld(t *testing.T) {
	all := []string{"j-launcher-0-0", "j-node-0-0", "j-node-0-1"}
	nodes := all[1:]
	nothing := verdict.AskedWorld{}
	world := func(ranks, atLeast int, hosts ...string) verdict.AskedWorld {
		return verdict.AskedWorld{Ranks: ranks, Hosts: hosts, AtLeast: atLeast}
	}
	cases := map[string]struct {
		line string
		want verdict.AskedWorld
	}{
		"nothing else":           {"./train", world(0, 3, all...)},
		"all ranks":              {"-n 6 ./train -n 1 -H other", world(6, 3, all...)},
		"fewer ranks":            {"-np 3 ./train", world(3, 2, all...)},
		"one rank":               {"-n 1 ./train", world(1, 1, all...)},
		"more ranks than slots":  {"--oversubscribe -n 64 ./train", world(64, 3, all...)},
		"short names":            {"-H j-node-0-0,j-node-0-1 ./train", world(0, 2, nodes...)},
		"full names":             {"--host j-node-0-0.j,j-node-0-1.j.ns.svc.cluster.local ./train", world(0, 2, nodes...)},
		"addresses":              {"-hosts 10.0.0.2,10.0.0.3 ./train", world(0, 2, nodes...)},
		"mixed, with slots":      {"--host j-node-0-0:2,10.0.0.3:2 -n 2 ./train", world(2, 1, nodes...)},
		"a host many times":      {"-H j-node-0-0,j-node-0-0 -n 2 ./train", world(2, 1, "j-node-0-0")},
		"one slot each":          {"-H j-node-0-0,j-node-0-1 -n 2 ./train", world(2, 2, nodes...)},
		"this pod":               {"-host localhost ./train", world(0, 1, "j-launcher-0-0")},
		"another's host":         {"-host elsewhere.example.org ./train", world(0, 0)},
		"relative":               {"-H +n1 ./train", nothing},
		"own hostfile":           {"--hostfile two ./train", world(0, 2, nodes...)},
		"own hostfile, few":      {"--hostfile two -n 4 ./train", world(4, 1, nodes...)},
		"own hostfile of Hydra":  {"-f hydra -n 2 ./train", world(2, 2, nodes...)},
		"relative hostfile":      {"--hostfile relative ./train", nothing},
		"missing hostfile":       {"--hostfile none ./train", nothing},
		"rankfile":               {"-rf ranks -n 2 ./train", world(2, 2, nodes...)},
		"per node":               {"-ppn 1 -n 2 ./train", world(2, 2, all...)},
		"per node, policy":       {"--map-by ppr:1:node -n 3 ./train", world(3, 3, all...)},
		"per socket":             {"--map-by ppr:1:socket -n 3 ./train", nothing},
		"policy":                 {"--map-by node:OVERSUBSCRIBE ./train", world(0, 3, all...)},
		"policy with =":          {"--map-by=slot --bind-to=core ./train", world(0, 3, all...)},
		"sequential":             {"--map-by seq ./train", nothing},
		"two programs":           {"-n 2 ./a : -n 2 ./b", world(4, 2, all...)},
		"two programs, own host": {"-H j-node-0-0 -n 1 ./a : -H j-node-0-1 -n 1 ./b", world(2, 2, nodes...)},
		"two programs, no ranks": {"./a : -n 2 ./b", nothing},
		"app file":               {"--app programs", world(6, 3, all...)},
		"app file of itself":     {"--app itself", nothing},
		"hostfile without slots": {"--hostfile plain -n 2 ./train", world(2, 1, nodes...)},
		"a list of a hostfile":   {"--hostfile two -H j-node-0-1 ./train", world(0, 1, "j-node-0-1")},
		"variables of Hydra":     {"-genv A=1 -env B 2 -n 1 ./train", world(1, 1, all...)},
		"parameters that map":    {"--mca rmaps_base_mapping_policy ppr:4:node -n 4 ./train", nothing},
		"parameters of files":    {"--tune file -n 4 ./train", nothing},
		"other options":          {"--allow-run-as-root -x A=1 -x B --mca btl ^openib -genv C 1 --tag-output -wdir /w -n 6 ./train", world(6, 3, all...)},
		"Horovod's":              {"-np 2 -H j-node-0-0:1,j-node-0-1:1 -bind-to none -map-by slot -mca pml ob1 -x A python t.py", world(2, 2, nodes...)},
		"an unknown option":      {"--brand-new 7 -n 1 ./train", nothing},
		"version":                {"--version", nothing},
		"no program":             {"-n 2", nothing},
		"no arguments":           {"", nothing},
		"no number":              {"-n x ./train", nothing},
		"a number too large":     {"-n 99999999999999 ./train", nothing},
		"an option at the end":   {"-n", nothing},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := threeNodes(mpi.PRRTE).readCommandLine(strings.Fields(tc.line)).askedWorld()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: %s", tc.line, diff)
			}
		})
	}
}

// Intel's Hydra goes by I_MPI_PERHOST, which is the slots of the job, whatever a list or a file of hosts says.
func TestIntelFillsTheSlotsOfTheJob(t *testing.T) {
	for dialect, want := range map[mpi.Dialect]int{mpi.Hydra: 2, mpi.IntelHydra: 1} {
		got := threeNodes(dialect).readCommandLine(strings.Fields("-hosts j-node-0-0,j-node-0-1 -n 2 ./train")).askedWorld()
		if got.AtLeast != want {
			t.Errorf("%s: %+v, want %d hosts", dialect, got, want)
		}
	}
}

// `mpirun --hostfile /etc/mpi/hostfile` is how Kubeflow's SDK begins each command. What a program gets is its own.
func TestLaunchersGetWhatTheyUnderstand(t *testing.T) {
	line := "-H 10.0.0.1:2,j-node-0-0.j,10.9.9.9 --hostfile " + mpi.HostfilePath + " ./train -H 10.0.0.1 --hostfile " + mpi.HostfilePath
	program := " ./train -H 10.0.0.1 --hostfile " + mpi.HostfilePath
	for dialect, want := range map[mpi.Dialect]string{
		mpi.ORTE:       line,
		mpi.PRRTE:      "-H j-launcher-0-0:2,j-node-0-0,10.9.9.9 --hostfile " + mpi.HostfilePath + program,
		mpi.Hydra:      "-H 10.0.0.1:2,j-node-0-0.j,10.9.9.9 --hostfile /run/hostfile" + program,
		mpi.IntelHydra: "-H 10.0.0.1:2,j-node-0-0.j,10.9.9.9 --hostfile /run/hostfile" + program,
		"":             line,
	} {
		args := strings.Fields(line)
		j := threeNodes(dialect)
		read := j.read
		j.read = func(name string) ([]byte, error) {
			if name == mpi.HostfilePath {
				name = "two"
			}
			return read(name)
		}
		j.readCommandLine(args)
		if got := strings.Join(args, " "); got != want {
			t.Errorf("%s: got  %s\nwant %s", dialect, got, want)
		}
	}
}

// PRRTE gives the launcher's own pod no slots where a list has its full name or its address, wherever the list stands.
func TestPRRTEGetsShortNamesInEveryPlace(t *testing.T) {
	files := map[string]string{
		"programs": "-n 2 -H j-launcher-0-0.j:2 ./a -H j-launcher-0-0.j\n# mine\n--host=10.0.0.2,10.0.0.3 ./b\n",
		"words":    "--host j-node-0-0.j ./a\n",
	}
	const programs = "-n 2 -H j-launcher-0-0:2 ./a -H j-launcher-0-0.j\n--host=j-node-0-0,j-node-0-1 ./b\n"
	cases := map[string]struct{ line, want, written string }{
		"with =":          {"--host=j-launcher-0-0.j:2,10.0.0.2 ./train", "--host=j-launcher-0-0:2,j-node-0-0 ./train", ""},
		"app file":        {"--app programs", "--app written", programs},
		"app file with =": {"-v --app=programs", "-v --app=written", programs},
		"two app files":   {"--app programs --app words", "--app written --app written", "--host j-node-0-0 ./a\n"},
		"no app file":     {"--app none", "--app none", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			j, written := threeNodes(mpi.PRRTE), ""
			j.read = func(name string) ([]byte, error) {
				if text, found := files[name]; found {
					return []byte(text), nil
				}
				return nil, errors.New("no such file")
			}
			j.write = func(text string) (string, error) { written = text; return "written", nil }
			args := strings.Fields(tc.line)
			j.readCommandLine(args)
			if got := strings.Join(args, " "); got != tc.want || written != tc.written {
				t.Errorf("got %s with %q, want %s with %q", got, written, tc.want, tc.written)
			}
		})
	}
	j := threeNodes(mpi.PRRTE)
	j.write = func(string) (string, error) { return "", errors.New("no space left on device") }
	args := []string{"--app", "programs"}
	if j.readCommandLine(args); args[1] != "programs" {
		t.Errorf("without a place for another file: %s", args)
	}
}

// What the environment says about hosts is not read.
func TestVariablesThatMapMakeTheWorldUnknown(t *testing.T) {
	for variable, known := range map[string]bool{
		"HYDRA_PPN=4": false, "PRTE_MCA_rmaps_default_mapping_policy=ppr:1:node": false, "HYDRA_HOST_FILE=/tmp/mine": false,
		"OMPI_MCA_pml=ob1": true, "SLOTS=4": true,
	} {
		j := threeNodes(mpi.PRRTE)
		j.variables = append(j.variables, variable)
		if got := j.readCommandLine([]string{"./train"}).askedWorld(); (len(got.Hosts) > 0) != known {
			t.Errorf("%s: %+v", variable, got)
		}
	}
}

// `--prefix $(dirname $(dirname $(which mpirun)))` is the folder of the agent's links.
func TestThePrefixIsThatOfTheLauncher(t *testing.T) {
	j := threeNodes(mpi.ORTE)
	j.shim, j.launcher = "/run/lockstep/bin", "/opt/openmpi/bin/mpirun"
	args := []string{"--prefix", "/run/lockstep", "./train"}
	if j.readCommandLine(args); args[1] != "/opt/openmpi" {
		t.Error(args)
	}
}

func TestRanksOfHydraHaveTheValuesOfTheirOwnPods(t *testing.T) {
	variables := []string{"HOSTNAME=launcher", "JOB_COMPLETION_INDEX=0", "DATA=/d"}
	for dialect, want := range map[mpi.Dialect][]string{mpi.ORTE: variables, mpi.PRRTE: variables, mpi.Hydra: {"DATA=/d"}, mpi.IntelHydra: {"DATA=/d"}} {
		if diff := cmp.Diff(want, (job{dialect: dialect}).environment(slices.Clone(variables))); diff != "" {
			t.Errorf("%s: %s", dialect, diff)
		}
	}
}

func TestAProgramThatCannotBeRunIsNamed(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"run.sh": "echo\n", "windows.sh": "#!/bin/sh\r\n", "ok.sh": "#!/bin/sh\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil { //nolint:gosec // it is to be executable
			t.Fatal(err)
		}
	}
	for line, says := range map[string]string{
		"-n 4 " + dir + "/run.sh " + dir + "/windows.sh": "run.sh` cannot be run: its first line names no interpreter",
		"-n 1 ok.sh : -n 1 windows.sh":                   "`windows.sh` cannot be run: its lines end as on Windows",
		"ok.sh run.sh":                                   "",
		"none.sh":                                        "",
		"--brand-new run.sh":                             "",
	} {
		if got := threeNodes(mpi.PRRTE).readCommandLine(strings.Fields(line)).notRunnable(dir); (got == "") != (says == "") || !strings.Contains(got, says) {
			t.Errorf("%s: %q", line, got)
		}
	}
	if got := threeNodes(mpi.Hydra).readCommandLine([]string{"run.sh"}).notRunnable(dir); got != "" {
		t.Errorf("Hydra runs it: %s", got)
	}
}

// Whatever a command line is, it is read to its end and asks for no more hosts than it may use.
func FuzzAskedWorld(f *testing.F) {
	for _, line := range []string{"-n 2 ./a : -n 2 ./b", "-H a,b:2 --hostfile two x", "--map-by ppr:2:node x", "-rf ranks", "--app programs", "- -- : :"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		got := threeNodes(mpi.IntelHydra).readCommandLine(strings.Fields(line)).askedWorld()
		if got.AtLeast < 0 || got.AtLeast > len(got.Hosts) || got.Ranks < 0 {
			t.Errorf("%q: %+v", line, got)
		}
	})
}
