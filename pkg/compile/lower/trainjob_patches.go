package lower

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/mpi"
)

// kueue is true for requests of Kueue's controller, which places jobs through runtimePatches: it knows the tolerations of its flavors.
// Nothing that runs in the tenant's namespace is taken for it.
const kueue = `request.userInfo.username.matches('^system:serviceaccount:[^:]+:kueue-controller-manager$') && !request.userInfo.username.startsWith('system:serviceaccount:' + request.?namespace.orValue('') + ':')`

// What a patch may set, level by level (kubeflow/trainer pkg/apis, RuntimePatch and below). Whatever a later version adds is refused
// until somebody has thought about it: docs/decisions/2026-11-23-what-a-patch-may-set.md.
var (
	patchedPod = []string{
		"affinity", "containers", "imagePullSecrets", "nodeSelector", "schedulingGates", "securityContext",
		"terminationGracePeriodSeconds", "tolerations", "volumes",
	}
	patchedContainer = []string{"env", "name", "securityContext", "volumeMounts"}
	patchedMount     = []string{"mountPath", "name", "readOnly", "recursiveReadOnly", "subPath", "subPathExpr"}
	// Users and groups are left: what the rest of a security context gives is the runtime's to give.
	podIdentity       = []string{"fsGroup", "fsGroupChangePolicy", "runAsGroup", "runAsNonRoot", "runAsUser", "supplementalGroups", "supplementalGroupsPolicy"}
	containerIdentity = []string{"readOnlyRootFilesystem", "runAsGroup", "runAsNonRoot", "runAsUser"}
)

// maxGraceSeconds is how long pods of a job may take to end. Kueue gives their machines to the next job while they still end there, and
// that job fails if its gang is not up after gang.timeout, 5 minutes by default: two minutes leave it time to pull images. They are also
// what clouds give before they take a machine back.
const maxGraceSeconds = "120"

// patchVariables are what spec.runtimePatches asks for. Patches that stood there before are not looked at again: a job that was admitted
// stays. Each finding is a text, empty where there is nothing to find; the job of a finding is patched by one of at most 16 managers.
func patchVariables() []object.Node {
	return []object.Node{
		variable("byKueue", kueue),
		variable("patches", `variables.byKueue ? [] : dyn(object).?spec.?runtimePatches.orValue([]).filter(p, oldObject == null || !(p in dyn(oldObject).?spec.?runtimePatches.orValue([])))`),
		variable("patchedJobs", `variables.patches.map(p, p.?trainingRuntimeSpec.?template.?spec.?replicatedJobs.orValue([]))`),
		variable("otherJobs", texts(`variables.patchedJobs.map(jobs, jobs.map(j, j.?name.orValue('')).filter(n, !(n in ['`+mpi.LauncherJob+`', '`+mpi.NodeJob+`'])).join(', '))`)),
		variable("otherContainers", ofJobs(texts(`j.?template.?spec.?template.?spec.?containers.orValue([]).map(c, c.?name.orValue('')).filter(n, n != '`+mpi.Container+`')`))),
		variable("pods", `variables.patchedJobs.map(jobs, jobs.map(j, j.?template.?spec.?template.orValue({})))`),
		variable("patchedFields", patchedFields()),
		variable("accounts", ofPods(`p.?spec.?serviceAccountName.orValue('')`)),
		variable("graces", ofPods(`p.?spec.?terminationGracePeriodSeconds.orValue(0) > `+maxGraceSeconds+` ? string(p.spec.terminationGracePeriodSeconds) : ''`)),
	}
}

