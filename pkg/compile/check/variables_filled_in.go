package check

import (
	"regexp"
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

var (
	// fromKubernetes is a variable that Kubernetes fills in, fromShell one that only a shell would.
	fromKubernetes = regexp.MustCompile(`(?:^|[^$])\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)`)
	fromShell      = regexp.MustCompile(`(?:^|[^$])(\$\{?[A-Z_][A-Z0-9_]+\}?)`)
	// fromPlatform are variables that pods have beside those of specs: of the MPI, the fabric, and Services.
	fromPlatform = regexp.MustCompile(`^(OMPI_|PRTE_|PMIX_|I_MPI_|MPIR_|HYDRA_|FI_|UCX_|NCCL_|LOCKSTEP_|KUBERNETES_|HOME$)|_(SERVICE|PORT)(_|$)`)
)

// variablesAreFilledIn warns of values with the name of a variable in which nobody puts its value: Kubernetes knows variables that are set
// before, and no others, and none as a shell writes them.
func variablesAreFilledIn(c *plan.Cluster, list *diag.List) {
	for r := range c.Compiled() {
		set := map[string]bool{}
		for _, v := range slices.Concat(r.Profile.Env, r.Env) {
			for _, name := range fromKubernetes.FindAllStringSubmatch(v.Value.V, -1) {
				if !set[name[1]] && r.SecretEnv.V == "" && !fromPlatform.MatchString(name[1]) {
					list.Warnf(diag.VariableNotFilledIn, v.Value.At, "`$(%s)` stays as it is: no variable `%s` is set before `%s`", name[1], name[1], v.Name.V).
						Helpf("set `%s` first, or write its value", name[1])
				}
			}
			valueIsBare(&v, list)
			for _, name := range fromShell.FindAllStringSubmatch(v.Value.V, -1) {
				bare := strings.Trim(name[1], "${}")
				list.Warnf(diag.VariableNotFilledIn, v.Value.At, "`%s` stays as it is: no shell reads the value of `%s`", name[1], v.Name.V).
					Helpf("write `$(%s)` for a variable that the spec sets before, or the value itself; what the image has can be used in its command only", bare)
			}
			set[v.Name.V] = true
		}
	}
}

// valueIsBare warns of spaces and quotes around a value, which programs read as a part of it.
func valueIsBare(v *plan.Variable, list *diag.List) {
	value := v.Value.V
	isQuoted := len(value) > 1 && strings.Trim(value, `"'`) == value[1:len(value)-1]
	if v.Why == "" && (isQuoted || strings.TrimSpace(value) != value) {
		list.Warnf(diag.ValueNotKnown, v.Value.At, "programs read the spaces or quotes around the value of `%s`, too", v.Name.V).
			Helpf("write `%s`; if they are meant, write why as `reason`", strings.Trim(value, "\"' \t\n"))
	}
}
