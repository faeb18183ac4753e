package check

import (
	"slices"
	"strings"

	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/plan"
)

// namespacesNotReserved keeps tenants and the platform out of namespaces that belong to Kubernetes
// (https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/) or OpenShift: the compiler makes every namespace
// that it uses, with Pod Security of its own choice. Tenants stay out of the platform's and of the cluster's DNS as well.
func namespacesNotReserved(c *plan.Cluster, list *diag.List) {
	platform := c.PlatformNamespaces()
	notReserved(c.ControllerNamespace, list)
	for _, component := range c.Components {
		if component.Namespace.V != c.ControllerNamespace.V {
			notReserved(component.Namespace, list)
		}
	}
	for _, t := range c.Tenants {
		for _, namespace := range t.Namespaces {
			switch {
			case reservedNamespace(namespace.V):
				notReserved(namespace, list)
			case slices.ContainsFunc(platform, func(own plan.Value[string]) bool { return own.V == namespace.V }):
				list.Errorf(diag.NamespaceTaken, namespace.At, "the namespace `%s` belongs to the platform", namespace.V).
					Helpf("choose another name")
			case namespace.V == c.DNS.Namespace.V:
				list.Errorf(diag.NamespaceTaken, namespace.At, "the namespace `%s` is that of the cluster's DNS", namespace.V).
					Also(c.DNS.Namespace.At, "named here").Helpf("choose another name")
			}
		}
	}
}

func notReserved(namespace plan.Value[string], list *diag.List) {
	if reservedNamespace(namespace.V) {
		list.Errorf(diag.ReservedName, namespace.At, "the namespace `%s` is reserved", namespace.V).
			Notef("reserved are `default`, `openshift` and all that begin with `kube-` or `openshift-`").
			Helpf("choose another name")
	}
}

func reservedNamespace(name string) bool {
	return name == "default" || name == "openshift" || strings.HasPrefix(name, "kube-") || strings.HasPrefix(name, "openshift-")
}
