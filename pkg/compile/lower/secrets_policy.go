package lower

import (
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/mpi"
)

// secretsPolicyName is the policy that keeps writers of Secrets from reading them.
const secretsPolicyName = "lockstep-secrets"

// mayNotReadSecrets is false for controllers of the platform, such as mpi-controller and the garbage collector.
const mayNotReadSecrets = `!authorizer.group('').resource('secrets').namespace(request.namespace)` +
	`.check('get').allowed()`

// secretsPolicy holds for writers of Secrets in namespaces of tenants who may not read them. Kubernetes fills a Secret
// of one type with a token of an account, which a job could mount. The key of a job commands all its nodes. The answer
// to a deletion that waits, for the garbage collector or a finalizer, holds the Secret.
func secretsPolicy() admissionPolicy {
	const waits = `(request.options.?propagationPolicy.orValue('Background') != 'Background'` +
		` || request.options.?orphanDependents.orValue(false)` +
		` || oldObject.metadata.?finalizers.orValue([]).size() > 0)`
	const filled = `object.?type.orValue('') == 'kubernetes.io/service-account-token'`
	return admissionPolicy{
		name:       secretsPolicyName,
		rules:      []object.Node{requestKind("", "v1", "secrets", "CREATE", "UPDATE", "DELETE")},
		conditions: []object.Node{matchCondition("may-not-read-secrets", mayNotReadSecrets)},
		validations: []object.Node{
			celValidation(`request.operation == 'DELETE' || !(`+filled+`)`,
				"the type of the Secret is filled with a token",
				"Secret `{request.name}` is of type kubernetes.io/service-account-token, which Kubernetes fills with a"+
					" token of an account: choose another type"),
			celValidation(`!request.name.endsWith('`+mpi.SSHAuthSecretName("")+`')`,
				"the Secret is the key of a job",
				"Secret `{request.name}` has the name of a key, which the platform makes for each job:"+
					" choose another name"),
			celValidation(`request.operation != 'DELETE' || !`+waits,
				"the answer to this deletion holds the Secret",
				"Secret `{request.name}` would be deleted later, and the answer hold it: delete it with"+
					" propagationPolicy Background, and ask the platform team to remove finalizers"),
		},
		namespaces: tenantSelector("namespaceSelector"),
	}
}
