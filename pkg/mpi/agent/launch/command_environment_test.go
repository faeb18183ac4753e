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
	settings := []string{
		"PATH=/s/bin:/opt/lockstep/bin:/image", state.KeyDirVariable + "=/k", state.StateDirVariable + "=/s", state.PortVariable + "=2222",
	}
	var wiring, launch []string
	for _, v := range mpi.Environment(mpi.Hydra, mpi.Network{Fabric: mpi.Ethernet, Interface: "eth0"}) {
		wiring = append(wiring, v.Name+"="+v.Value)
	}
	for _, v := range mpi.LaunchEnvironment(2, 4, false) {
		launch = append(launch, v.Name+"="+v.Value)
	}
	got := commandEnvironment(append(wiring, pod...), state.Settings{KeyDir: "/k", StateDir: "/s", Port: 2222}, 2, 4, false)
	all := slices.Concat(settings, launch, wiring, pod[:3])
	seen := map[string]bool{}
	all = slices.DeleteFunc(all, func(v string) bool { // the first one counts
		name := process.VariableName(v)
		defer func() { seen[name] = true }()
		return seen[name]
	})
	slices.Sort(all)
	slices.Sort(got)
	if diff := cmp.Diff(all, got); diff != "" {
		t.Error(diff)
	}
}

func TestLaunchEnvironmentLeavesTheUsersChoice(t *testing.T) {
	const tree = "PRTE_MCA_plm_ssh_no_tree_spawn"
	cases := map[string]struct {
		reason    string
		container []string
		nodes     int
		// want are variables that are added, without those that must not be.
		want, without []string
	}{
		"flat": {"no number of nodes makes it a tree", []string{tree + "=true"}, 256, []string{tree + "=true", "PRTE_MCA_plm_ssh_num_concurrent=256"}, nil},
		"tree": {"what the runtime set for small jobs is replaced", []string{tree + "=true"}, 257, []string{tree + "=false"}, nil},
		"user": {
			"a user who sets them has a reason",
			[]string{"OMPI_MCA_orte_leave_session_attached=0", "OMPI_MCA_plm_rsh_num_concurrent=16", tree + "=0", "I_MPI_PERHOST=1"}, 8,
			nil, []string{"OMPI_MCA_orte_leave_session_attached", "OMPI_MCA_plm_rsh_num_concurrent", tree, "I_MPI_PERHOST"},
		},
		"slots": {"the slots of the job", nil, 2, []string{"I_MPI_PERHOST=4"}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := launchEnvironment(tc.container, tc.nodes, 4, false)
			for _, want := range tc.want {
				if !slices.Contains(got, want) {
					t.Errorf("%s: %s is missing in %v", tc.reason, want, got)
				}
			}
			for _, name := range tc.without {
				if slices.ContainsFunc(got, func(v string) bool { return process.VariableName(v) == name }) {
					t.Errorf("%s: %s is set in %v", tc.reason, name, got)
				}
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
