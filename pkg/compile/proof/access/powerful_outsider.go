package access

import (
	"slices"

	"lockstep.dev/lockstep/pkg/compile/diag"
)

// reportPowerfulOutsider judges somebody who belongs to no tenant, outside of the namespaces of tenants. People, and accounts that nobody compiled,
// must not have what is banned for tenants: it leads into every namespace. The accounts of components do what their charts say, which
// is software that the platform team chose; a warning names those who could do everything. What an account may do in its own
// namespace is its own business.
func (r *proof) reportPowerfulOutsider(h *heldRoles) {
	if r.isEngine(h.Subject) {
		return
	}
	component := h.Kind == serviceAccount && slices.Contains(r.accounts, h.Subject)
	if component && h.Namespace == h.namespace {
		return
	}
	for _, by := range h.grants {
		switch right, why := r.powerfulRight(by, component); {
		case why == "":
			continue
		case component:
			r.list.Warnf(diag.ComponentPowerful, firstPlace(r.byNumber[by.role].patch, by.at), "the %s may `%s` in %s by the binding `%s`", h.Subject, right, scopeText(h.namespace), by.by).
				Notef("%s", why).Helpf("give the chart values that take it away, or accept it with a waiver in the spec of the cluster")
		default:
			r.errorf(diag.OutsiderPowerful, by, "the %s belongs to no tenant and may `%s` in %s by the binding `%s`", h.Subject, right, scopeText(h.namespace), by.by).
				Notef("%s", why).Helpf("take the binding out; who operates the platform gets rights from the cluster's own administration, not from here")
		}
		return
	}
}

// powerfulRight returns a right of a grant that leads into namespaces of tenants, and why it does. What is reported as a role of
// mpi-controller is not reported again.
func (r *proof) powerfulRight(by grant, component bool) (Right, string) {
	role, list := r.byNumber[by.role], bans
	if isControllerRole(role.name) {
		return Right{}, ""
	}
	if component {
		list = takeovers
	}
	for _, right := range role.rights {
		// One Secret by its name, such as the certificate of a webhook, is none of a job.
		if component && right.Name != "" {
			continue
		}
		if why := list.reasonAgainst(right); why != "" {
			return right, why
		}
	}
	return Right{}, ""
}

// isEngine reports whether a subject is the controller of the GitOps engine by which objects are applied. It must be able to make all of
// them: namespaces, roles and admission policies among them. These are the accounts of the engines' own installations
// (https://fluxcd.io/flux/security/, https://argo-cd.readthedocs.io/en/stable/operator-manual/security/, OpenShift GitOps).
func (r *proof) isEngine(s Subject) bool {
	g := r.plan.GitOps
	if g == nil || s.Kind != serviceAccount || s.Namespace != g.Namespace.V {
		return false
	}
	if g.Flux.V {
		return s.Name == "kustomize-controller" || s.Name == "helm-controller"
	}
	return s.Name == "argocd-application-controller" || s.Name == "openshift-gitops-argocd-application-controller"
}

// harmlessRoles are roles of Kubernetes and OpenShift that nobody compiles and charts bind: they look at the API itself, at metrics, or
// ask the API server who somebody is (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#default-roles-and-role-bindings).
var harmlessRoles = []string{
	"system:auth-delegator", "system:basic-user", "system:discovery", "system:monitoring", "system:public-info-viewer",
	"system:service-account-issuer-discovery", "system:volume-scheduler", "cluster-monitoring-view",
}
