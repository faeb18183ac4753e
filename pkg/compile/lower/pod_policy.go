package lower

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

const podPolicyName = "lockstep-pods"

// podPolicy is the Pod Security Standard `restricted` of the cluster's version with one exception: pods with the account for pinned
// memory may add IPC_LOCK (docs/decisions/2026-11-21-pinned-memory.md). Rules and their order are those of
// k8s.io/pod-security-admission, and a test compares the verdicts. A pod cannot change any of it later, except by an ephemeral
// container.
func podPolicy(c *plan.Cluster) admissionPolicy {
	return admissionPolicy{
		name: podPolicyName,
		rules: []object.Node{
			requestKind("", "v1", "pods", "CREATE"),
			requestKind("", "v1", "pods/ephemeralcontainers", "UPDATE"),
		},
		variables:   podVariables(c.Minor),
		validations: podValidations(c.Minor),
		namespaces:  labelIsSelector("namespaceSelector", securityLabel, restrictedRDMA).With(tenantsOnlyRule),
	}
}

// restrictedVolumes are the kinds of volumes that the standard admits.
var restrictedVolumes = []string{"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret"}

// The versions of the standard differ (https://kubernetes.io/docs/concepts/security/pod-security-standards/); the numbers are minor
// versions of Kubernetes.
const (
	seLinuxEngineMinor  = 31 // container_engine_t is allowed
	tcpBuffersMinor     = 32 // net.ipv4.tcp_rmem and tcp_wmem are allowed
	hostProbesMinor     = 34 // the host of probes and lifecycle handlers is forbidden
	userNamespacesMinor = 35 // root is allowed in a user namespace
)

// containersWhere are the containers for which a condition over c is true.
func containersWhere(condition string) string {
	return `variables.containers.filter(c, ` + condition + `).map(c, c.name).join(', ')`
}

func podVariables(minor int) []object.Node {
	inUserNamespace := "false"
	if minor >= userNamespacesMinor {
		inUserNamespace = "!variables.spec.?hostUsers.orValue(true)"
	}
	const goodSeccomp = `['RuntimeDefault', 'Localhost']`
	const goodAppArmor = `['RuntimeDefault', 'Localhost']`
	handlers := `[c.?livenessProbe, c.?readinessProbe, c.?startupProbe, c.?lifecycle.?postStart, c.?lifecycle.?preStop]`
	return []object.Node{
		// Without its type: the API server warns of comparisons between types that differ in name only.
		celVariable("spec", `dyn(object.spec)`),
		celVariable("containers", `variables.spec.?initContainers.orValue([]) + variables.spec.containers + variables.spec.?ephemeralContainers.orValue([])`),
		celVariable("security", `variables.spec.?securityContext.orValue({})`),
		celVariable("windows", `variables.spec.?os.?name.orValue('') == 'windows'`),
		celVariable("inUserNamespace", inUserNamespace),
		celVariable("mayLock", `variables.spec.?serviceAccountName.orValue('') == '`+rdmaAccount+`'`),

		celVariable("appArmor", containersWhere(`!(c.?securityContext.?appArmorProfile.?type.orValue('RuntimeDefault') in `+goodAppArmor+`)`)),
		celVariable("added", `variables.windows ? '' : `+containersWhere(`c.?securityContext.?capabilities.?add.orValue([]).exists(a, a != 'NET_BIND_SERVICE' && !(a == 'IPC_LOCK' && variables.mayLock))`)),
		celVariable("kept", `variables.windows ? '' : `+containersWhere(`!('ALL' in c.?securityContext.?capabilities.?drop.orValue([]))`)),
		celVariable("escalating", `variables.windows ? '' : `+containersWhere(`c.?securityContext.?allowPrivilegeEscalation.orValue(true)`)),
		celVariable("hostPorts", containersWhere(`c.?ports.orValue([]).exists(p, p.?hostPort.orValue(0) != 0)`)),
		celVariable("hostProbes", containersWhere(handlers+`.exists(h, h.?httpGet.?host.orValue('') != '' || h.?tcpSocket.?host.orValue('') != '')`)),
		celVariable("privileged", containersWhere(`c.?securityContext.?privileged.orValue(false)`)),
		celVariable("procMounts", containersWhere(`c.?securityContext.?procMount.orValue('Default') != 'Default'`)),
		celVariable("mayBeRoot", `variables.inUserNamespace ? '' : `+containersWhere(`!c.?securityContext.?runAsNonRoot.orValue(variables.security.?runAsNonRoot.orValue(false))`)),
		celVariable("root", `variables.inUserNamespace ? '' : `+containersWhere(`c.?securityContext.?runAsUser.orValue(1) == 0`)),
		celVariable("seccomp", `variables.windows ? '' : `+containersWhere(`!(c.?securityContext.?seccompProfile.?type.orValue(variables.security.?seccompProfile.?type.orValue('')) in `+goodSeccomp+`)`)),
		celVariable("seLinuxTypes", seLinuxTypes(minor)),
		celVariable("seLinux", containersWhere(badSELinux(`c.?securityContext`))),
		celVariable("sysctls", `variables.security.?sysctls.orValue([]).filter(s, !(s.name in [`+celStrings(safeSysctls(minor))+`])).map(s, s.name).join(', ')`),
		celVariable("volumes", `variables.spec.?volumes.orValue([]).filter(v, ![`+celStrings(restrictedVolumes)+`].exists(k, k in v)).map(v, v.name).join(', ')`),
		celVariable("hostProcesses", containersWhere(`c.?securityContext.?windowsOptions.?hostProcess.orValue(false)`)),
	}
}

