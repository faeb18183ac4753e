package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

// withLaunchers puts the stand-ins for launchers that use ssh without MPI into the image.
func (j *job) withLaunchers() {
	j.t.Helper()
	for _, name := range []string{"horovodrun", "pdsh", "deepspeed"} {
		j.copyLauncher(name, name)
	}
	j.copyLauncher("deepspeed-node", "python")
	j.script("hostname", "#!/bin/sh\ncase ${1-} in -I) echo 10.0.0.9 fd00::9;; *) echo $HOSTNAME;; esac\n")
}

func (j *job) copyLauncher(from, to string) {
	j.t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "test", "images", "launchers", from))
	if err != nil {
		j.t.Fatal(err)
	}
	j.script(to, string(text))
}

// launched runs a command as the job and returns its output, sorted.
func (j *job) launched(command ...string) (ended, []string) {
	j.t.Helper()
	j.nodes()
	launcher := j.launch(nil, command...)
	if result, err := j.push(); err != nil || !result.Passed {
		j.t.Fatal(result, err)
	}
	got := launcher.wait()
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
	slices.Sort(lines)
	return got, lines
}

func TestHorovodrunFindsTheNodesThroughOurSSH(t *testing.T) {
	t.Parallel()
	j := newJob(t, 2)
	j.withLaunchers()
	j.script("train", "#!/bin/sh\necho \"$1 as $HOROVOD_RANK of $HOROVOD_SIZE on $HOSTNAME\"\n")
	got, lines := j.launched("horovodrun", "-np", "4", "--hostfile", j.hostfile, "-p", strconv.Itoa(j.port), "-i", filepath.Join(j.keyDir, "id_rsa"), "train", "it's Tom")
	want := []string{
		"[0]<stdout>:it's Tom as 0 of 4 on demo-node-0-0", "[1]<stdout>:it's Tom as 1 of 4 on demo-node-0-0",
		"[2]<stdout>:it's Tom as 2 of 4 on demo-node-0-1", "[3]<stdout>:it's Tom as 3 of 4 on demo-node-0-1",
	}
	if diff := cmp.Diff(want, lines); got.code != 0 || diff != "" {
		t.Errorf("%+v %s", got, diff)
	}
	for _, node := range j.verdict().Nodes {
		if node.Daemons != 2 { // each rank is a launch of its own, the check of all hosts is none
			t.Errorf("%+v", node)
		}
	}
}

func TestHorovodrunNamesTheHostItCannotReach(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1)
	j.withLaunchers()
	j.script("ssh", "#!/bin/sh\nexit 255\n") // that of the image, which knows no such host
	j.write(filepath.Join(j.dir, "other"), "demo-node-0-0.demo slots=1\nelsewhere slots=1\n", 0o644)
	got, _ := j.launched("horovodrun", "-np", "2", "--hostfile", filepath.Join(j.dir, "other"), "train")
	if got.code == 0 || !strings.Contains(got.stderr, "ssh not successful for host elsewhere") || j.verdict().Succeeded() {
		t.Errorf("%+v", got)
	}
}

func TestHorovodrunFailsWithItsRank(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1)
	j.withLaunchers()
	got, _ := j.launched("horovodrun", "-np", "2", "--hostfile", j.hostfile, "sh", "-c", "exit $((7 * HOROVOD_RANK))")
	if verdict := j.verdict(); got.code == 0 || verdict.Reason == "" || !strings.Contains(got.stderr, "Process 1 exit with status code 7.") {
		t.Errorf("%+v, verdict %+v", got, verdict)
	}
}

// With one rank per node the ssh of the node is the rank: that it dies is the failure of the program, not of the machine.
func TestHorovodrunFailsWithItsRankThatDies(t *testing.T) {
	t.Parallel()
	j := newJob(t, 1)
	j.withLaunchers()
	got, _ := j.launched("horovodrun", "-np", "1", "--hostfile", j.hostfile, "sh", "-c", "sleep 0.5; kill -SEGV $$")
	verdict := j.verdict()
	if got.code == 0 || verdict.Reason != diagnose.RankKilled || verdict.Host != "demo-node-0-0.demo" || verdict.Lost != "" {
		t.Errorf("%+v, verdict %+v", got, verdict)
	}
}

