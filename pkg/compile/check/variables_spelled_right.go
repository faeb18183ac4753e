package check

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// knownVariables are those that people set most, by the documentation of NCCL, UCX, libfabric, Open MPI and Intel MPI. A list that lacks some
// finds fewer slips, and takes none for one: it needs a name that differs by one letter.
var knownVariables = strings.Fields(`
	NCCL_DEBUG NCCL_DEBUG_FILE NCCL_DEBUG_SUBSYS NCCL_SOCKET_IFNAME NCCL_SOCKET_FAMILY NCCL_SOCKET_NTHREADS NCCL_NSOCKS_PERTHREAD NCCL_IB_HCA
	NCCL_IB_DISABLE NCCL_IB_GID_INDEX NCCL_IB_TC NCCL_IB_SL NCCL_IB_TIMEOUT NCCL_IB_RETRY_CNT NCCL_IB_CUDA_SUPPORT NCCL_IB_QPS_PER_CONNECTION
	NCCL_IB_PCI_RELAXED_ORDERING NCCL_IB_ADAPTIVE_ROUTING NCCL_IB_MERGE_NICS NCCL_NET NCCL_NET_PLUGIN NCCL_NET_GDR_LEVEL NCCL_NET_GDR_READ NCCL_P2P_DISABLE
	NCCL_P2P_LEVEL NCCL_SHM_DISABLE NCCL_BUFFSIZE NCCL_NTHREADS NCCL_MAX_NCHANNELS NCCL_MIN_NCHANNELS NCCL_CROSS_NIC NCCL_ALGO NCCL_PROTO
	NCCL_TOPO_FILE NCCL_TOPO_DUMP_FILE NCCL_GRAPH_FILE NCCL_COLLNET_ENABLE NCCL_NVLS_ENABLE NCCL_TUNER_PLUGIN NCCL_CUMEM_ENABLE NCCL_LAUNCH_MODE
	NCCL_ASYNC_ERROR_HANDLING NCCL_BLOCKING_WAIT NCCL_IGNORE_CPU_AFFINITY NCCL_CHECKS_DISABLE
	UCX_TLS UCX_NET_DEVICES UCX_LOG_LEVEL UCX_IB_GID_INDEX UCX_IB_TRAFFIC_CLASS UCX_IB_SL UCX_MAX_RNDV_RAILS UCX_MAX_EAGER_RAILS UCX_RNDV_THRESH
	UCX_RNDV_SCHEME UCX_ZCOPY_THRESH UCX_MEMTYPE_CACHE UCX_IB_PCI_RELAXED_ORDERING UCX_SOCKADDR_TLS_PRIORITY UCX_UNIFIED_MODE UCX_WARN_UNUSED_ENV_VARS
	FI_PROVIDER FI_LOG_LEVEL FI_EFA_USE_DEVICE_RDMA FI_EFA_FORK_SAFE FI_EFA_ENABLE_SHM_TRANSFER FI_TCP_IFACE FI_SOCKETS_IFACE FI_VERBS_IFACE FI_HMEM
	OMPI_MCA_pml OMPI_MCA_btl OMPI_MCA_mtl OMPI_MCA_osc OMPI_MCA_coll OMPI_MCA_btl_tcp_if_include OMPI_MCA_btl_tcp_if_exclude OMPI_MCA_oob_tcp_if_include
	OMPI_MCA_plm_rsh_num_concurrent OMPI_MCA_plm_rsh_no_tree_spawn OMPI_MCA_routed OMPI_MCA_hwloc_base_binding_policy OMPI_MCA_rmaps_base_mapping_policy
	OMPI_MCA_rmaps_base_oversubscribe OMPI_MCA_mpi_yield_when_idle OMPI_MCA_opal_cuda_support OMPI_MCA_btl_vader_single_copy_mechanism OMPI_MCA_btl_openib_allow_ib
	PRTE_MCA_prte_if_include PRTE_MCA_rmaps_default_mapping_policy PRTE_MCA_hwloc_default_binding_policy PRTE_MCA_plm_ssh_num_concurrent
	I_MPI_FABRICS I_MPI_DEBUG I_MPI_PIN I_MPI_PIN_DOMAIN I_MPI_PERHOST I_MPI_OFI_PROVIDER I_MPI_HYDRA_BOOTSTRAP I_MPI_HYDRA_IFACE I_MPI_ADJUST_ALLREDUCE
	OMP_NUM_THREADS OMP_PROC_BIND OMP_PLACES MKL_NUM_THREADS OPENBLAS_NUM_THREADS CUDA_VISIBLE_DEVICES CUDA_DEVICE_MAX_CONNECTIONS
	TORCH_NCCL_ASYNC_ERROR_HANDLING TORCH_DISTRIBUTED_DEBUG PYTORCH_CUDA_ALLOC_CONF HOROVOD_TIMELINE HOROVOD_FUSION_THRESHOLD HOROVOD_CYCLE_TIME
	TF_CPP_MIN_LOG_LEVEL HF_HOME TRANSFORMERS_CACHE PYTHONUNBUFFERED UCX_BCOPY_THRESH I_MPI_ADJUST_IALLREDUCE
`)

// frameworks of Open MPI 4 and 5, PRRTE and PMIx have names that differ by a letter.
var frameworks = strings.Fields(`
	accelerator allocator backtrace bml btl coll common compress crs crcp dl dpm errmgr ess event fbtl fcoll
	filem fs grpcomm hook hwloc if io iof memchecker memory mpool mtl odls oob op osc part patcher plm pml pmix
	pstat pubsub ras rcache reachable regx rmaps rml routed rtc schizo sharedfp shmem smsc snapc sstore state
	threads timer topo vprotocol bfrops gds pcompress pdl pfexec pif plog pmdl pnet preg prm psec psensor
	psquash pstrg ptl prteif prtereachable
`)

// isFramework reports whether a variable chooses components of a framework.
func isFramework(name string) bool {
	_, framework, found := strings.Cut(name, "_MCA_")
	return found && slices.Contains(frameworks, framework)
}

// variablesSpelledRight warns of variables that differ by one letter from one that programs read.
func variablesSpelledRight(c *plan.Cluster, list *diag.List) {
	for r := range c.Compiled() {
		for _, v := range slices.Concat(r.Profile.Env, r.Env) {
			if slices.Contains(knownVariables, v.Name.V) || isFramework(v.Name.V) {
				continue
			}
			if meant := nearMissOfKnown(v.Name.V); meant != "" {
				list.Warnf(diag.VariableNotRead, v.Name.At, "hardly anybody reads `%s`: it differs by one letter from `%s`", v.Name.V, meant).
					Helpf("write `%s`, or accept it with a waiver where a program does read it", meant)
			}
		}
	}
}

// nearMissOfKnown is the known variable that a name differs from by one letter, or by what separates words, or "".
func nearMissOfKnown(name string) string {
	bare := strings.ReplaceAll(name, "_", "")
	if i := slices.Index(variablesWithout, bare); i >= 0 {
		return knownVariables[i]
	}
	if meant, near := diag.NearMiss(bare, variablesWithout); near {
		return knownVariables[slices.Index(variablesWithout, meant)]
	}
	return ""
}

// variablesWithout are the known variables without what separates their words.
var variablesWithout = func() []string {
	names := make([]string, len(knownVariables))
	for i, name := range knownVariables {
		names[i] = strings.ReplaceAll(name, "_", "")
	}
	return names
}()
