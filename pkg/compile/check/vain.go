package check

import (
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/inet6"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// storesAreUsed warns of object stores whose Secret no job gets: catalog runtimes are shared, so that only variants have it.
func storesAreUsed(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		if t.ObjectStore != nil && len(t.Bases) == 0 {
			list.Warnf(diag.SettingInVain, t.ObjectStore.Secret.At, "no job of `%s` gets the object store: the tenant has no variant of a runtime", t.Name.V).
				Notef("runtimes of the catalog are shared and know no tenant's Secret").
				Helpf("add a variant to `variants`, or let TrainJobs name the Secret themselves and remove `objectStore`")
		}
	}
}

// askedFor are ranges of which other rules say what is wrong with them: they may hold addresses of the cluster, or are IPv4 for a network that
// translates, so that pods of IPv4 clusters may have IPv6 after all.
var askedFor = slices.Concat(private, metadataServices, inet6.Forms(netip.MustParsePrefix("0.0.0.0/0")))

// egressOfKnownFamily warns of ranges of IPv6 where all addresses of the cluster are of IPv4, and the other way round: its pods have no
// address to go there from. Where the range may hold addresses of the cluster, rangesAreKnown asks for these.
func egressOfKnownFamily(c *plan.Cluster, list *diag.List) {
	if len(c.Ranges) == 0 {
		return
	}
	for _, f := range families {
		if f.known(c) {
			continue
		}
		for _, t := range c.Tenants {
			for _, e := range t.Egress {
				prefix, err := netip.ParsePrefix(e.CIDR.V)
				if err == nil && f.is(prefix.Addr()) && !slices.ContainsFunc(askedFor, prefix.Overlaps) {
					list.Warnf(diag.SettingInVain, e.CIDR.At, "`%s` opens nothing: no range of the cluster `%s` has %saddresses", e.CIDR.V, c.Name.V, f.name).
						Also(c.Ranges[0].At, "the ranges").Helpf("remove it, or write the %sranges of pods and Services to `network.ranges`", f.name)
				}
			}
		}
	}
}

// egressOnce warns of a range that is there again and opens nothing more. One that is within a wider one may be there for its name.
func egressOnce(c *plan.Cluster, list *diag.List) {
	for _, t := range c.Tenants {
		for i := range t.Egress {
			for j := range t.Egress {
				if own, other := &t.Egress[i], &t.Egress[j]; i != j && opensAll(other, own) && (i > j || !opensAll(own, other)) {
					list.Warnf(diag.SettingInVain, own.CIDR.At, "`%s` opens nothing that `%s` does not open", own.CIDR.V, other.CIDR.V).
						Also(other.CIDR.At, "opened here").Helpf("remove one of them, or correct its range or its ports")
					break
				}
			}
		}
	}
}

// opensAll reports whether an egress opens all that another one of the same range opens.
func opensAll(wide, narrow *plan.Egress) bool {
	outer, err := netip.ParsePrefix(wide.CIDR.V)
	inner, other := netip.ParsePrefix(narrow.CIDR.V)
	if err != nil || other != nil || outer.Masked() != inner.Masked() {
		return false
	}
	has := func(p plan.Port) bool {
		return slices.ContainsFunc(wide.Ports, func(own plan.Port) bool { return own.Port.V == p.Port.V && own.Protocol.V == p.Protocol.V })
	}
	return len(wide.Ports) == 0 || len(narrow.Ports) > 0 && !slices.ContainsFunc(narrow.Ports, func(p plan.Port) bool { return !has(p) })
}

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
			for _, name := range fromShell.FindAllStringSubmatch(v.Value.V, -1) {
				bare := strings.Trim(name[1], "${}")
				list.Warnf(diag.VariableNotFilledIn, v.Value.At, "`%s` stays as it is: no shell reads the value of `%s`", name[1], v.Name.V).
					Helpf("write `$(%s)` for a variable that the spec sets before, or the value itself; what the image has can be used in its command only", bare)
			}
			set[v.Name.V] = true
		}
	}
}

// notABranch is what names a commit or a tag, or has what git puts before the name of a branch.
var notABranch = regexp.MustCompile(`^([0-9a-f]{40}|v\d+\.\d+.*|refs/.*|origin/.*|HEAD)$`)

// engineFindsTree warns of places in the repository where the engine finds nothing: a tag where Flux looks for a branch, and the folder of
// one cluster where that of all is meant.
func engineFindsTree(c *plan.Cluster, list *diag.List) {
	g := c.GitOps
	if g == nil {
		return
	}
	if g.Flux.V && notABranch.MatchString(g.Revision.V) {
		list.Warnf(diag.TreeNotFound, g.Revision.At, "`%s` is hardly a branch, and Flux looks for a branch of that name", g.Revision.V).
			Helpf("write the name of a branch, such as `main`")
	}
	if path.Base(g.Path.V) == c.Name.V {
		list.Warnf(diag.TreeNotFound, g.Path.At, "the engine would look in `%s/%s`: the name of the cluster is added to `path`", g.Path.V, c.Name.V).
			Helpf("write the folder of all clusters, `%s`", path.Dir(g.Path.V))
	}
}

// slotsHaveCores warns of more ranks on a node than its machine has cores.
func slotsHaveCores(c *plan.Cluster, list *diag.List) {
	for r := range c.Compiled() {
		// One rank for each accelerator is as many as there are.
		if cores := r.Profile.CPU.V.Value(); int64(r.Slots.V) > cores && r.Slots.V != r.Profile.Accelerators.V {
			list.Warnf(diag.SlotsAboveCores, r.Slots.At, "a node runs %d ranks, and a machine of `%s` has %d cores", r.Slots.V, r.Profile.Name, cores).
				Also(r.Profile.CPU.At, "the cores").Helpf("set `slotsPerNode` to %d or less", cores)
		}
	}
}

// selectorsFindMachines refuses labels by which no machine for jobs is found, and warns of those by which only one is.
func selectorsFindMachines(c *plan.Cluster, list *diag.List) {
	for _, p := range c.Profiles() {
		for _, l := range p.NodeSelector {
			switch {
			case l.Name == corev1.LabelOSStable && l.V != "linux":
				list.Errorf(diag.NoSuchMachines, l.At, "the agent runs on Linux, and `%s: %s` selects other machines", l.Name, l.V).Helpf("remove the label: pods of jobs start on Linux")
			case l.Name == corev1.LabelArchStable && l.V != "amd64" && l.V != "arm64":
				list.Errorf(diag.NoSuchMachines, l.At, "there is no agent for `%s`", l.V).Helpf("write `amd64` or `arm64`")
			case l.Name == corev1.LabelHostname && machinesOf(c, p.Name) > 1:
				list.Errorf(diag.NoSuchMachines, l.At, "the label selects one machine, and the cluster `%s` has %d of `%s`", c.Name.V, machinesOf(c, p.Name), p.Name).
					Helpf("use a label that all of them have, or say at `capacity` that there is one")
			}
		}
	}
}

func machinesOf(c *plan.Cluster, profile string) int32 {
	for _, m := range c.Capacity {
		if m.Profile.Name == profile {
			return m.Nodes.V
		}
	}
	return 0
}
