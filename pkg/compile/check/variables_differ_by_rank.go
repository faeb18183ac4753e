package check

import (
	"regexp"
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// ofRanks are variables that a launcher gives to each rank, and those by which programs believe that another launcher
// started them: Open MPI asks Slurm for its nodes where SLURM_ variables are.
var ofRanks = regexp.MustCompile(`^((LOCAL_|NODE_|GROUP_)?RANK|(LOCAL_)?WORLD_SIZE|MASTER_ADDR|TF_CONFIG|` +
	`JOB_COMPLETION_INDEX|OMPI_(COMM_WORLD|UNIVERSE)_.*|PMI_.*|PMIX_(RANK|NAMESPACE)|` +
	`PE_HOSTFILE|(SLURM|PBS|LSB|LOADL|COBALT)_.*)$`)

// variablesDifferByRank warns of variables with one value for all ranks where each must have its own.
func variablesDifferByRank(c *plan.Cluster, list *diag.List) {
	for r := range c.Compiled() {
		for _, v := range slices.Concat(r.Profile.Env, r.Env) {
			if v.Why == "" && ofRanks.MatchString(v.Name.V) {
				list.Warnf(diag.Contradiction, v.Name.At, "`%s` would be `%s` in all pods, and is the launcher's to set",
					v.Name.V, v.Value.V).
					Helpf("remove it: ranks get theirs from mpirun; if programs need it here, write why as `reason`")
			}
		}
	}
}
