package convert

import (
	"regexp"

	corev1 "k8s.io/api/core/v1"

	"lockstep.dev/lockstep/pkg/mpi"
)

// imageHome is the volume that brings back a folder of the image.
const imageHome = "image-home"

var userHome = regexp.MustCompile(`(^|[^\w/.-])` + regexp.QuoteMeta(mpi.UserHome) + `($|/|[^\w.-])`)

// isInUserHome reports whether a command calls what images of mpi-operator have in the home of their user. All pods of a TrainJob have an
// empty folder there, for the programs that Kubeflow's SDK writes.
func (c *converter) isInUserHome(text string) bool { return userHome.MatchString(text) }

// mountImageHome mounts the folder of the image where the empty one would be: an image volume of the same image.
func (c *converter) mountImageHome(path string) {
	c.add(Differs, path, "spec.runtimePatches", "the pods of a TrainJob have an empty folder at %s: the image's own is mounted there, read-only, which takes Kubernetes 1.35 or image volumes switched on", mpi.UserHome)
	for _, patch := range c.pods {
		patch.home = true
	}
}

func (c *converter) addHomeVolume(patch *podPatch) {
	if !patch.home {
		return
	}
	patch.spec.Volumes = append(patch.spec.Volumes, corev1.Volume{Name: imageHome, VolumeSource: corev1.VolumeSource{
		Image: &corev1.ImageVolumeSource{Reference: c.need.image},
	}})
	patch.container.VolumeMounts = append(patch.container.VolumeMounts, corev1.VolumeMount{
		Name: imageHome, MountPath: mpi.UserHome, SubPath: mpi.UserHome[1:], ReadOnly: true,
	})
}
