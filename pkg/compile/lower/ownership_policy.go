package lower

import (
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/mpi"
)

const (
	ownershipPolicyName   = "lockstep-ownership"
	tenantLabelPolicyName = "lockstep-tenant-label"
)

// people are users, and what runs in the namespace that the request is about. Everybody else whose name begins with `system:` is a
// part of the platform: the GitOps engine, controllers that keep finalizers and status, kubelets.
const people = `!request.userInfo.username.startsWith('system:') || request.userInfo.username.startsWith('system:serviceaccount:' + request.?namespace.orValue('') + ':')`

// mayChangePolicies is true for whoever may change the policy itself, and could switch it off anyway: cluster administrators, and
// those to whom they gave it. So nobody can be locked out, and no list of names grows old.
const mayChangePolicies = `authorizer.group('admissionregistration.k8s.io').resource('validatingadmissionpolicies').name('` +
	ownershipPolicyName + `').check('update').allowed()`

// ownershipPolicy keeps people from changing what is compiled: the next sync would undo it, and until then the cluster is not what
// was reviewed. It names no kinds: a kind that is compiled one day is protected from that day on.
func ownershipPolicy() admissionPolicy {
	return admissionPolicy{
		name:     ownershipPolicyName,
		rules:    []object.Node{requestKind("*", "*", "*", "UPDATE", "DELETE")},
		selector: labelIsSelector("objectSelector", managedByLabel, managedBy),
		conditions: []object.Node{
			matchCondition("people", people),
			matchCondition("not-the-platform-team", "!"+mayChangePolicies),
		},
		validations: []object.Node{celValidation("false",
			"the object is compiled from a repository: change the spec there",
			"{request.userInfo.username} may not {request.operation == 'DELETE' ? 'delete' : 'change'} {request.kind.kind} `{request.name}`, which is compiled"+
				" (label "+managedByLabel+"="+managedBy+"): change its spec in the repository of the platform, or ask the platform team")},
	}
}

// tenantLabelPolicy keeps a namespace with its tenant. Another value would hand running jobs, volumes and secrets of one team to
// another, so that even the GitOps engine must not write it.
func tenantLabelPolicy() admissionPolicy {
	const before = `oldObject.metadata.?labels[?'` + mpi.TenantLabel + `'].orValue('')`
	const after = `object.metadata.?labels[?'` + mpi.TenantLabel + `'].orValue('')`
	return admissionPolicy{
		name:     tenantLabelPolicyName,
		rules:    []object.Node{requestKind("", "v1", "namespaces", "UPDATE")},
		selector: tenantSelector("objectSelector"),
		validations: []object.Node{celValidation(before+" == '' || "+before+" == "+after,
			"the label "+mpi.TenantLabel+" of a namespace cannot change",
			"the label "+mpi.TenantLabel+" of namespace `{request.name}` is `{"+before+"}` and cannot become `{"+after+"}`:"+
				" its jobs, volumes and secrets would go to another team; delete the namespace, and it is made again for the other tenant")},
	}
}
