package check

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
)

// interfaceVariables name interfaces of pods for TCP. NCCL takes a name for the beginning of one, but after `=`.
var interfaceVariables = strings.Fields(`NCCL_SOCKET_IFNAME GLOO_SOCKET_IFNAME TP_SOCKET_IFNAME HOROVOD_GLOO_IFACE
	OMPI_MCA_btl_tcp_if_include OMPI_MCA_btl_tcp_if_exclude OMPI_MCA_oob_tcp_if_include PRTE_MCA_prte_if_include
	HYDRA_IFACE I_MPI_HYDRA_IFACE FI_TCP_IFACE FI_SOCKETS_IFACE`)

// A transport is a value that leaves the fabric unused, or that needs another fabric, by the kind of fabric.
var transports = []struct {
	name                string
	verbs, efa, onlyTCP string
}{
	{"NCCL_IB_DISABLE", `^[1-9]`, ``, ``},
	{"NCCL_NET", `(?i)^socket$`, `(?i)^(socket|ib)$`, `(?i)^ib$`},
	{"OMPI_MCA_btl", withinNode, withinNode, withinNode},
	{"OMPI_MCA_pml", `^ob1$`, `^(ob1|ucx)$`, ``},
	{"MPIR_CVAR_CH4_NETMOD", ``, `^ucx$`, ``},
	{"FI_PROVIDER", `^(tcp|sockets|udp|efa)\b`, `^(tcp|sockets|udp|verbs|mlx|psm)`, `^(efa|verbs|mlx|psm)`},
	{"UCX_TLS", `^((tcp|` + withinMachine + `)(,|$))+$`, ``, `^(((rc|dc|ud)\w*|ib|` + withinMachine + `)(,|$))+$`},
	{"UCX_NET_DEVICES", `^(eth|ens|eno|net|bond)\d+`, ``, `^(mlx\d|bnxt|hfi\d|irdma)`},
}

const withinMachine = `self|sm|shm|posix|sysv|cma|knem|xpmem|mm|cuda\w*|gdr_copy|rocm\w*`

// withinNode is a list of transports that reach no other node.
const withinNode = `^((self|sm|vader|smcuda)(,|$))+$`

// variablesFitFabric warns of variables that contradict the fabric of the profile: they win over what is derived from
// it. Which transport jobs take may be meant, and then has a reason.
func variablesFitFabric(c *plan.Cluster, list *diag.List) {
	for r := range c.Compiled() {
		f := &r.Profile.Fabric
		dialect, _ := mpi.DialectOf(r.Implementation.V, r.Version.V)
		for _, v := range slices.Concat(r.Profile.Env, r.Env) {
			name, value := v.Name.V, v.Value.V
			switch {
			case value == "" || strings.Contains(value, "$") || isOfOtherMPI(name, dialect):
			case slices.Contains(interfaceVariables, name) && !namesInterface(f, name, value):
				list.Warnf(diag.Contradiction, v.Value.At, "`%s` leaves out `%s`, the interface of the profile `%s`",
					name, f.Interface.V, r.Profile.Name).Also(f.Interface.At, "the fabric").
					Helpf("remove it: the interface is set; if pods have another, write `interface: %s` there", firstName(value))
			case strings.HasSuffix(name, "_IB_GID_INDEX") && f.GIDIndex.V != nil && value != strconv.Itoa(int(*f.GIDIndex.V)):
				list.Warnf(diag.Contradiction, v.Value.At, "`%s` is %s, and `gidIndex` of the profile `%s` is %d",
					name, value, r.Profile.Name, *f.GIDIndex.V).Also(f.GIDIndex.At, "the fabric").
					Helpf("remove it: `gidIndex` sets it for NCCL and UCX")
			case v.Why == "" && isOfOtherFabric(f, name, value):
				list.Warnf(diag.Contradiction, v.Value.At, "`%s: %s` does not use %s, the fabric of the profile `%s`",
					name, value, f.Kind.V, r.Profile.Name).Also(f.Kind.At, "the fabric").
					Helpf("remove it: the transport follows from the fabric; if it is meant, write why as `reason`")
			}
		}
	}
}

// firstName returns the first interface of a list.
func firstName(value string) string {
	first, _, _ := strings.Cut(strings.TrimLeft(value, "^="), ",")
	return strings.TrimSpace(first)
}

// namesInterface reports whether a variable has the interface of the fabric, or one of its networks. Ranges of
// addresses are not known.
func namesInterface(f *plan.Fabric, name, value string) bool {
	list, excludes := strings.CutPrefix(value, "^")
	list, exact := strings.CutPrefix(list, "=")
	exact = exact || name != "NCCL_SOCKET_IFNAME"
	excludes = excludes || strings.HasSuffix(name, "_exclude")
	has := slices.ContainsFunc(strings.Split(list, ","), func(item string) bool {
		for i := 0; !excludes && i < len(f.Networks); i++ {
			if item == fmt.Sprintf("net%d", i+1) {
				return true
			}
		}
		item, _, _ = strings.Cut(item, ":") // NCCL takes a port
		return item == f.Interface.V || !exact && strings.HasPrefix(f.Interface.V, item)
	})
	return has != excludes || strings.ContainsAny(list, "/")
}

// isOfOtherFabric reports whether a value of a transport contradicts the fabric.
func isOfOtherFabric(f *plan.Fabric, name, value string) bool {
	for _, t := range transports {
		if t.name != name {
			continue
		}
		wrong := t.onlyTCP
		switch {
		case f.Kind.V == mpi.EFA:
			wrong = t.efa
		case f.Kind.V.RDMA():
			wrong = t.verbs
		}
		return wrong != "" && regexp.MustCompile(wrong).MatchString(value)
	}
	return false
}
