package convert

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"lockstep.dev/lockstep/api/v1alpha1"
)

const (
	asUser   = "the pods run as it where the namespace's Pod Security admits it (not on OpenShift, which gives out users)"
	asRoot   = "pods of a tenant do not run as root, unless `podSecurity` of the tenant is `baseline`: let the image work for any user"
	restrict = "what Pod Security `restricted` asks for, and pods of a job have"
)

// convertPodSecurity carries users and groups over; what gives a pod more than they do is the runtime's to give.
func (c *converter) convertPodSecurity(s *corev1.PodSecurityContext, path, to string, patch *podPatch) {
	if s == nil {
		return
	}
	own := &corev1.PodSecurityContext{
		FSGroup: s.FSGroup, FSGroupChangePolicy: s.FSGroupChangePolicy, RunAsGroup: s.RunAsGroup,
		SupplementalGroups: s.SupplementalGroups, SupplementalGroupsPolicy: s.SupplementalGroupsPolicy,
	}
	to += " securityContext"
	own.RunAsUser, own.RunAsNonRoot = c.convertUser(s.RunAsUser, s.RunAsNonRoot, path, to)
	for _, field := range []string{"fsGroup", "fsGroupChangePolicy", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy"} {
		c.add(Carried, path+"."+field, to, "")
	}
	c.convertSeccomp(s.SeccompProfile, path)
	if !reflect.DeepEqual(own, &corev1.PodSecurityContext{}) {
		patch.spec.SecurityContext = own
	}
}

// convertContainerSecurity does the same for the main container.
func (c *converter) convertContainerSecurity(s *corev1.SecurityContext, path, to string, patch *podPatch) {
	if s == nil {
		return
	}
	own := &corev1.SecurityContext{RunAsGroup: s.RunAsGroup, ReadOnlyRootFilesystem: s.ReadOnlyRootFilesystem}
	to += " container securityContext"
	own.RunAsUser, own.RunAsNonRoot = c.convertUser(s.RunAsUser, s.RunAsNonRoot, path, to)
	c.add(Carried, path+".runAsGroup", to, "")
	c.add(Carried, path+".readOnlyRootFilesystem", to, "")
	c.convertSeccomp(s.SeccompProfile, path)
	c.convertPrivileges(s, path)
	if !reflect.DeepEqual(own, &corev1.SecurityContext{}) {
		patch.container.SecurityContext = own
	}
}

// convertUser returns what is carried over of a user and of the promise not to be root.
func (c *converter) convertUser(uid *int64, nonRoot *bool, path, to string) (*int64, *bool) {
	if tenant := c.need.tenant; uid != nil && *uid == 0 {
		if tenant == nil || tenant.Spec.PodSecurity != "baseline" {
			c.add(NotPossible, path+".runAsUser", "", asRoot)
			uid = nil
		} else {
			nonRoot = ptr.To(false)
		}
	}
	if uid != nil {
		c.add(Carried, path+".runAsUser", to, asUser)
	}
	if nonRoot != nil && !*nonRoot && (uid == nil || *uid != 0) {
		c.add(Differs, path+".runAsNonRoot", "", "pods of a job do not run as root")
		nonRoot = nil
	}
	c.addDefaultIf(nonRoot != nil && c.hasPath(path+".runAsNonRoot"), Carried, path+".runAsNonRoot", to, "")
	return uid, nonRoot
}

// noteImageUser: without a user in the MPIJob the image's counted, which is root in most images.
func (c *converter) noteImageUser(patch *podPatch, path string) {
	if pod := patch.spec.SecurityContext; pod != nil && pod.RunAsUser != nil || patch.container.SecurityContext != nil && patch.container.SecurityContext.RunAsUser != nil || c.hasPath(path+".runAsUser") {
		return
	}
	c.addDefault(Differs, path+".runAsUser", "", "pods run as a user without a name, not as the image's: what only root may write is not writable")
}

func (c *converter) convertSeccomp(profile *corev1.SeccompProfile, path string) {
	if profile != nil && profile.Type == corev1.SeccompProfileTypeRuntimeDefault {
		c.add(ByRuntime, path+".seccompProfile", "", restrict)
	}
}

func (c *converter) convertPrivileges(s *corev1.SecurityContext, path string) {
	switch {
	case isFalse(s.Privileged):
		c.add(ByRuntime, path+".privileged", "", restrict)
	case s.Privileged != nil:
		c.add(NotPossible, path+".privileged", "", "pods of a job have no privileges: devices and pinned memory come with the profile of the runtime")
	}
	switch {
	case isFalse(s.AllowPrivilegeEscalation):
		c.add(ByRuntime, path+".allowPrivilegeEscalation", "", restrict)
	case s.AllowPrivilegeEscalation != nil:
		c.add(Differs, path+".allowPrivilegeEscalation", "", "programs of a job gain no rights that their user lacks, such as by sudo")
	}
	if s.Capabilities == nil {
		return
	}
	c.add(ByRuntime, path+".capabilities.drop", "", restrict)
	for i, capability := range s.Capabilities.Add {
		at := itemPath(path+".capabilities.add", i)
		pins := c.choice.profile.Spec.Fabric.Type != v1alpha1.Ethernet && c.choice.profile.Spec.Fabric.LockedMemory != "Unlimited"
		if slices.Contains([]corev1.Capability{"IPC_LOCK", "CAP_IPC_LOCK"}, capability) && pins {
			c.add(ByRuntime, at, "HardwareProfile "+c.choice.profile.Metadata.Name, "comes with the fabric")
			continue
		}
		c.add(NotPossible, at, "", "pods of a job have no capability but IPC_LOCK, which comes with a profile whose fabric pins memory")
	}
}
