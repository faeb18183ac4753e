package mpi

import (
	"slices"
	"strconv"
	"strings"
)

// Fabric is a kind of network that ranks use.
type Fabric string

// The fabrics. The zero value is Ethernet without any choice made.
const (
	Ethernet   Fabric = "Ethernet"
	InfiniBand Fabric = "InfiniBand"
	RoCE       Fabric = "RoCE"
	EFA        Fabric = "EFA"
)

// RDMA reports whether adapters read and write memory without the kernel, and therefore need it pinned.
func (f Fabric) RDMA() bool { return f == InfiniBand || f == RoCE || f == EFA }

// Network is what the ranks of a job know about the way to each other.
type Network struct {
	Fabric Fabric
	// Interface carries TCP, for example `eth0`; empty leaves the choice to MPI.
	Interface string
	// HCAs are the adapters to use, as `mlx5_0` or `mlx5_0:1`; empty means all. They have no meaning on Ethernet and EFA.
	HCAs []string
	// GIDIndex selects the address of a RoCE port; nil leaves the choice to the libraries.
	GIDIndex *int32
	// GPUDirect says that adapters reach the memory of accelerators themselves.
	GPUDirect bool
	// Accelerators says that the nodes have any, so that NCCL and CUDA transports have a meaning.
	Accelerators bool
}

// variables returns the variables of a network. What the names do was read in the documentation of Open MPI, MPICH, Intel MPI,
// UCX (ucx_info -c), libfabric (fi_efa.7) and NCCL (Environment Variables). Only Ethernet was run by us.
func (n Network) variables(dialect Dialect) []Variable {
	variables := n.bootstrapVariables(dialect)
	switch {
	case n.Fabric == InfiniBand || n.Fabric == RoCE:
		variables = slices.Concat(variables, verbsTransportVariables(dialect), n.ucxVariables())
	case n.Fabric == EFA:
		variables = append(variables, efaTransportVariables(dialect)...)
	case n.Interface != "":
		variables = append(variables, n.tcpTransportVariables(dialect)...)
	}
	if n.Accelerators {
		variables = append(variables, n.ncclVariables()...)
	}
	return variables
}

// otherVariables returns the variables of a dialect that the runtime is not for. Adapters and accelerators are left to the MPI
// of the image: what drives them is shared with the runtime's own MPI, as UCX is.
func (n Network) otherVariables(dialect Dialect) []Variable {
	if n.Fabric.RDMA() || n.Accelerators {
		return n.bootstrapVariables(dialect)
	}
	return n.variables(dialect)
}

const pinned = "a pod may have several interfaces; MPI must not try the ones that peers cannot reach"

// bootstrapVariables ties the daemons to one interface. They speak TCP on every fabric.
func (n Network) bootstrapVariables(dialect Dialect) []Variable {
	if n.Interface == "" {
		return nil
	}
	switch dialect {
	case ORTE:
		return []Variable{{"OMPI_MCA_oob_tcp_if_include", n.Interface, pinned}}
	case PRRTE:
		return []Variable{{"PRTE_MCA_prte_if_include", n.Interface, pinned}}
	case Hydra:
		return []Variable{{"HYDRA_IFACE", n.Interface, "without it MPICH waits forever when nodes cannot resolve the launcher's short name"}}
	case IntelHydra:
		return []Variable{{"I_MPI_HYDRA_IFACE", n.Interface, pinned}}
	}
	return nil
}

// tcpTransportVariables ties the ranks to TCP on one interface, for fabrics that are plain Ethernet.
func (n Network) tcpTransportVariables(dialect Dialect) []Variable {
	switch dialect {
	case ORTE:
		return []Variable{{"OMPI_MCA_btl_tcp_if_include", n.Interface, pinned}}
	case PRRTE:
		return []Variable{
			{"OMPI_MCA_btl_tcp_if_include", n.Interface, pinned},
			{"OMPI_MCA_pml", "ob1", "the default (cm over OFI) makes the first collective take 4 to 6 s on plain Ethernet"},
		}
	case Hydra:
		return []Variable{
			{"UCX_TLS", "tcp,self", "UCX's own choice hung in MPI_Finalize on plain Ethernet"},
			{"UCX_NET_DEVICES", n.Interface, pinned},
			{"FI_TCP_IFACE", n.Interface, pinned},
		}
	case IntelHydra:
		return []Variable{
			{"FI_PROVIDER", "tcp", "plain Ethernet has no RDMA provider"},
			{"FI_TCP_IFACE", n.Interface, pinned},
		}
	}
	return nil
}

