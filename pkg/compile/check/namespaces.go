package check

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// namespacesNotReserved keeps tenants out of namespaces that belong to Kubernetes
// (https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/), OpenShift and the platform.
func namespacesNotReserved(c *plan.Cluster, list *diag.List) {
	platform := c.PlatformNamespaces()
	for _, t := range c.Tenants {
		for _, namespace := range t.Namespaces {
			switch {
			case slices.Contains(platform, namespace.V):
				list.Errorf(diag.NamespaceTaken, namespace.At, "the namespace `%s` belongs to the platform", namespace.V).
					Helpf("choose another name")
			case reservedNamespace(namespace.V):
				list.Errorf(diag.ReservedName, namespace.At, "the namespace `%s` is reserved", namespace.V).
					Notef("reserved are `default`, `openshift` and all that begin with `kube-` or `openshift-`").
					Helpf("choose another name")
			}
		}
	}
}

func reservedNamespace(name string) bool {
	return name == "default" || name == "openshift" || strings.HasPrefix(name, "kube-") || strings.HasPrefix(name, "openshift-")
}