// patchedFields are the fields of all levels of patches that are not among those that a patch may set.
func patchedFields() string {
	const template = `p.?trainingRuntimeSpec.?template`
	return anyOf(
		ofPatches(unknown(`p`, "manager", "time", "trainingRuntimeSpec")),
		ofPatches(unknown(`p.?trainingRuntimeSpec.orValue({})`, "template")),
		ofPatches(unknown(template+`.orValue({})`, "metadata", "spec")),
		ofPatches(unknown(template+`.?metadata.orValue({})`, "annotations", "labels")),
		ofPatches(unknown(template+`.?spec.orValue({})`, "replicatedJobs")),
		ofJobs(unknown(`j`, "name", "template")),
		ofJobs(unknown(`j.?template.orValue({})`, "metadata", "spec")),
		ofJobs(unknown(`j.?template.?metadata.orValue({})`, "annotations", "labels")),
		ofJobs(unknown(`j.?template.?spec.orValue({})`, "template")),
		ofPods(unknown(`p`, "metadata", "spec")),
		ofPods(unknown(`p.?metadata.orValue({})`, "annotations", "labels")),
		// A service account has words of its own.
		ofPods(unknown(`p.?spec.orValue({})`, append([]string{"serviceAccountName"}, patchedPod...)...)),
		ofPods(unknown(`p.?spec.?securityContext.orValue({})`, podIdentity...)),
		ofContainers(unknown(`c`, patchedContainer...)),
		ofContainers(unknown(`c.?securityContext.orValue({})`, containerIdentity...)),
		ofContainers(texts(`c.?volumeMounts.orValue([]).map(m, `+unknown(`m`, patchedMount...)+`)`)),
	)
}

func patchValidations() []object.Node {
	return []object.Node{
		validation("variables.otherJobs == ''",
			"spec.runtimePatches patches jobs that the runtime does not have",
			"spec.runtimePatches patches `{variables.otherJobs}`; patches may change the jobs `launcher` and `node`: patch one of these"),
		validation("variables.otherContainers == ''",
			"spec.runtimePatches patches containers that pods of the runtime do not have",
			"spec.runtimePatches patches container `{variables.otherContainers}`; patches may change the container `node`: patch that one"),
		validation("variables.accounts == ''",
			"spec.runtimePatches sets a service account",
			"spec.runtimePatches sets serviceAccountName `{variables.accounts}`; pods run with the account of their runtime, because it decides what they may do: remove serviceAccountName"),
		validation("variables.patchedFields == ''",
			"spec.runtimePatches sets a field that is the runtime's",
			"spec.runtimePatches sets `{variables.patchedFields}`, which is the runtime's to set; patches may set labels, annotations, and of pods "+
				strings.Join(patchedPod, ", ")+" (of a securityContext users and groups, of containers env, securityContext and volumeMounts): remove it"),
		validation("variables.graces == ''",
			"spec.runtimePatches lets pods take too long to end",
			"spec.runtimePatches sets terminationGracePeriodSeconds to {variables.graces}; others wait for the machines while pods end, so that "+maxGraceSeconds+" is the most: ask for at most that, and save checkpoints as the job runs"),
	}
}

// texts joins those of a list that are not empty.
func texts(list string) string { return list + `.filter(t, t != '').join(', ')` }

// anyOf joins what several expressions find.
func anyOf(findings ...string) string {
	return texts("[\n  " + strings.Join(findings, ",\n  ") + "]")
}

// ofPatches joins what an expression over the patch p finds in all patches.
func ofPatches(finding string) string { return texts(`variables.patches.map(p, ` + finding + `)`) }

// ofJobs joins what an expression over the replicated job j finds in all patches.
func ofJobs(finding string) string {
	return texts(`variables.patchedJobs.map(jobs, ` + texts(`jobs.map(j, `+finding+`)`) + `)`)
}

// ofPods joins what an expression over the pod template p finds in all patches.
func ofPods(finding string) string {
	return texts(`variables.pods.map(pods, ` + texts(`pods.map(p, `+finding+`)`) + `)`)
}

// ofContainers joins what an expression over the container c finds in all patches.
func ofContainers(finding string) string {
	return ofPods(texts(`p.?spec.?containers.orValue([]).map(c, ` + finding + `)`))
}

// smallestKey is the first key k of a map for which a condition holds, in the order of the alphabet; maps have no order of their own.
func smallestKey(entries, condition string) string {
	return `[` + entries + `.filter(k, ` + condition + `)].map(keys, keys.size() == 0 ? '' : keys.min())[0]`
}

// unknown is the first key of a map that is not one of some.
func unknown(entries string, known ...string) string {
	return smallestKey(entries, `!(k in [`+quoted(known)+`])`)
}
