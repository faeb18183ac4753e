package convert

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/mpi"
)

// What the platform has in the pods of a job (docs/admission.md). Nothing is mounted there, above or below.
var (
	platformVolumes = []string{mpi.AgentVolume, mpi.StateVolume, mpi.SSHAuthVolume, mpi.HostfileVolume, mpi.UserHomeVolume}
	platformFolders = []string{
		mpi.AgentDir + "/", mpi.SSHAuthMountPath + "/", strings.TrimPrefix(mpi.SSHAuthMountPath, "/var") + "/",
		mpi.StateDir + "/", "/var" + mpi.StateDir + "/", mpi.HostfileDir + "/", mpi.HostsPath + "/", "/proc/", "/sys/",
	}
	hiddenPath = regexp.MustCompile(`//|/[.][.]?(/|$)`)
)

// convertVolumes are mounted by patches; those that reach what is outside the namespace are not for users to mount.
func (c *converter) convertVolumes(spec *corev1.PodSpec, container *corev1.Container, path, at, to string, patch *podPatch) {
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		field := itemPath(path+".volumes", i)
		if note := c.whyRefusedVolume(v); note != "" {
			c.add(NotPossible, field, "", "%s", note)
			continue
		}
		if !slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == v.Name && whyRefusedMount(m) == "" }) {
			c.add(Differs, field, "", "nothing in the main container mounts it: left out")
			continue
		}
		patch.spec.Volumes = append(patch.spec.Volumes, *v)
		c.add(Carried, field, to+" volumes", "")
	}
	for i, mount := range container.VolumeMounts {
		field := itemPath(at+".volumeMounts", i)
		note := whyRefusedMount(mount)
		if note == "" && !slices.ContainsFunc(patch.spec.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name }) {
			note = "its volume `" + mount.Name + "` is not there"
		}
		if note != "" {
			c.add(NotPossible, field, "", "%s", note)
			continue
		}
		mount.MountPropagation = nil
		patch.container.VolumeMounts = append(patch.container.VolumeMounts, mount)
		c.add(Carried, field, to+" volumeMounts", "")
	}
}

// whyRefusedMount says why a volume is not mounted where it was.
func whyRefusedMount(mount corev1.VolumeMount) string {
	switch {
	case overlapsPlatformFolder(mount.MountPath):
		return "the platform has " + joinQuoted([]string{mpi.AgentDir, mpi.SSHAuthMountPath, mpi.StateDir, mpi.HostfileDir, mpi.HostsPath, "/proc", "/sys"}) + ": mount it elsewhere"
	case mount.MountPropagation != nil && *mount.MountPropagation != corev1.MountPropagationNone:
		return "pods do not pass mounts on to their machine"
	}
	return ""
}

// whyRefusedVolume says why a volume is not carried over.
func (c *converter) whyRefusedVolume(v *corev1.Volume) string {
	other := c.pods[mpi.LauncherJob].spec.Volumes
	clash := slices.IndexFunc(other, func(o corev1.Volume) bool { return o.Name == v.Name && !reflect.DeepEqual(&o, v) })
	source := v.VolumeSource
	switch {
	case slices.Contains(platformVolumes, v.Name) || v.Name == imageHome:
		return "the platform has a volume of this name: give it another"
	case clash >= 0 && c.choice.runtime.Spec.Launcher.RunsRanks:
		return "the launcher has another volume of this name, and is a node of this runtime: give it another"
	case source.Secret != nil && c.isJobKeySecret(source.Secret.SecretName):
		return "the key of a job is the agent's: remove it"
	case source.HostPath != nil && source.HostPath.Path == "/dev/shm":
		return "shared memory is `sharedMemory` of the profile, or an `emptyDir` with `medium: Memory`"
	case source.ConfigMap != nil, source.DownwardAPI != nil, source.EmptyDir != nil, source.Image != nil, source.PersistentVolumeClaim != nil, source.Secret != nil:
		return ""
	case source.Projected != nil:
		return c.whyRefusedSources(source.Projected.Sources)
	}
	return "reaches past the namespace; users mount configMap, downwardAPI, emptyDir, image, persistentVolumeClaim, projected and secret: ask the platform team for a claim (`storage` of the tenant)"
}

func (c *converter) whyRefusedSources(sources []corev1.VolumeProjection) string {
	for _, s := range sources {
		switch {
		case s.Secret != nil && c.isJobKeySecret(s.Secret.Name):
			return "the key of a job is the agent's: remove it"
		case s.ConfigMap == nil && s.DownwardAPI == nil && s.Secret == nil:
			return "projects what is not of the namespace; allowed are configMap, downwardAPI and secret"
		}
	}
	return ""
}

func (c *converter) isJobKeySecret(secret string) bool {
	return strings.HasSuffix(secret, mpi.SSHAuthSecretName("")) || secret == c.job.Name()+"-ssh"
}

// overlapsPlatformFolder reports whether a folder is one of the platform's, is in one or has one in it, or hides where it leads.
func overlapsPlatformFolder(path string) bool {
	folder := strings.TrimSuffix(path, "/") + "/"
	return !strings.HasPrefix(path, "/") || hiddenPath.MatchString(path) ||
		slices.ContainsFunc(platformFolders, func(own string) bool { return strings.HasPrefix(own, folder) || strings.HasPrefix(folder, own) })
}
