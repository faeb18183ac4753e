package mpi

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEnvironmentOfANetwork(t *testing.T) {
	gid := int32(3)
	tests := map[string]struct {
		reason  string
		dialect Dialect
		network Network
		want    map[string]string
		absent  []string
	}{
		"InfiniBand with GPUs, Open MPI 5": {
			reason:  "UCX without TCP, exact adapters for NCCL, GPUDirect",
			dialect: PRRTE,
			network: Network{Fabric: InfiniBand, Interface: "eth0", HCAs: []string{"mlx5_0", "mlx5_1:2"}, GPUDirect: true, Accelerators: true},
			want: map[string]string{
				"OMPI_MCA_pml": "ucx", "PRTE_MCA_prte_if_include": "eth0", "UCX_TLS": "rc,sm,self,cuda_copy,cuda_ipc,gdr_copy",
				"UCX_NET_DEVICES": "mlx5_0:1,mlx5_1:2", "NCCL_IB_HCA": "=mlx5_0,mlx5_1:2", "NCCL_SOCKET_IFNAME": "=eth0", "NCCL_NET_GDR_LEVEL": "PHB",
			},
			absent: []string{"OMPI_MCA_btl_tcp_if_include", "UCX_IB_GID_INDEX", "NCCL_IB_DISABLE"},
		},
		"InfiniBand without GPUs": {
			reason:  "nothing about CUDA or NCCL",
			dialect: ORTE,
			network: Network{Fabric: InfiniBand, Interface: "eth0"},
			want:    map[string]string{"UCX_TLS": "rc,sm,self", "OMPI_MCA_btl": "^openib,uct", "OMPI_MCA_oob_tcp_if_include": "eth0"},
			absent:  []string{"NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", "UCX_NET_DEVICES"},
		},
		"RoCE": {
			reason:  "both libraries need the address of the port",
			dialect: Hydra,
			network: Network{Fabric: RoCE, Interface: "eth0", GIDIndex: &gid, Accelerators: true},
			want:    map[string]string{"UCX_IB_GID_INDEX": "3", "NCCL_IB_GID_INDEX": "3", "NCCL_NET_GDR_LEVEL": "LOC", "MPIR_CVAR_CH4_NETMOD": "ucx", "HYDRA_IFACE": "eth0"},
		},
		"EFA": {
			reason:  "libfabric, and no setting of verbs adapters",
			dialect: IntelHydra,
			network: Network{Fabric: EFA, Interface: "eth0", Accelerators: true},
			want:    map[string]string{"FI_PROVIDER": "efa", "I_MPI_FABRICS": "shm:ofi", "NCCL_SOCKET_IFNAME": "=eth0"},
			absent:  []string{"UCX_TLS", "NCCL_IB_HCA", "NCCL_NET_GDR_LEVEL"},
		},
		"Ethernet, MPICH": {
			reason:  "UCX and libfabric offer every interface of a pod unless they are told one",
			dialect: Hydra,
			network: Network{Fabric: Ethernet, Interface: "net1"},
			want:    map[string]string{"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "net1", "FI_TCP_IFACE": "net1", "HYDRA_IFACE": "net1"},
		},
		"Ethernet, Intel MPI": {
			reason:  "its ranks speak libfabric",
			dialect: IntelHydra,
			network: Network{Fabric: Ethernet, Interface: "net1"},
			want:    map[string]string{"FI_PROVIDER": "tcp", "FI_TCP_IFACE": "net1", "I_MPI_HYDRA_IFACE": "net1"},
		},
		"Ethernet with GPUs": {
			reason:  "NCCL must not look for adapters that are not there",
			dialect: PRRTE,
			network: Network{Fabric: Ethernet, Interface: "eth0", Accelerators: true},
			want:    map[string]string{"NCCL_IB_DISABLE": "1", "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl_tcp_if_include": "eth0"},
			absent:  []string{"UCX_TLS"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			for _, v := range Environment(tc.dialect, tc.network) {
				if v.Why == "" {
					t.Errorf("%s has no reason", v.Name)
				}
				if _, twice := got[v.Name]; twice {
					t.Errorf("%s is set twice", v.Name)
				}
				got[v.Name] = v.Value
			}
			for variable, want := range tc.want {
				if diff := cmp.Diff(want, got[variable]); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", tc.reason, variable, diff)
				}
			}
			for _, variable := range tc.absent {
				if value, found := got[variable]; found {
					t.Errorf("%s: %s is %q, want none", tc.reason, variable, value)
				}
			}
		})
	}
}