// verbsTransportVariables makes MPI use UCX, the library that InfiniBand and RoCE adapters are driven by.
func verbsTransportVariables(dialect Dialect) []Variable {
	switch dialect {
	case ORTE:
		return []Variable{
			{"OMPI_MCA_pml", "ucx", "the transport for these adapters; a job whose image lacks it fails instead of using slow TCP"},
			{"OMPI_MCA_osc", "ucx", "one-sided operations take the same way"},
			{"OMPI_MCA_btl", "^openib,uct", "the old drivers would open the same adapters beside UCX and print warnings on every rank"},
		}
	case PRRTE:
		return []Variable{
			{"OMPI_MCA_pml", "ucx", "the transport for these adapters; a job whose image lacks it fails instead of using slow TCP"},
			{"OMPI_MCA_osc", "ucx", "one-sided operations take the same way"},
		}
	case Hydra:
		return []Variable{{"MPIR_CVAR_CH4_NETMOD", "ucx", "the transport for these adapters"}}
	case IntelHydra:
		return []Variable{
			{"I_MPI_FABRICS", "shm:ofi", "shared memory within a node, libfabric between nodes"},
			{"FI_PROVIDER", "mlx", "libfabric's provider over UCX, which drives these adapters"},
		}
	}
	return nil
}

// ucxVariables tells UCX which adapters and transports to use.
func (n Network) ucxVariables() []Variable {
	transports := "rc,sm,self"
	if n.Accelerators {
		transports += ",cuda_copy,cuda_ipc"
		if n.GPUDirect {
			transports += ",gdr_copy"
		}
	}
	variables := []Variable{{"UCX_TLS", transports, "without TCP in the list a missing adapter is an error, not a job that is ten times slower"}}
	if len(n.HCAs) > 0 {
		variables = append(variables, Variable{"UCX_NET_DEVICES", strings.Join(withUCXPort(n.HCAs), ","), "the adapters of the profile; others may be for storage"})
	}
	if n.Fabric == RoCE && n.GIDIndex != nil {
		variables = append(variables, Variable{"UCX_IB_GID_INDEX", formatDecimal(*n.GIDIndex), "the address of the port that is routed: the wrong one connects to nobody"})
	}
	return variables
}

// withUCXPort adds the port that UCX wants to be named.
func withUCXPort(adapters []string) []string {
	result := make([]string, len(adapters))
	for i, name := range adapters {
		if result[i] = name; !strings.Contains(name, ":") {
			result[i] = name + ":1"
		}
	}
	return result
}

// efaTransportVariables makes MPI use libfabric with the EFA provider
// (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html).
func efaTransportVariables(dialect Dialect) []Variable {
	variables := []Variable{
		{"FI_PROVIDER", "efa", "libfabric's provider for the adapter; a job whose image lacks it fails instead of using slow TCP"},
		{"FI_EFA_USE_DEVICE_RDMA", "1", "the adapter reads and writes remote memory itself"},
	}
	switch dialect {
	case ORTE, PRRTE:
		variables = append(variables,
			Variable{"OMPI_MCA_pml", "cm", "the layer of Open MPI that speaks libfabric"},
			Variable{"OMPI_MCA_mtl", "ofi", "the layer of Open MPI that speaks libfabric"})
	case Hydra:
		variables = append(variables, Variable{"MPIR_CVAR_CH4_NETMOD", "ofi", "EFA is reached by libfabric only"})
	case IntelHydra:
		variables = append(variables, Variable{"I_MPI_FABRICS", "shm:ofi", "shared memory within a node, libfabric between nodes"})
	}
	return variables
}

// ncclVariables tells NCCL, which deep-learning frameworks use beside MPI, about the same network
// (https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html).
func (n Network) ncclVariables() []Variable {
	var variables []Variable
	if n.Interface != "" {
		variables = append(variables, Variable{"NCCL_SOCKET_IFNAME", "=" + n.Interface, "NCCL's bootstrap uses TCP; `=` means exactly this interface, not all that begin so"})
	}
	if !n.Fabric.RDMA() {
		return append(variables, Variable{"NCCL_IB_DISABLE", "1", "the machines have no adapter for pods; NCCL would look for one at every start"})
	}
	if n.Fabric == EFA {
		return variables
	}
	if len(n.HCAs) > 0 {
		variables = append(variables, Variable{"NCCL_IB_HCA", "=" + strings.Join(n.HCAs, ","), "the adapters of the profile; `=` means exactly these, not all that begin so"})
	}
	if n.Fabric == RoCE && n.GIDIndex != nil {
		variables = append(variables, Variable{"NCCL_IB_GID_INDEX", formatDecimal(*n.GIDIndex), "the address of the port that is routed: the wrong one connects to nobody"})
	}
	level, why := "LOC", "without GPUDirect NCCL must copy through the memory of the machine"
	if n.GPUDirect {
		level, why = "PHB", "GPUDirect wherever adapter and accelerator hang on the same CPU"
	}
	return append(variables, Variable{"NCCL_NET_GDR_LEVEL", level, why})
}

func formatDecimal(n int32) string { return strconv.Itoa(int(n)) }