func TestDeepSpeedFindsTheNodesThroughOurSSH(t *testing.T) {
	t.Parallel()
	j := newJob(t, 2)
	j.withLaunchers()
	j.script("train.py", "#!/bin/sh\necho \"$2 as $RANK of $WORLD_SIZE, $LOCAL_RANK on $HOSTNAME, master $MASTER_ADDR\"\n")
	got, lines := j.launched("deepspeed", "--hostfile", j.hostfile, "--ssh_port", strconv.Itoa(j.port), "train.py", "--deepspeed", `it's "3"`)
	want := []string{
		"demo-node-0-0.demo: it's \"3\" as 0 of 4, 0 on demo-node-0-0, master 10.0.0.9", "demo-node-0-0.demo: it's \"3\" as 1 of 4, 1 on demo-node-0-0, master 10.0.0.9",
		"demo-node-0-1.demo: it's \"3\" as 2 of 4, 0 on demo-node-0-1, master 10.0.0.9", "demo-node-0-1.demo: it's \"3\" as 3 of 4, 1 on demo-node-0-1, master 10.0.0.9",
	}
	if diff := cmp.Diff(want, lines); got.code != 0 || diff != "" {
		t.Errorf("%+v %s", got, diff)
	}
	for _, node := range j.verdict().Nodes {
		if node.Daemons != 1 {
			t.Errorf("%+v", node)
		}
	}
}

func TestDeepSpeedFailsWithItsRanks(t *testing.T) {
	t.Parallel()
	j := newJob(t, 2)
	j.withLaunchers()
	j.script("train.py", "#!/bin/sh\nexit $RANK\n")
	got, _ := j.launched("deepspeed", "--hostfile", j.hostfile, "train.py")
	if verdict := j.verdict(); got.code != 3 || verdict.Reason == "" {
		t.Errorf("%+v, verdict %+v", got, verdict)
	}
}

// Intel MPI's launcher is Hydra with other names. This is what it reads, and how it then calls the remote shell; the real one runs in pods
// (test/e2e/frameworks_test.go).
func TestIntelMPIFindsHostfileAndRemoteShell(t *testing.T) {
	t.Parallel()
	j := newJob(t, 2)
	j.script("hydra_bstrap_proxy", "#!/bin/sh\necho \"proxy on $HOSTNAME\"\n")
	j.script("mpirun", `#!/bin/sh
[ "$I_MPI_HYDRA_BOOTSTRAP" = ssh ] || exit 1
while IFS=: read host slots; do
	"$I_MPI_HYDRA_BOOTSTRAP_EXEC" -x -q "$host" "$(command -v hydra_bstrap_proxy) --upstream-host l --slots $slots" </dev/null || exit 2
done <"$I_MPI_HYDRA_HOST_FILE"
env | grep ^HOSTNAME= && exit 3 # Hydra would give it to all ranks
exit 0
`)
	state := filepath.Join(j.dir, j.hosts[0].Name)
	for _, v := range mpi.Environment(mpi.IntelHydra, mpi.Network{}) {
		value := v.Value
		switch v.Value { // where they are in this job
		case mpi.HydraHostfilePath:
			value = filepath.Join(state, "hostfile.hydra")
		case mpi.RshBin:
			value = filepath.Join(j.bin, "rsh")
		}
		j.setenv(v.Name, value)
	}
	got, lines := j.launched("mpirun")
	if diff := cmp.Diff([]string{"proxy on demo-node-0-0", "proxy on demo-node-0-1"}, lines); got.code != 0 || diff != "" {
		t.Errorf("%+v %s", got, diff)
	}
}
