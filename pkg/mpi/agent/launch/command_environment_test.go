package launch

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/agent/process"
	"lockstep.dev/lockstep/pkg/mpi/agent/state"
)

func TestCommandEnvironment(t *testing.T) {
	pod := []string{"HOSTNAME=demo-launcher-0-0", "JOB_COMPLETION_INDEX=0", "DATA=/d", "PATH=/image", state.StateDirVariable + "=/old"}
	settings := []string{"PATH=/opt/lockstep/bin:/image", state.KeyDirVariable + "=/k", state.StateDirVariable + "=/s", state.PortVariable + "=2222"}
	for dialect, want := range map[mpi.Dialect][]string{
		mpi.ORTE:       {"HOSTNAME=demo-launcher-0-0", "JOB_COMPLETION_INDEX=0", "DATA=/d"},
		mpi.PRRTE:      {"HOSTNAME=demo-launcher-0-0", "JOB_COMPLETION_INDEX=0", "DATA=/d"},
		mpi.Hydra:      {"DATA=/d"},
		mpi.IntelHydra: {"DATA=/d"},
	} {
		var wiring []string
		for _, v := range mpi.Environment(dialect, mpi.Network{Fabric: mpi.Ethernet, Interface: "eth0"}) {
			wiring = append(wiring, v.Name+"="+v.Value)
		}
		got := commandEnvironment(append(wiring, pod...), state.Settings{KeyDir: "/k", StateDir: "/s", Port: 2222}, 2, 4, false)
		var launch []string
		for _, v := range mpi.LaunchEnvironment(dialect, 2, 4, false) {
			launch = append(launch, v.Name+"="+v.Value)
		}
		all := append(slices.Concat(settings, launch, wiring), want...)
		seen := map[string]bool{}
		all = slices.DeleteFunc(all, func(v string) bool { // the first one counts
			name := process.VariableName(v)
			defer func() { seen[name] = true }()
			return seen[name]
		})
		slices.Sort(all)
		slices.Sort(got)
		if diff := cmp.Diff(all, got); diff != "" {
			t.Errorf("%s: %s", dialect, diff)
		}
	}
}

func TestLaunchEnvironmentLeavesTheUsersChoice(t *testing.T) {
	agent, unresolved := "OMPI_MCA_plm_rsh_agent="+mpi.RshBin, "OMPI_MCA_if_base_do_not_resolve=true"
	cases := map[string]struct {
		reason    string
		container []string
		nodes     int
		want      []string
	}{
		"flat": {
			"no number of nodes makes it a tree", []string{agent, "OMPI_MCA_plm_rsh_no_tree_spawn=true"}, 256,
			[]string{"OMPI_MCA_orte_leave_session_attached=true", unresolved, "OMPI_MCA_plm_rsh_no_tree_spawn=true", "OMPI_MCA_plm_rsh_num_concurrent=256"},
		},
		"tree": {
			"what the runtime set for small jobs is replaced", []string{agent, "OMPI_MCA_plm_rsh_no_tree_spawn=true"}, 257,
			[]string{"OMPI_MCA_orte_leave_session_attached=true", unresolved, "OMPI_MCA_plm_rsh_no_tree_spawn=false"},
		},
		"user": {
			"a user who sets them has a reason", []string{agent, "OMPI_MCA_orte_leave_session_attached=0", "OMPI_MCA_if_base_do_not_resolve=0", "OMPI_MCA_plm_rsh_num_concurrent=16", "OMPI_MCA_plm_rsh_no_tree_spawn=0"}, 8,
			nil,
		},
		"PRRTE":       {"its own names", []string{"PRTE_MCA_plm_ssh_agent=x"}, 1000, []string{"PRTE_MCA_plm_ssh_no_tree_spawn=false"}},
		"Intel":       {"the slots of the job", []string{"I_MPI_HYDRA_BOOTSTRAP_EXEC=x"}, 2, []string{"I_MPI_PERHOST=4"}},
		"Intel, user": {"a user who sets it has a reason", []string{"I_MPI_HYDRA_BOOTSTRAP_EXEC=x", "I_MPI_PERHOST=1"}, 2, nil},
		"unknown MPI": {"not ours to set", []string{"HOME=/"}, 8, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, launchEnvironment(tc.container, tc.nodes, 4, false)); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
		})
	}
}

// Kubeflow Trainer sets it to true in every launcher, and no user may.
func TestALauncherThatRunsRanksCutsNames(t *testing.T) {
	container := []string{"OMPI_MCA_plm_rsh_agent=" + mpi.RshBin, mpi.KeepFQDNVariable + "=true"}
	if got := launchEnvironment(container, 2, 1, true); !slices.Contains(got, mpi.KeepFQDNVariable+"=false") {
		t.Errorf("the launcher gets %v", got)
	}
}

// `mpirun --hostfile /etc/mpi/hostfile` is how Kubeflow's SDK begins each command, whatever the implementation.
func TestHydraGetsItsOwnHostfile(t *testing.T) {
	for name, tc := range map[string]struct {
		program     string
		environment []string
		want        string
	}{
		"OpenMPI": {"mpirun", []string{"OMPI_MCA_plm_rsh_agent=/x"}, mpi.HostfilePath},
		"MPICH":   {"mpirun", []string{"HYDRA_LAUNCHER_EXEC=/x"}, "/s/hostfile.hydra"},
		"ByPath":  {"/usr/bin/mpiexec.hydra", []string{"HYDRA_LAUNCHER_EXEC=/x"}, "/s/hostfile.hydra"},
		"Intel":   {"mpirun", []string{"I_MPI_HYDRA_BOOTSTRAP_EXEC=/x"}, "/s/hostfile.hydra"},
		"Horovod": {"horovodrun", []string{"HYDRA_LAUNCHER_EXEC=/x"}, mpi.HostfilePath},
	} {
		t.Run(name, func(t *testing.T) {
			l := Launcher{Settings: state.Settings{StateDir: "/s"}}
			want := []string{tc.program, "--hostfile", mpi.HostfilePath, "bash", "-c", "cat " + mpi.HostfilePath}
			got := l.commandArgv(Command{Argv: want, Environment: tc.environment})
			want = slices.Clone(want)
			want[2] = tc.want
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
