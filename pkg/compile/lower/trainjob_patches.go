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
		celVariable("byKueue", kueue),
		celVariable("patches", `variables.byKueue ? [] : dyn(object).?spec.?runtimePatches.orValue([]).filter(p, oldObject == null || !(p in dyn(oldObject).?spec.?runtimePatches.orValue([])))`),
		celVariable("patchedJobs", `variables.patches.map(p, p.?trainingRuntimeSpec.?template.?spec.?replicatedJobs.orValue([]))`),
		celVariable("otherJobs", celJoinTexts(`variables.patchedJobs.map(jobs, jobs.map(j, j.?name.orValue('')).filter(n, !(n in ['`+mpi.LauncherJob+`', '`+mpi.NodeJob+`'])).join(', '))`)),
		celVariable("otherContainers", celOverJobs(celJoinTexts(`j.?template.?spec.?template.?spec.?containers.orValue([]).map(c, c.?name.orValue('')).filter(n, n != '`+mpi.Container+`')`))),
		celVariable("pods", `variables.patchedJobs.map(jobs, jobs.map(j, j.?template.?spec.?template.orValue({})))`),
		celVariable("patchedFields", patchedFields()),
		celVariable("accounts", celOverPods(`p.?spec.?serviceAccountName.orValue('')`)),
		celVariable("graces", celOverPods(`p.?spec.?terminationGracePeriodSeconds.orValue(0) > `+maxGraceSeconds+` ? string(p.spec.terminationGracePeriodSeconds) : ''`)),
	}
}

// patchedFields are the fields of all levels of patches that are not among those that a patch may set.
func patchedFields() string {
	const template = `p.?trainingRuntimeSpec.?template`
	return celJoinFindings(
		celOverPatches(celUnknownKey(`p`, "manager", "time", "trainingRuntimeSpec")),
		celOverPatches(celUnknownKey(`p.?trainingRuntimeSpec.orValue({})`, "template")),
		celOverPatches(celUnknownKey(template+`.orValue({})`, "metadata", "spec")),
		celOverPatches(celUnknownKey(template+`.?metadata.orValue({})`, "annotations", "labels")),
		celOverPatches(celUnknownKey(template+`.?spec.orValue({})`, "replicatedJobs")),
		celOverJobs(celUnknownKey(`j`, "name", "template")),
		celOverJobs(celUnknownKey(`j.?template.orValue({})`, "metadata", "spec")),
		celOverJobs(celUnknownKey(`j.?template.?metadata.orValue({})`, "annotations", "labels")),
		celOverJobs(celUnknownKey(`j.?template.?spec.orValue({})`, "template")),
		celOverPods(celUnknownKey(`p`, "metadata", "spec")),
		celOverPods(celUnknownKey(`p.?metadata.orValue({})`, "annotations", "labels")),
		// A service account has words of its own.
		celOverPods(celUnknownKey(`p.?spec.orValue({})`, append([]string{"serviceAccountName"}, patchedPod...)...)),
		celOverPods(celUnknownKey(`p.?spec.?securityContext.orValue({})`, podIdentity...)),
		celOverContainers(celUnknownKey(`c`, patchedContainer...)),
		celOverContainers(celUnknownKey(`c.?securityContext.orValue({})`, containerIdentity...)),
		celOverContainers(celJoinTexts(`c.?volumeMounts.orValue([]).map(m, `+celUnknownKey(`m`, patchedMount...)+`)`)),
	)
}

func patchValidations() []object.Node {
	return []object.Node{
		celValidation("variables.otherJobs == ''",
			"spec.runtimePatches patches jobs that the runtime does not have",
			"spec.runtimePatches patches `{variables.otherJobs}`; patches may change the jobs `launcher` and `node`: patch one of these"),
		celValidation("variables.otherContainers == ''",
			"spec.runtimePatches patches containers that pods of the runtime do not have",
			"spec.runtimePatches patches container `{variables.otherContainers}`; patches may change the container `node`: patch that one"),
		celValidation("variables.accounts == ''",
			"spec.runtimePatches sets a service account",
			"spec.runtimePatches sets serviceAccountName `{variables.accounts}`; pods run with the account of their runtime, because it decides what they may do: remove serviceAccountName"),
		celValidation("variables.patchedFields == ''",
			"spec.runtimePatches sets a field that is the runtime's",
			"spec.runtimePatches sets `{variables.patchedFields}`, which is the runtime's to set; patches may set labels, annotations, and of pods "+
				strings.Join(patchedPod, ", ")+" (of a securityContext users and groups, of containers env, securityContext and volumeMounts): remove it"),
		celValidation("variables.graces == ''",
			"spec.runtimePatches lets pods take too long to end",
			"spec.runtimePatches sets terminationGracePeriodSeconds to {variables.graces}; others wait for the machines while pods end, so that "+maxGraceSeconds+" is the most: ask for at most that, and save checkpoints as the job runs"),
	}
}

// celJoinTexts joins those of a list that are not empty.
func celJoinTexts(list string) string { return list + `.filter(t, t != '').join(', ')` }

// celJoinFindings joins what several expressions find.
func celJoinFindings(findings ...string) string {
	return celJoinTexts("[\n  " + strings.Join(findings, ",\n  ") + "]")
}

// celOverPatches joins what an expression over the patch p finds in all patches.
func celOverPatches(finding string) string {
	return celJoinTexts(`variables.patches.map(p, ` + finding + `)`)
}

// celOverJobs joins what an expression over the replicated job j finds in all patches.
func celOverJobs(finding string) string {
	return celJoinTexts(`variables.patchedJobs.map(jobs, ` + celJoinTexts(`jobs.map(j, `+finding+`)`) + `)`)
}

// celOverPods joins what an expression over the pod template p finds in all patches.
func celOverPods(finding string) string {
	return celJoinTexts(`variables.pods.map(pods, ` + celJoinTexts(`pods.map(p, `+finding+`)`) + `)`)
}

// celOverContainers joins what an expression over the container c finds in all patches.
func celOverContainers(finding string) string {
	return celOverPods(celJoinTexts(`p.?spec.?containers.orValue([]).map(c, ` + finding + `)`))
}

// celSmallestKey is the first key k of a map for which a condition holds, in the order of the alphabet; maps have no order of their own.
func celSmallestKey(entries, condition string) string {
	return `[` + entries + `.filter(k, ` + condition + `)].map(keys, keys.size() == 0 ? '' : keys.min())[0]`
}

// celUnknownKey is the first key of a map that is not one of some.
func celUnknownKey(entries string, known ...string) string {
	return celSmallestKey(entries, `!(k in [`+celStrings(known)+`])`)
}
