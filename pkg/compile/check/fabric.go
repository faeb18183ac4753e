package check

import (
	"slices"
	"strconv"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/source"
	"lockstep.dev/lockstep/pkg/mpi"
)

// fabricHasDevice asks for the device of every fabric that is not plain Ethernet, and for one that is not the accelerator's: the
// scheduler counts each once.
func fabricHasDevice(c *plan.Cluster, list *diag.List) {
	for _, p := range usedProfiles(c) {
		f := &p.Fabric
		switch {
		case f.Kind.V.RDMA() && f.Resource.V == "":
			list.Errorf(diag.FabricWithoutDevice, f.Kind.At, "the fabric `%s` needs `resource`, the device that pods ask for", f.Kind.V).
				Notef("without the device a pod sees no adapter, and MPI fails or is slow").
				Helpf("add the resource that the device plugin offers, for example %s", exampleDevice[f.Kind.V])
		case f.Resource.V != "" && f.Resource.V == p.Accelerator.V:
			list.Errorf(diag.DeviceTwice, f.Resource.At, "the resource `%s` is the accelerator's", f.Resource.V).
				Also(p.Accelerator.At, "used here").Helpf("name the resource of the network device plugin")
		}
	}
}

var exampleDevice = map[mpi.Fabric]string{
	mpi.InfiniBand: "`rdma/ib`", mpi.RoCE: "`rdma/roce`", mpi.EFA: "`vpc.amazonaws.com/efa`",
}

// roceHasAddress asks for the index of the address of a RoCE port: the one that libraries take by themselves is often not routed, and
// then ranks wait for each other forever.
func roceHasAddress(c *plan.Cluster, list *diag.List) {
	for _, p := range usedProfiles(c) {
		if f := &p.Fabric; f.Kind.V == mpi.RoCE && f.GIDIndex.V == nil {
			list.Errorf(diag.RoCEWithoutAddress, f.Kind.At, "the fabric `RoCE` needs `gidIndex`, the address of the port").
				Helpf("look at `show_gids` on a machine: it is 3 for RoCE v2 over IPv4 on most")
		}
	}
}

// fabricSettingsMatter warns of settings that mean nothing on the kind of fabric: who wrote them expects something else.
func fabricSettingsMatter(c *plan.Cluster, list *diag.List) {
	for _, p := range usedProfiles(c) {
		f := &p.Fabric
		ethernet, verbs := f.Kind.V == mpi.Ethernet, f.Kind.V == mpi.InfiniBand || f.Kind.V == mpi.RoCE
		warnUnusedSetting(len(f.HCAs) > 0 && !verbs, "hcas", firstSpan(f.HCAs), f, list)
		warnUnusedSetting(f.GIDIndex.V != nil && f.Kind.V != mpi.RoCE, "gidIndex", f.GIDIndex.At, f, list)
		warnUnusedSetting(len(f.Networks) > 0 && !verbs && !carriesTCP(f), "networks", firstSpan(f.Networks), f, list)
		warnUnusedSetting(f.GPUDirect.V && ethernet, "gpuDirect", f.GPUDirect.At, f, list)
		warnUnusedSetting(f.LockMemory.Kind == origin.Written && ethernet, "lockedMemory", f.LockMemory.At, f, list)
	}
}

func warnUnusedSetting(is bool, key string, at source.Span, f *plan.Fabric, list *diag.List) {
	if is {
		list.Warnf(diag.FabricSettingUnused, at, "`%s` means nothing on the fabric `%s`", key, f.Kind.V).
			Also(f.Kind.At, "the fabric").Helpf("remove it, or correct the fabric")
	}
}

// carriesTCP reports whether the interface of the fabric is one of its own networks, which Multus names net1, net2, …
func carriesTCP(f *plan.Fabric) bool {
	for i := range f.Networks {
		if f.Interface.V == "net"+strconv.Itoa(i+1) {
			return true
		}
	}
	return false
}

// usedProfiles returns the profiles that a cluster uses, each once.
func usedProfiles(c *plan.Cluster) []*plan.Profile {
	var all []*plan.Profile
	add := func(p *plan.Profile) {
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	for _, r := range c.Runtimes {
		add(r.Profile)
	}
	for i := range c.Capacity {
		add(c.Capacity[i].Profile)
	}
	return all
}

func firstSpan(values []plan.Value[string]) source.Span {
	if len(values) == 0 {
		return source.Span{}
	}
	return values[0].At
}
