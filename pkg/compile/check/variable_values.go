package check

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// knownValues are what variables may say, by the documentation and the source of those who read them. Only variables whose readers pass over
// another value without a word, or do not start, and whose values are a closed list or numbers, are here.
var knownValues = []knownValue{
	// https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html: numbers are read by strtoll, so that 4M is 4, and true is nothing.
	{strings.Fields(`NCCL_IB_DISABLE NCCL_P2P_DISABLE NCCL_SHM_DISABLE NCCL_CHECKS_DISABLE NCCL_IGNORE_CPU_AFFINITY NCCL_IB_GID_INDEX
		NCCL_IB_TC NCCL_IB_CUDA_SUPPORT NCCL_IB_QPS_PER_CONNECTION NCCL_IB_PCI_RELAXED_ORDERING NCCL_IB_ADAPTIVE_ROUTING NCCL_IB_MERGE_NICS
		NCCL_NET_GDR_READ NCCL_BUFFSIZE NCCL_NTHREADS NCCL_MAX_NCHANNELS NCCL_MIN_NCHANNELS NCCL_CROSS_NIC NCCL_SOCKET_NTHREADS NCCL_NSOCKS_PERTHREAD
		NCCL_COLLNET_ENABLE NCCL_NVLS_ENABLE NCCL_CUMEM_ENABLE TF_CPP_MIN_LOG_LEVEL CUDA_DEVICE_MAX_CONNECTIONS CUDA_LAUNCH_BLOCKING`),
		`^-?(0[xX][0-9a-fA-F]+|[0-9]+)$`, "a whole number, such as 1"},
	{[]string{"NCCL_IB_TIMEOUT"}, `^([0-9]|[12][0-9]|3[01])$`, "0 to 31, the exponent of a time"},
	{[]string{"NCCL_IB_RETRY_CNT"}, `^[0-7]$`, "0 to 7"},
	{[]string{"NCCL_IB_SL"}, `^([0-9]|1[0-5])$`, "0 to 15"},
	{[]string{"NCCL_DEBUG"}, oneOf("VERSION WARN INFO TRACE ABORT"), "one of VERSION, WARN, INFO, TRACE"},
	{[]string{"NCCL_SOCKET_FAMILY"}, oneOf("AF_INET AF_INET6"), "AF_INET or AF_INET6"},
	{[]string{"NCCL_ALGO"}, ncclList("tree ring collnet collnetdirect collnetchain nvls nvlstree pat"),
		"names such as Ring or Tree, with commas"},
	{[]string{"NCCL_PROTO"}, ncclList("ll ll128 simple"), "LL, LL128 or Simple, with commas"},
	{[]string{"NCCL_P2P_LEVEL", "NCCL_NET_GDR_LEVEL"}, oneOf("LOC NVL PIX PXB PXN P2C PHB SYS 0 1 2 3 4 5 6 7 8 9"), "one of LOC, NVL, PIX, PXB, PHB, SYS, or a number"},
	// https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables: other words are no.
	{strings.Fields("HF_HUB_OFFLINE TRANSFORMERS_OFFLINE HF_DATASETS_OFFLINE"), oneOf("1 on yes true 0 off no false"),
		"1 or 0"},
	{[]string{"HF_ENDPOINT", "WANDB_BASE_URL"}, `(?i)^https?://.`, "a URL, such as https://mirror.example.com"},
	{[]string{"WANDB_MODE"}, oneOf("online offline disabled shared dryrun run"), "online, offline or disabled"},
	{[]string{"MLFLOW_TRACKING_URI"}, `^(databricks|uc$|[./]|[a-z+]+:/)`, "a URL, such as https://mlflow.example.com"},
	{[]string{"TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING"}, `^[0-3]$`, "0 to 3"},
	{[]string{"TORCH_DISTRIBUTED_DEBUG"}, oneOf("OFF INFO DETAIL"), "one of OFF, INFO, DETAIL"},
	// https://www.openmp.org/spec-html/5.2/openmpch21.html
	{[]string{"OMP_NUM_THREADS"}, `^\s*[1-9][0-9]*(\s*,\s*[1-9][0-9]*)*\s*$`, "a number above 0, or several with commas"},
	{[]string{"MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}, `^[0-9]+$`, "a whole number"},
	// https://horovod.readthedocs.io/en/stable/tensor-fusion_include.html
	{[]string{"HOROVOD_FUSION_THRESHOLD"}, `^[0-9]+$`, "a number of bytes, such as 67108864"},
	{[]string{"HOROVOD_CYCLE_TIME"}, `^[0-9]+(\.[0-9]+)?$`, "a number of milliseconds, such as 3.5"},
	{[]string{"OMP_PLACES"}, `(?i)^((threads|cores|ll_caches|numa_domains|sockets)(\([0-9:]+\))?|[!{0-9].*)$`,
		"threads, cores, sockets, or places such as {0:4},{4:4}"},
	{[]string{"OMP_PROC_BIND"}, listOf("true false master primary close spread", ","), "true, false, or a list of primary, close and spread"},
	// https://docs.open-mpi.org/en/v5.0.x/mca.html: a component that there is not ends the job before it begins. A ^ leaves out those of a list.
	{[]string{"OMPI_MCA_pml"}, componentsOf("ob1 ucx cm monitoring v yalla bfo crcpw"), "components such as ucx, ob1 or cm, with commas"},
	{[]string{"OMPI_MCA_btl"}, componentsOf("self sm vader tcp openib uct ofi usnic smcuda ugni portals4 sm_cuda"), "components such as self, sm, tcp or ofi, with commas"},
	{[]string{"OMPI_MCA_mtl"}, componentsOf("ofi psm psm2 portals4 mxm"), "components such as ofi or psm2, with commas"},
	{[]string{"OMPI_MCA_hwloc_base_binding_policy", "PRTE_MCA_hwloc_default_binding_policy"},
		`(?i)^(none|hwthread|core|l[123]cache|numa|package|socket|board)?(:.*)?$`, "none, core, package or numa"},
	{[]string{"OMPI_MCA_rmaps_base_mapping_policy", "PRTE_MCA_rmaps_default_mapping_policy"},
		`(?i)^(slot|hwthread|core|l[123]cache|numa|socket|package|board|node|seq|dist|rank_?file|likwid|ppr:[0-9]+:\w+|` +
			`pe-list=[0-9,-]+)?(:.*)?$`, "slot, core, numa, node, ppr:4:node or another object, and modifiers behind a colon"},
	{[]string{"OMPI_MCA_rmaps_base_ranking_policy", "PRTE_MCA_rmaps_default_ranking_policy"},
		`(?i)^(slot|hwthread|core|l[123]cache|numa|socket|package|board|node|fill|span)?(:.*)?$`, "slot, node, fill or span"},
	// mpirun would look for the allocation of a scheduler, or for the daemon that started it, and end without one.
	{strings.Fields("OMPI_MCA_ras PRTE_MCA_ras OMPI_MCA_ess PRTE_MCA_ess"),
		`^\^` + launchersOfOthers + `(,` + launchersOfOthers + `)*$`,
		"^slurm to leave a component out, or remove it: nodes come from the runtime's hostfile"},
	{[]string{"MASTER_PORT"}, `^([1-9][0-9]{0,3}|[1-5][0-9]{4}|6([0-4][0-9]{3}|5([0-4][0-9]{2}|5([0-2][0-9]|3[0-5]))))$`,
		"a port, 1 to 65535"},
	// fi_info -l. Providers that add to others are behind a semicolon.
	{[]string{"FI_PROVIDER", "I_MPI_OFI_PROVIDER"}, `(?i)^\^?` + providers + `([,;+]` + providers + `)*$`,
		"tcp, verbs, efa, psm3, shm or another provider"},
	// A missing launcher ends the job, and one for a single machine runs it there: the agent answers to rsh and ssh only.
	{[]string{"OMPI_MCA_plm", "PRTE_MCA_plm"}, `^(\w+,)*(rsh|ssh)(,\w+)*$|^\^(` + launchersOfOthers + `,?)+$`,
		"ssh (rsh before Open MPI 5), or remove it: the agent starts daemons on nodes, and there is no other launcher"},
	{[]string{"HYDRA_BOOTSTRAP", "HYDRA_RMK", "I_MPI_HYDRA_RMK"}, `^(ssh|rsh|user)$`,
		"ssh, or remove it: the agent starts proxies on nodes, and there is no other launcher"},
	// requests, curl and Go take an address without a scheme. aiohttp refuses it, and gRPC connects past the proxy.
	{strings.Fields("HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy"),
		`(?i)^(https?|socks[45][ah]?)://.`,
		"a URL, such as http://proxy.example.com:3128: not all programs read an address without a scheme"},
	{[]string{"NO_PROXY", "no_proxy"}, `^([^/]|/[0-9])*$`, "hosts, suffixes like .example.com, and ranges, with commas"},
	// https://www.intel.com/content/www/us/en/docs/mpi-library/developer-reference-linux/current/communication-fabrics-control.html
	{[]string{"I_MPI_FABRICS"}, listOf("shm ofi tcp dapl tmi ofa", ":"), "ofi, shm or shm:ofi"},
	// https://openucx.readthedocs.io/en/master/faq.html
	{[]string{"UCX_LOG_LEVEL"}, oneOf("fatal error warn diag info debug trace req data async func poll"), "one of fatal, error, warn, diag, info, debug, trace"},
}

// providers of libfabric, and of Intel's own.
const providers = `(ofi_)?(bgq|coll|cxi|efa|gni|hook\w*|lnx|lpp|mlx|mrail|net|opx|psm[23]?|rx[dm]|shm|sm2|sockets|` +
	`tcp|ucx|udp|usnic|verbs)`

// launchersOfOthers are components that start daemons by a scheduler of jobs, or on one machine only.
const launchersOfOthers = `(alps|flux|gridengine|isolated|lsf|pals|pbs|slurm|tm)`

// knownValue is what variables of some names may say: a regular expression, and the same in words.
type knownValue struct {
	names         []string
	form, allowed string
}

// valueForm is what one variable may say.
type valueForm struct {
	*regexp.Regexp
	allowed string
}

// valueForms has the form of each variable. Only a build that has variables pays for it, not every start.
var valueForms = sync.OnceValue(func() map[string]valueForm {
	forms := map[string]valueForm{}
	for _, row := range knownValues {
		form := valueForm{regexp.MustCompile(row.form), row.allowed}
		for _, name := range row.names {
			forms[name] = form
		}
	}
	return forms
})

func alternatives(words string) string { return "(" + strings.Join(strings.Fields(words), "|") + ")" }

// oneOf is any of some words, in letters of any size.
func oneOf(words string) string { return "(?i)^" + alternatives(words) + "$" }

// listOf is some of some words with a separator between them, in letters of any size.
func listOf(words, separator string) string {
	one := alternatives(words)
	return "(?i)^" + one + "(" + separator + one + ")*$"
}

// ncclList is some of some words, or all but some, for all operations of NCCL or one.
func ncclList(words string) string {
	one := `\^?` + alternatives(words+" allreduce broadcast reduce allgather reducescatter")
	return `(?i)^` + one + `([;,:]` + one + `)*$`
}

// componentsOf is some components of Open MPI, or all but some.
func componentsOf(names string) string {
	one := alternatives(names)
	return `^\^?` + one + "(," + one + ")*$"
}

// variablesSayWhatIsKnown warns of values that those who read a variable do not know, and of adapters that the machines do not have.
func variablesSayWhatIsKnown(c *plan.Cluster, list *diag.List) {
	for r := range c.Compiled() {
		for _, v := range slices.Concat(r.Profile.Env, r.Env) {
			if v.Value.V == "" || strings.Contains(v.Value.V, "$") {
				continue // variablesAreFilledIn judges these
			}
			if form, known := valueForms()[v.Name.V]; known && !form.MatchString(v.Value.V) {
				list.Warnf(diag.ValueNotKnown, v.Value.At, "`%s` is nothing that `%s` may say", v.Value.V, v.Name.V).Helpf("write %s", form.allowed)
			}
			adaptersAreThere(r, &v, list)
		}
	}
}

// adaptersAreThere warns of adapters that a variable names and the profile does not have. NCCL takes a name for the beginning of one, but after `=`,
// and `^` leaves adapters out.
func adaptersAreThere(r *plan.Runtime, v *plan.Variable, list *diag.List) {
	has := r.Profile.Fabric.HCAs
	if len(has) == 0 || v.Name.V != "NCCL_IB_HCA" && v.Name.V != "UCX_NET_DEVICES" {
		return
	}
	names, exact := strings.CutPrefix(strings.TrimPrefix(v.Value.V, "^"), "=")
	exact = exact || v.Name.V == "UCX_NET_DEVICES"
	for _, item := range strings.Split(names, ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(item), ":")
		there := slices.ContainsFunc(has, func(own plan.Value[string]) bool {
			adapter, _, _ := strings.Cut(own.V, ":")
			return adapter == name || !exact && strings.HasPrefix(adapter, name)
		})
		if there || !isAdapter.MatchString(name) {
			continue
		}
		report := list.Warnf(diag.ValueNotKnown, v.Value.At, "`%s` is not an adapter of the profile `%s`", name, r.Profile.Name).Also(firstSpan(has), "the adapters")
		report.Helpf("write one of %s, or add it to `hcas`", adapterNames(has))
	}
}

// isAdapter is how adapters are named that no interface of the network is named as: UCX takes both.
var isAdapter = regexp.MustCompile(`^(mlx[0-9]+_|bnxt_re|hfi[0-9]+_|irdma)[0-9]+$`)

func adapterNames(has []plan.Value[string]) string {
	const most = 4
	var names []string
	for i := range has {
		if i == most {
			return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), len(has)-most)
		}
		names = append(names, "`"+has[i].V+"`")
	}
	return strings.Join(names, ", ")
}

// interfacesCarryTCP warns of an adapter, or of the loopback, in the place of the interface that carries TCP to other
// pods: jobs do not start.
func interfacesCarryTCP(c *plan.Cluster, list *diag.List) {
	for _, p := range usedProfiles(c) {
		f := &p.Fabric
		if f.Interface.V == "lo" {
			list.Warnf(diag.ValueNotKnown, f.Interface.At, "`lo` reaches no other pod: each has its own").
				Helpf("%s", interfaceHelp)
		}
		if isAdapter.MatchString(f.Interface.V) && slices.ContainsFunc(f.HCAs, func(own plan.Value[string]) bool { return own.V == f.Interface.V }) {
			list.Warnf(diag.ValueNotKnown, f.Interface.At, "`%s` is an adapter, and no interface of the network that carries TCP", f.Interface.V).
				Also(firstSpan(f.HCAs), "the adapters").Helpf("%s", interfaceHelp)
		}
	}
}

const interfaceHelp = "write the interface as pods see it, for example eth0 or net1: `ip address` in a pod shows it"
