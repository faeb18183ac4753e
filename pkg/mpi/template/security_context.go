package template

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// podSecurity and userContainerSecurity together are what PodSecurity `restricted` asks for
// (https://kubernetes.io/docs/concepts/security/pod-security-standards/). No UID is set where the platform assigns one:
// OpenShift's restricted-v2 refuses a fixed UID.
func (r Runtime) podSecurity() *corev1.PodSecurityContext {
	context := &corev1.PodSecurityContext{
		RunAsNonRoot:   ptr.To(true),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if r.User != nil {
		context.RunAsUser = ptr.To(r.User.UID)
		context.RunAsGroup = ptr.To(r.User.GID)
		context.FSGroup = ptr.To(r.User.FSGroup)
	}
	return context
}

func userContainerSecurity() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// agentContainerSecurity is userContainerSecurity for containers with our own image, which write to their mounts only. What a user's image
// writes, and where, is not ours to say.
func agentContainerSecurity() *corev1.SecurityContext {
	context := userContainerSecurity()
	context.ReadOnlyRootFilesystem = ptr.To(true)
	return context
}

// mainContainerResources are those of the main container: all but CPU limited, and CPU where the runtime has a limit for it.
func (r Runtime) mainContainerResources(list corev1.ResourceList) corev1.ResourceRequirements {
	result := limitAllButCPU(list)
	if !r.CPULimit.IsZero() {
		result.Limits[corev1.ResourceCPU] = r.CPULimit
	}
	return result
}

// limitAllButCPU reserves resources and caps all of them but CPU: a CPU limit of that size would throttle ranks that wait for each other,
// while unused cores stay idle. Memory and devices cannot be shared, so request and limit are equal.
func limitAllButCPU(resources corev1.ResourceList) corev1.ResourceRequirements {
	limits := corev1.ResourceList{}
	for name, quantity := range resources {
		if name != corev1.ResourceCPU {
			limits[name] = quantity
		}
	}
	return corev1.ResourceRequirements{Requests: resources, Limits: limits}
}

// installResources is what copying the agent takes. A quota counts it only where it is more than the main container.
func installResources() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("50m"),
		corev1.ResourceMemory: resource.MustParse("32Mi"),
	}
}