func badSELinux(context string) string {
	return `!(` + context + `.?seLinuxOptions.?type.orValue('') in variables.seLinuxTypes) || ` +
		context + `.?seLinuxOptions.?user.orValue('') != '' || ` + context + `.?seLinuxOptions.?role.orValue('') != ''`
}

func seLinuxTypes(minor int) string {
	types := []string{"", "container_t", "container_init_t", "container_kvm_t"}
	if minor >= seLinuxEngineMinor {
		types = append(types, "container_engine_t")
	}
	return "[" + celStrings(types) + "]"
}

// safeSysctls change nothing but the pod itself.
func safeSysctls(minor int) []string {
	names := []string{
		"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start", "net.ipv4.tcp_syncookies",
		"net.ipv4.ping_group_range", "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout",
		"net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes",
	}
	if minor >= tcpBuffersMinor {
		names = append(names, "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")
	}
	return names
}

func celStrings(values []string) string {
	literals := make([]string, len(values))
	for i, value := range values {
		literals[i] = celString(value)
	}
	return strings.Join(literals, ", ")
}

// noContainersValidation refuses pods with containers in a list, for a reason and with a remedy.
func noContainersValidation(list, reason, remedy string) object.Node {
	return celValidation("variables."+list+" == ''", "containers "+reason, "container {variables."+list+"} "+reason+": "+remedy)
}

func podValidations(minor int) []object.Node {
	const leaveOut = "leave it out"
	validations := []object.Node{
		noContainersValidation("appArmor", "sets an AppArmor profile that is not RuntimeDefault or Localhost", leaveOut),
		celValidation(`variables.security.?appArmorProfile.?type.orValue('RuntimeDefault') in ['RuntimeDefault', 'Localhost'] && !object.metadata.?annotations.orValue({}).exists(k,
  k.startsWith('container.apparmor.security.beta.kubernetes.io/') && !(object.metadata.annotations[k] in ['', 'runtime/default'] || object.metadata.annotations[k].startsWith('localhost/')))`,
			"the pod sets an AppArmor profile that is not RuntimeDefault or Localhost",
			"the pod sets an AppArmor profile that is not RuntimeDefault or Localhost: "+leaveOut),
		noContainersValidation("kept", "keeps capabilities", "set securityContext.capabilities.drop to [ALL]"),
		noContainersValidation("added", "adds capabilities", "remove capabilities.add; NET_BIND_SERVICE is allowed, and IPC_LOCK for pods of runtimes that pin memory (service account "+rdmaAccount+")"),
		noContainersValidation("escalating", "may escalate privileges", "set securityContext.allowPrivilegeEscalation to false"),
		celValidation(`!variables.spec.?hostNetwork.orValue(false) && !variables.spec.?hostPID.orValue(false) && !variables.spec.?hostIPC.orValue(false)`,
			"the pod uses namespaces of its machine", "the pod uses namespaces of its machine (hostNetwork, hostPID or hostIPC): remove them"),
		noContainersValidation("hostPorts", "uses hostPort", "remove it; pods of a job reach each other without"),
		noContainersValidation("privileged", "is privileged", "remove securityContext.privileged"),
		noContainersValidation("procMounts", "sets procMount", leaveOut),
		noContainersValidation("mayBeRoot", "may run as root", "set securityContext.runAsNonRoot to true in the pod or the container"),
		celValidation(`variables.inUserNamespace || variables.security.?runAsNonRoot.orValue(true)`,
			"the pod sets runAsNonRoot to false", "the pod sets securityContext.runAsNonRoot to false: set it to true"),
		noContainersValidation("root", "sets runAsUser to 0", "choose another user, or leave it out"),
		celValidation(`variables.inUserNamespace || variables.security.?runAsUser.orValue(1) != 0`,
			"the pod sets runAsUser to 0", "the pod sets securityContext.runAsUser to 0: choose another user, or leave it out"),
		noContainersValidation("seccomp", "has no seccomp profile", "set securityContext.seccompProfile.type to RuntimeDefault in the pod or the container"),
		celValidation(`variables.windows || variables.security.?seccompProfile.?type.orValue('RuntimeDefault') in ['RuntimeDefault', 'Localhost']`,
			"the pod switches seccomp off", "the pod sets a seccomp profile that is not RuntimeDefault or Localhost: set securityContext.seccompProfile.type to RuntimeDefault"),
		noContainersValidation("seLinux", "sets SELinux options that are not allowed", leaveOut),
		celValidation(`!(`+badSELinux(`variables.security`)+`)`,
			"the pod sets SELinux options that are not allowed", "the pod sets SELinux options that are not allowed: "+leaveOut),
		celValidation(`variables.sysctls == ''`, "the pod sets sysctls that reach past it", "the pod sets sysctl {variables.sysctls}, which reaches past the pod: remove it"),
		celValidation(`variables.volumes == ''`, "the pod has volumes of a kind that is not allowed",
			"volume {variables.volumes} is of a kind that reaches past the namespace; allowed are configMap, csi, downwardAPI, emptyDir, ephemeral, image, persistentVolumeClaim, projected and secret: use one of these"),
		noContainersValidation("hostProcesses", "is a Windows host process", "remove securityContext.windowsOptions.hostProcess"),
		celValidation(`!variables.security.?windowsOptions.?hostProcess.orValue(false)`,
			"the pod is a Windows host process", "the pod sets securityContext.windowsOptions.hostProcess: remove it"),
	}
	if minor >= hostProbesMinor {
		validations = append(validations, noContainersValidation("hostProbes", "has a probe or lifecycle handler for another host", "remove host, so that it asks the pod itself"))
	}
	return validations
}
