package rule

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/semdiff/match"
)

// Kinds, groups, labels and annotations that several rules look at.
const (
	rbacGroup = "rbac.authorization.k8s.io"
	argoGroup = "argoproj.io"

	// constraintKind is the kind by which OpenShift bounds pods.
	constraintKind = "SecurityContextConstraints"

	// managedByLabel is on objects that only the platform team may change.
	managedByLabel = "app.kubernetes.io/managed-by"

	// runtimesAnnotation is on the namespaces of a tenant: the runtimes that it may use; externalAnnotation has those that others installed.
	runtimesAnnotation = "lockstep.dev/runtimes"
	externalAnnotation = "lockstep.dev/external-runtimes"

	// fluxPrune and argoOptions keep an object.
	fluxPrune   = "kustomize.toolkit.fluxcd.io/prune"
	argoOptions = "argocd.argoproj.io/sync-options"
)

func isRuntime(c *match.Change) bool { return slices.Contains(match.RuntimeKinds, c.Kind()) }

func isWorkload(o *object.Object) bool { return slices.Contains(match.WorkloadKinds, o.ID.Kind) }

func hasPods(o *object.Object) bool { return slices.Contains(match.PodKinds, o.ID.Kind) }

func isPolicy(c *match.Change) bool {
	return c.Kind() == "NetworkPolicy" && c.Object().ID.Group == "networking.k8s.io"
}
