package lower

import (
	"strings"

	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/origin"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/mpi"
)

// Admission policies let the API server itself refuse what specs do not allow, without a webhook that can be down
// (https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/). What is the same for all tenants is
// constant in a policy; what differs is in annotations of the tenant's namespaces, which the API server hands to policies and which
// no tenant can write. So a tenant costs no object more (docs/decisions/2026-11-21-limits-by-admission-policy.md).
//
// Expressions use what CEL has in Kubernetes 1.30 and guard every optional field: an expression that fails refuses the request
// with words that nobody understands.
const admissionVersion = "admissionregistration.k8s.io/v1"

var (
	admissionRule   = origin.Rule("admission policy", "what specs declare holds in the cluster, whoever writes to it")
	failClosedRule  = origin.Rule("admission policy", "a request that cannot be judged is refused")
	expressionRule  = origin.Rule("admission policy", "the same for all clusters; what differs is in variables and in annotations of namespaces")
	messageRule     = origin.Rule("admission policy", "a refusal says what was asked, what is allowed and what to do")
	tenantsOnlyRule = origin.Rule("admission policy", "the policy is for the namespaces of tenants")
	denyBindingRule = origin.Rule("admission policy binding", "a policy does nothing until a binding says where it holds")
	forbiddenReason = origin.Rule("admission policy", "a limit of the platform is answered as a quota is")
	celVariableRule = origin.Rule("admission policy", "a value that several expressions share")
)

// admissionPolicies adds the policies of a cluster and their bindings.
func (b *builder) admissionPolicies(c *plan.Cluster) {
	if !c.AdmissionPolicies() {
		return
	}
	platform := b.place
	defer func() { b.place = platform }()
	b.place.File = AdmissionFile
	b.addAdmissionPolicy(trainJobPolicy(c))
	b.addAdmissionPolicy(affinityPolicy())
	if c.PinsMemory() {
		b.addAdmissionPolicy(podPolicy(c))
	}
	if c.WritesSecrets() != nil {
		b.addAdmissionPolicy(secretsPolicy())
	}
	b.addAdmissionPolicy(ownershipPolicy())
	b.addAdmissionPolicy(tenantLabelPolicy())
	b.addAdmissionPolicy(deprecatedRuntimePolicy("lockstep-runtime-deprecated", "ClusterTrainingRuntime"))
	b.addAdmissionPolicy(deprecatedRuntimePolicy("lockstep-variant-deprecated", "TrainingRuntime"))
	b.trainJobLabelPolicy(c)
}

// admissionPolicy is a ValidatingAdmissionPolicy and the one binding that switches it on.
type admissionPolicy struct {
	name string
	// rules say which requests are looked at, selector which objects, conditions which of those that remain.
	rules      []object.Node
	selector   object.Node
	conditions []object.Node
	variables  []object.Node
	// validations are evaluated all, and the message of the first that fails is the answer.
	validations []object.Node
	// namespaces select where the policy holds; nothing means everywhere.
	namespaces object.Node
	// deprecated is a kind of runtimes. A policy with one only warns, and has each deprecated runtime as a parameter.
	deprecated string
}

func (b *builder) addAdmissionPolicy(p admissionPolicy) {
	onFailure, parameters := object.Text("failurePolicy", "Fail", failClosedRule), object.Node{}
	action, chosen := "Deny", object.Node{}
	if p.deprecated != "" {
		onFailure, action = object.Text("failurePolicy", "Ignore", warnsRule), "Warn"
		parameters = object.Map("paramKind", object.Text("apiVersion", "trainer.kubeflow.org/v1alpha1", nil),
			object.Text("kind", p.deprecated, nil)).With(warnsRule)
		chosen = object.Map("paramRef", object.Text("parameterNotFoundAction", "Allow", nil),
			labelIsSelector("selector", mpi.SupportLabel, mpi.Deprecated)).With(warnsRule)
	}
	b.add(admissionRule, admissionVersion, "ValidatingAdmissionPolicy",
		platformMeta(constantText(p.name)),
		object.Map("spec",
			onFailure,
			listOrNothing("matchConditions", p.conditions),
			object.Map("matchConstraints", object.List("resourceRules", p.rules...), p.selector),
			parameters,
			listOrNothing("validations", p.validations),
			listOrNothing("variables", p.variables)))
	resources := object.Node{}
	if p.namespaces.Kind != object.Nothing {
		resources = object.Map("matchResources", p.namespaces)
	}
	b.add(denyBindingRule, admissionVersion, "ValidatingAdmissionPolicyBinding",
		platformMeta(constantText(p.name)),
		object.Map("spec",
			resources, chosen, object.Text("policyName", p.name, nil), object.Texts("validationActions", nil, action)))
}

func listOrNothing(key string, items []object.Node) object.Node {
	if len(items) == 0 {
		return object.Node{}
	}
	return object.List(key, items...)
}

// requestKind is a kind of request that a policy looks at.
func requestKind(group, version, resource string, operations ...string) object.Node {
	return object.Map("",
		object.Texts("apiGroups", nil, group), object.Texts("apiVersions", nil, version),
		object.Texts("operations", nil, operations...), object.Texts("resources", nil, resource))
}

// celVariable is a CEL expression with a name. It is evaluated when it is first needed, and once per request.
func celVariable(name, expression string) object.Node {
	return celVariableFrom(name, expression, celVariableRule)
}

func celVariableFrom(name, expression string, from *origin.Origin) object.Node {
	return object.Map("", object.Text("name", name, celVariableRule), object.Text("expression", expression, from))
}

func matchCondition(name, expression string) object.Node {
	return object.Map("", object.Text("name", name, nil), object.Text("expression", expression, expressionRule))
}

// celValidation refuses a request for which the CEL expression is false, with a message whose parts in braces are CEL expressions too.
// The API server evaluates the message of a request that passes as well. The summary stands in should a message fail.
func celValidation(expression, summary, message string) object.Node {
	return object.Map("",
		object.Text("expression", expression, expressionRule),
		object.Text("message", summary, messageRule),
		object.Text("messageExpression", celConcatenation(message), messageRule),
		object.Text("reason", "Forbidden", forbiddenReason))
}

// celConcatenation is a text with expressions in braces as one CEL expression.
func celConcatenation(text string) string {
	var parts []string
	for text != "" {
		literal, rest, found := strings.Cut(text, "{")
		if literal != "" {
			parts = append(parts, celString(literal))
		}
		if !found {
			break
		}
		expression, after, _ := strings.Cut(rest, "}")
		parts = append(parts, "string("+expression+")")
		text = after
	}
	return strings.Join(parts, " + ")
}

var celEscapes = strings.NewReplacer(`\`, `\\`, `'`, `\'`)

// celString is a string literal of CEL.
func celString(value string) string { return "'" + celEscapes.Replace(value) + "'" }

// tenantSelector selects the namespaces or objects of tenants.
func tenantSelector(key string) object.Node {
	return object.Map(key, object.List("matchExpressions", object.Map("",
		object.Text("key", mpi.TenantLabel, nil), object.Text("operator", "Exists", nil)))).With(tenantsOnlyRule)
}

func labelIsSelector(key, label, value string) object.Node {
	return object.Map(key, object.Map("matchLabels", object.Text(label, value, nil)))
}
