package lower

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/mpi"
)

// patchVolumes are the kinds of volumes that a TrainJob may add, projectedSources what a projected one may hold. All others reach what is
// outside the namespace, past its network policies: kubelet mounts them from the machine, and with csi whatever a driver finds. A claim
// template makes claims for somebody who may make none, and a token makes somebody of pods that are nobody.
var (
	patchVolumes     = []string{"configMap", "downwardAPI", "emptyDir", "image", "persistentVolumeClaim", "projected", "secret"}
	projectedSources = []string{"configMap", "downwardAPI", "secret"}
)

// The volumes and folders that carry the agent, the key, the state and the hostfile of a job. Folders end with a slash; /var/run leads to
// /run in most images. What a user's own image does with its links, no policy can see.
var (
	platformVolumes = []string{mpi.AgentVolume, mpi.StateVolume, mpi.SSHAuthVolume, mpi.HostfileVolume, mpi.UserHomeVolume}
	platformFolders = []string{
		mpi.AgentDir + "/", mpi.SSHAuthMountPath + "/", strings.TrimPrefix(mpi.SSHAuthMountPath, "/var") + "/",
		mpi.StateDir + "/", "/var" + mpi.StateDir + "/", mpi.HostfileDir + "/", mpi.HostsPath + "/", "/proc/", "/sys/",
	}
)

// keySecret ends the names of the Secrets with the keys of jobs (mpi.SSHAuthSecretName).
var keySecret = celString(mpi.SSHAuthSecretName(""))

func celIsKeySecret(name string) string { return name + `.orValue('').endsWith(` + keySecret + `)` }

// celKeyOfInitializer names an initializer that is given the key of a job.
func celKeyOfInitializer(step string) string {
	return `variables.changed && ` + celIsKeySecret(celInitializer(step, "secretRef.?name")) + ` ? 'initializer ` + step + `' : ''`
}

func volumeVariables() []object.Node {
	const volumes, mounts = `p.?spec.?volumes.orValue([])`, `c.?volumeMounts.orValue([])`
	projects := `v.?projected.?sources.orValue([]).exists(s, ` + celUnknownKey(`s`, projectedSources...) + ` != '')`
	return []object.Node{
		celVariable("volumes", celOverPods(volumes+`.filter(v, `+celUnknownKey(`v`, append([]string{"name"}, patchVolumes...)...)+` != '' || `+projects+`).map(v, v.name).join(', ')`)),
		celVariable("platformVolumes", `[`+celStrings(platformVolumes)+`]`),
		celVariable("replaced", celJoinFindings(
			celOverPods(volumes+`.filter(v, v.name in variables.platformVolumes).map(v, v.name).join(', ')`),
			celOverContainers(mounts+`.filter(m, m.name in variables.platformVolumes).map(m, m.name).join(', ')`))),
		celVariable("platformFolders", `[`+celStrings(platformFolders)+`]`),
		celVariable("covered", celOverContainers(mounts+`.filter(m, `+celCoversPlatformFolder(`m.?mountPath.orValue('')`)+`).map(m, m.?mountPath.orValue('')).join(', ')`)),
		celVariable("keys", celJoinFindings(
			celOverVariables(celIsKeySecret(`e.?valueFrom.?secretKeyRef.?name`)+` ? 'variable ' + e.name : ''`),
			celKeyOfInitializer("dataset"), celKeyOfInitializer("model"),
			celOverPods(volumes+`.filter(v, `+celIsKeySecret(`v.?secret.?secretName`)+` || v.?projected.?sources.orValue([]).exists(s, `+celIsKeySecret(`s.?secret.?name`)+`)).map(v, 'volume ' + v.name).join(', ')`),
			celOverPods(`p.?spec.?imagePullSecrets.orValue([]).filter(s, `+celIsKeySecret(`s.?name`)+`).map(s, 'image pull secret ' + s.name).join(', ')`))),
	}
}

// celCoversPlatformFolder is true for a path that is a folder of the platform, is in one or has one in it, and for one that is written in a way that hides
// where it leads.
func celCoversPlatformFolder(path string) string {
	return `!` + path + `.startsWith('/') || ` + path + `.matches('//|/[.][.]?(/|$)') ||
  [` + path + `.endsWith('/') ? ` + path + ` : ` + path + ` + '/'].exists(q, variables.platformFolders.exists(f, f.startsWith(q) || q.startsWith(f)))`
}

func volumeValidations() []object.Node {
	return []object.Node{
		celValidation("variables.volumes == ''",
			"spec.runtimePatches adds volumes of a kind that is not allowed",
			"spec.runtimePatches adds volume `{variables.volumes}` of a kind that reaches past the namespace; allowed are configMap, downwardAPI, emptyDir, image, persistentVolumeClaim, projected (of configMap, downwardAPI and secret) and secret: use one of these"),
		celValidation("variables.replaced == ''",
			"spec.runtimePatches uses volumes of the platform",
			"spec.runtimePatches uses volume `{variables.replaced}`, which is the platform's ("+strings.Join(platformVolumes, ", ")+"): give the volume another name, or remove the mount"),
		celValidation("variables.covered == ''",
			"spec.runtimePatches mounts over folders of the platform",
			"spec.runtimePatches mounts a volume at `{variables.covered}`; the platform has "+
				strings.Join([]string{mpi.AgentDir, mpi.SSHAuthMountPath, mpi.StateDir, mpi.HostfileDir, mpi.HostsPath}, ", ")+
				", /proc and /sys, and nothing may be mounted there, above or below; a path begins with a slash and has no `//`, `.` or `..`: choose another folder"),
		celValidation("variables.keys == ''",
			"the TrainJob reads the key of a job",
			"{variables.keys} reads the key of a job (Secret *"+mpi.SSHAuthSecretName("")+"), with which all its nodes can be commanded; the agent gets the key of its own job by itself: remove it"),
	}
}
