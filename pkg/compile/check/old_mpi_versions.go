package check

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// supportedVersions is how many versions of one thing are kept: N and N-1.
const supportedVersions = 2

// mpiVersionsNotOld warns of active runtimes that differ in nothing but the version of MPI and are older than N-1.
func mpiVersionsNotOld(c *plan.Cluster, list *diag.List) {
	type family struct{ implementation, framework, profile string }
	of := func(r *plan.Runtime) family {
		return family{string(r.Implementation.V), r.Framework.V, r.Profile.Name}
	}
	versions := map[family][]string{}
	for _, r := range c.Runtimes {
		if !r.Deprecated.V {
			versions[of(r)] = append(versions[of(r)], r.Version.V)
		}
	}
	for f, all := range versions {
		slices.SortFunc(all, func(a, b string) int { return -compareVersions(a, b) })
		versions[f] = slices.Compact(all)
	}
	for _, r := range c.Runtimes {
		newest := versions[of(r)]
		if r.Deprecated.V || slices.Index(newest, r.Version.V) < supportedVersions {
			continue
		}
		list.Warnf(diag.TooManyVersions, r.Version.At, "%s has %d active versions with one framework and profile, and `%s` is older than the newest two, `%s` and `%s`", r.Implementation.V, len(newest), r.Version.V, newest[0], newest[1]).
			Helpf("deprecate the runtime: what is supported is the newest version and the one before")
	}
}

// compareVersions compares the numbers between dots.
func compareVersions(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(a, b string) int {
		x, errX := strconv.Atoi(a)
		y, errY := strconv.Atoi(b)
		if errX != nil || errY != nil {
			return cmp.Compare(a, b)
		}
		return cmp.Compare(x, y)
	})
}
