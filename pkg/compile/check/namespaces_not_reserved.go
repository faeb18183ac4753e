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
	namespaceNotReserved(c.ControllerNamespace, list)
	for _, component := range c.Components {
		if component.Namespace.V != c.ControllerNamespace.V {
			namespaceNotReserved(component.Namespace, list)
		}
	}
	for _, t := range c.Tenants {
		for _, namespace := range t.Namespaces {
			switch {
			case isReservedNamespace(namespace.V):
				namespaceNotReserved(namespace, list)
			case slices.ContainsFunc(platform, func(own plan.Value[string]) bool { return own.V == namespace.V }):
				list.Errorf(diag.NamespaceTaken, namespace.At, "the namespace `%s` belongs to the platform", namespace.V).
					Helpf("choose another name")
			case operators[namespace.V] != "" && !isEngineNamespace(c, namespace.V):
				list.Errorf(diag.NamespaceTaken, namespace.At, "the namespace `%s` is that of %s", namespace.V, operators[namespace.V]).
					Notef("who may open a shell there has the rights of its controllers, in the whole cluster").
					Helpf("choose another name")
			case reservedNameEntry(c, namespace.V) != nil:
				by := reservedNameEntry(c, namespace.V)
				list.Errorf(diag.ReservedName, namespace.At, "the namespace `%s` is reserved on the cluster `%s`", namespace.V, c.Name.V).
					Also(by.At, "`%s` is reserved here", by.V).Helpf("choose another name")
			case namespace.V == c.DNS.Namespace.V:
				list.Errorf(diag.NamespaceTaken, namespace.At, "the namespace `%s` is that of the cluster's DNS", namespace.V).
					Also(c.DNS.Namespace.At, "named here").Helpf("choose another name")
			}
		}
	}
}

func namespaceNotReserved(namespace plan.Value[string], list *diag.List) {
	if isReservedNamespace(namespace.V) {
		list.Errorf(diag.ReservedName, namespace.At, "the namespace `%s` is reserved", namespace.V).
			Notef("reserved are `default`, `openshift` and all that begin with `kube-` or `openshift-`").
			Helpf("choose another name")
	}
}

// reservedNameEntry returns the entry by which a cluster keeps a name from tenants, or nil.
func reservedNameEntry(c *plan.Cluster, name string) *plan.Value[string] {
	for i := range c.Reserved {
		beginning, open := strings.CutSuffix(c.Reserved[i].V, "*")
		if beginning == name || open && strings.HasPrefix(name, beginning) {
			return &c.Reserved[i]
		}
	}
	return nil
}

func isReservedNamespace(name string) bool {
	return name == "default" || name == "openshift" || strings.HasPrefix(name, "kube-") || strings.HasPrefix(name, "openshift-")
}

// operators are the namespaces into which what compiled objects need is installed by default. None of them is compiled, so that no
// spec names them, and the admins of a tenant may exec into the pods of its namespaces: in those of a controller with rights in the
// whole cluster (https://kueue.sigs.k8s.io/docs/installation/, https://www.kubeflow.org/docs/components/trainer/operator-guides/installation/,
// https://jobset.sigs.k8s.io/docs/installation/, https://volcano.sh/en/docs/installation/,
// https://github.com/kubernetes-sigs/scheduler-plugins/blob/master/doc/install.md, https://docs.nvidia.com/datacenter/cloud-native/,
// https://fluxcd.io/flux/installation/, https://argo-cd.readthedocs.io/en/stable/getting_started/, Red Hat OpenShift AI's and Open Data
// Hub's default projects).
var operators = map[string]string{
	"kueue-system":                "Kueue",
	"kubeflow-system":             "Kubeflow Trainer",
	"kubeflow":                    "Kubeflow",
	"jobset-system":               "JobSet",
	"volcano-system":              "Volcano",
	"scheduler-plugins":           "Coscheduling",
	"gpu-operator":                "the NVIDIA GPU Operator",
	"nvidia-gpu-operator":         "the NVIDIA GPU Operator",
	"nvidia-network-operator":     "the NVIDIA Network Operator",
	"flux-system":                 "Flux",
	"argocd":                      "Argo CD",
	"redhat-ods-applications":     "OpenShift AI",
	"redhat-ods-operator":         "OpenShift AI",
	"redhat-ods-monitoring":       "OpenShift AI",
	"opendatahub":                 "Open Data Hub",
	"opendatahub-operator-system": "Open Data Hub",
}

// isEngineNamespace reports whether engineNamespacesNotTaken reports the namespace, with the place where it is chosen.
func isEngineNamespace(c *plan.Cluster, namespace string) bool {
	return c.GitOps != nil && c.GitOps.Namespace.V == namespace || c.Monitoring != nil && c.Monitoring.Namespace.V == namespace
}
