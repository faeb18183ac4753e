package lower

import (
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// The SecurityContextConstraints of OpenShift for pods of jobs, and the ClusterRoles that let an account use one.
const (
	sccVersion  = "security.openshift.io/v1"
	jobSCC      = "lockstep-mpi"
	rdmaSCC     = "lockstep-mpi-rdma"
	jobSCCRole  = "lockstep-use-scc-mpi"
	rdmaSCCRole = "lockstep-use-scc-mpi-rdma"
)

var (
	jobSCCRule  = origin.Rule("scc mpi", "as strict as OpenShift's restricted-v2, which users get anyway, plus the kinds of volumes that runtimes use")
	rdmaSCCRule = origin.Rule("scc mpi-rdma", "as the SCC mpi, plus the one capability that pinning memory for RDMA adapters takes")
	lockRule    = origin.Rule("scc mpi-rdma", "RDMA adapters need memory that stays where it is; restricted-v2 does not allow IPC_LOCK")
	sccRoleRule = origin.Rule("scc role", "whoever has the role may run pods under the SCC; it is bound to the accounts of jobs, never to people")
	sccBindRule = origin.Rule("scc binding", "the account of jobs may use its SCC in the namespaces of tenants that have runtimes for it")
)

// securityContextConstraints adds the SCCs of an OpenShift cluster; the one with IPC_LOCK only where a runtime pins memory.
func (b *builder) securityContextConstraints(c *plan.Cluster) {
	if !c.OpenShift {
		return
	}
	b.scc(c, jobSCCRule, jobSCC, jobSCCRole, object.List("allowedCapabilities"))
	if c.PinsMemory() {
		b.scc(c, rdmaSCCRule, rdmaSCC, rdmaSCCRole, object.Texts("allowedCapabilities", lockRule, "IPC_LOCK"))
	}
}

// scc is restricted-v2 (https://docs.redhat.com/en/documentation/openshift_container_platform/4.20/html/authentication_and_authorization/managing-pod-security-policies)
// without its capability, and with other volumes. No user or group is listed: a role grants it.
func (b *builder) scc(c *plan.Cluster, rule *origin.Origin, name, role string, capabilities object.Node) {
	b.add(rule, sccVersion, "SecurityContextConstraints",
		platformMeta(constantText(name)),
		object.Bool("allowHostDirVolumePlugin", false, nil),
		object.Bool("allowHostIPC", false, nil),
		object.Bool("allowHostNetwork", false, nil),
		object.Bool("allowHostPID", false, nil),
		object.Bool("allowHostPorts", false, nil),
		object.Bool("allowPrivilegeEscalation", false, nil),
		object.Bool("allowPrivilegedContainer", false, nil),
		capabilities,
		object.List("defaultAddCapabilities"),
		sccStrategy("fsGroup", "MustRunAs"),
		object.List("groups"),
		object.Number("priority", 0, nil),
		object.Bool("readOnlyRootFilesystem", false, nil),
		object.Texts("requiredDropCapabilities", nil, "ALL"),
		sccStrategy("runAsUser", "MustRunAsRange"),
		sccStrategy("seLinuxContext", "MustRunAs"),
		object.Texts("seccompProfiles", nil, "runtime/default"),
		sccStrategy("supplementalGroups", "RunAsAny"),
		object.List("users"),
		object.List("volumes", sccVolumes(c)...))
	use := object.Map("",
		object.Texts("apiGroups", nil, "security.openshift.io"), object.Texts("resourceNames", nil, name),
		object.Texts("resources", nil, "securitycontextconstraints"), object.Texts("verbs", nil, "use"))
	b.clusterRole(sccRoleRule, role, []object.Node{use})
}

// sccVolumes are those of restricted-v2 that runtimes use, and images where the agent comes as one.
func sccVolumes(c *plan.Cluster) []object.Node {
	kinds := []object.Node{constantText("configMap"), constantText("emptyDir")}
	if c.ImageVolumes.V {
		kinds = append(kinds, object.Text("", "image", &c.ImageVolumes.Origin))
	}
	return append(kinds, constantText("persistentVolumeClaim"), constantText("secret"))
}

func sccStrategy(key, kind string) object.Node {
	return object.Map(key, object.Text("type", kind, nil))
}

// sccBindings let the accounts of jobs use their SCCs in one namespace.
func (b *builder) sccBindings(c *plan.Cluster, t *plan.Tenant, namespace *plan.Value[string]) {
	if !c.OpenShift {
		return
	}
	job, rdma := usedAccounts(c, t)
	if job {
		b.sccBinding(t, namespace, jobAccount, jobSCCRole)
	}
	if rdma {
		b.sccBinding(t, namespace, rdmaAccount, rdmaSCCRole)
	}
}

func (b *builder) sccBinding(t *plan.Tenant, namespace *plan.Value[string], account, role string) {
	b.add(sccBindRule, rbacVersion, "RoleBinding",
		tenantMeta(t, namespace, constantText(role)),
		clusterRoleRef(role),
		object.List("subjects", object.Map("",
			object.Text("kind", "ServiceAccount", nil), object.Text("name", account, nil), planText("namespace", namespace))))
}
