package lower

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/mpi"
)

// kueue is true for requests of Kueue's controller, which places jobs through runtimePatches: it knows the tolerations of its flavors.
// Nothing that runs in the tenant's namespace is taken for it.
const kueue = `request.userInfo.username.matches('^system:serviceaccount:[^:]+:kueue-controller-manager$') && !request.userInfo.username.startsWith('system:serviceaccount:' + request.?namespace.orValue('') + ':')`

// patchVolumes are the kinds of volumes that a TrainJob may add: those of the Pod Security Standard `restricted`. All others reach what
// is outside the namespace, past its network policies: kubelet mounts them from the machine.
const patchVolumes = `['configMap', 'csi', 'downwardAPI', 'emptyDir', 'ephemeral', 'image', 'persistentVolumeClaim', 'projected', 'secret']`

// keySecret ends the names of the Secrets with the keys of jobs (mpi.SSHAuthSecretName).
var keySecret = celString(mpi.SSHAuthSecretName(""))

// patchVariables are what spec.runtimePatches asks for (kubeflow/trainer pkg/apis, PodSpecPatch). Patches that stood there before are
// not looked at again: a job that was admitted stays. Each finding is a text, empty where there is nothing to find; the job of a finding
// is patched by one of at most 16 managers.
func patchVariables() []object.Node {
	isKey := func(name string) string { return name + `.orValue('').endsWith(` + keySecret + `)` }
	keyVariables := func(env string) string {
		return env + `.orValue([]).filter(e, ` + isKey(`e.?valueFrom.?secretKeyRef.?name`) + `).map(e, 'variable ' + e.name)`
	}
	return []object.Node{
		variable("patches", `(`+kueue+`) ? [] : dyn(object).?spec.?runtimePatches.orValue([]).filter(p, oldObject == null || !(p in dyn(oldObject).?spec.?runtimePatches.orValue([])))`),
		variable("patchedJobs", `variables.patches.map(p, p.?trainingRuntimeSpec.?template.?spec.?replicatedJobs.orValue([]))`),
		variable("otherJobs", texts(`variables.patchedJobs.map(jobs, jobs.filter(j, !(j.name in ['`+mpi.LauncherJob+`', '`+mpi.NodeJob+`'])).map(j, j.name).join(', '))`)),
		variable("pods", `variables.patchedJobs.map(jobs, jobs.filter(j, j.name in ['`+mpi.LauncherJob+`', '`+mpi.NodeJob+`']).map(j, j.?template.?spec.?template.orValue({})))`),
		variable("accounts", ofPods(`p.?spec.?serviceAccountName.orValue('')`)),
		variable("volumes", ofPods(`p.?spec.?volumes.orValue([]).filter(v, !`+patchVolumes+`.exists(k, k in v)).map(v, v.name).join(', ')`)),
		variable("tolerations", ofPods(`p.?spec.?tolerations.orValue([]).size() == 0 ? '' : 'found'`)),
		variable("keys", texts(`[
  `+keyVariables(`dyn(object).?spec.?trainer.?env`)+`.join(', '),
  `+ofPods(`p.?spec.?volumes.orValue([]).filter(v, `+isKey(`v.?secret.?secretName`)+` || v.?projected.?sources.orValue([]).exists(s, `+isKey(`s.?secret.?name`)+`)).map(v, 'volume ' + v.name).join(', ')`)+`,
  `+ofPods(texts(`(p.?spec.?containers.orValue([]) + p.?spec.?initContainers.orValue([])).map(c, `+keyVariables(`c.?env`)+`.join(', '))`))+`]`)),
		variable("networks", ofPods(smallestKey(`p.?metadata.?annotations`, "k8s.v1.cni.cncf.io/", "v1.multus-cni.io/"))),
		variable("labels", ofPods(smallestKey(`p.?metadata.?labels`, "lockstep.dev/", "jobset.sigs.k8s.io/", "batch.kubernetes.io/"))),
	}
}

// texts joins those of a list that are not empty.
func texts(list string) string { return list + `.filter(t, t != '').join(', ')` }

// ofPods joins what an expression over the pod template p finds in all patches.
func ofPods(finding string) string {
	return texts(`variables.pods.map(pods, ` + texts(`pods.map(p, `+finding+`)`) + `)`)
}

// smallestKey is the first key of a map with one of some beginnings, in the order of the alphabet; maps have no order of their own.
func smallestKey(entries string, beginnings ...string) string {
	matches := make([]string, len(beginnings))
	for i, beginning := range beginnings {
		matches[i] = `k.startsWith(` + celString(beginning) + `)`
	}
	keys := entries + `.orValue({}).filter(k, ` + strings.Join(matches, " || ") + `)`
	return `[` + keys + `].map(keys, keys.size() == 0 ? '' : keys.min())[0]`
}

func patchValidations() []object.Node {
	return []object.Node{
		validation("variables.otherJobs == ''",
			"spec.runtimePatches patches jobs that the runtime does not have",
			"spec.runtimePatches patches `{variables.otherJobs}`; an MPI runtime has the jobs `launcher` and `node`: patch one of these"),
		validation("variables.accounts == ''",
			"spec.runtimePatches sets a service account",
			"spec.runtimePatches sets serviceAccountName `{variables.accounts}`; pods run with the account of their runtime, because it decides what they may do: remove serviceAccountName"),
		validation("variables.volumes == ''",
			"spec.runtimePatches adds volumes of a kind that is not allowed",
			"spec.runtimePatches adds volume `{variables.volumes}` of a kind that reaches past the namespace; allowed are configMap, csi, downwardAPI, emptyDir, ephemeral, image, persistentVolumeClaim, projected and secret: use one of these"),
		validation("variables.keys == ''",
			"the TrainJob reads the key of a job",
			"{variables.keys} reads the key of a job (Secret *"+mpi.SSHAuthSecretName("")+"), with which all its nodes can be commanded; the agent gets the key of its own job by itself: remove it"),
		validation("variables.networks == ''",
			"spec.runtimePatches attaches networks",
			"spec.runtimePatches sets annotation `{variables.networks}`; networks come from the profile of the runtime: remove the annotation"),
		validation("variables.labels == ''",
			"spec.runtimePatches sets labels by which pods of jobs are selected",
			"spec.runtimePatches sets label `{variables.labels}`; network policies select pods by it: remove the label"),
		validation("variables.tolerations == ''",
			"spec.runtimePatches adds tolerations",
			"spec.runtimePatches adds tolerations; those for the machines of its profile come with the runtime, others would take machines that are kept for others: remove tolerations"),
	}
}
