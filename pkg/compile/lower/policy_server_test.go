package lower_test

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"

	"lockstep.dev/lockstep/pkg/compile/decode"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/lower"
	"lockstep.dev/lockstep/pkg/compile/object"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/resolve"
	"lockstep.dev/lockstep/pkg/compile/source"
)

// planOf returns the plan of the one cluster of some specs.
func planOf(tb testing.TB, specs string) *plan.Cluster {
	tb.Helper()
	list := &diag.List{}
	documents := decode.Files([]*source.File{source.NewFile("specs.yaml", []byte(specs))}, list)
	plans := plan.Clusters(resolve.IndexDocuments(documents, list), "", list)
	for _, d := range list.Sorted() {
		tb.Errorf("%s %s", d.Span, d.Message)
	}
	if len(plans) != 1 {
		tb.Fatalf("%d plans", len(plans))
	}
	return plans[0]
}

// server is the part of an API server that judges by policies: the code of Kubernetes itself, with what CEL has on a server that
// is one version older than the oldest with policies, because new expressions must also work after a downgrade.
type server struct {
	policies map[string]admissionv1.ValidatingAdmissionPolicy
	compiled map[string]validating.Validator
}

func newServer(tb testing.TB, objects []object.Object) *server {
	tb.Helper()
	s := &server{policies: map[string]admissionv1.ValidatingAdmissionPolicy{}, compiled: map[string]validating.Validator{}}
	for _, o := range objects {
		if o.ID.Kind != "ValidatingAdmissionPolicy" {
			continue
		}
		var policy admissionv1.ValidatingAdmissionPolicy
		data, err := json.Marshal(o.Root.Value())
		if err != nil {
			tb.Fatal(err)
		}
		if err := json.Unmarshal(data, &policy); err != nil {
			tb.Fatal(err)
		}
		s.policies[policy.Name] = policy
		s.compiled[policy.Name] = compilePolicy(tb, &policy)
	}
	return s
}

// environment1_29 has no function that a server of version 1.30 might lack.
var environment1_29 = environment.MustBaseEnvSet(version.MajorMinor(1, 29))

func compilePolicy(tb testing.TB, policy *admissionv1.ValidatingAdmissionPolicy) validating.Validator {
	tb.Helper()
	compiler, err := plugincel.NewCompositedCompiler(environment1_29)
	if err != nil {
		tb.Fatal(err)
	}
	withAuthorizer := plugincel.OptionalVariableDeclarations{HasAuthorizer: true}
	for _, v := range policy.Spec.Variables {
		result := compiler.CompileAndStoreVariable(&validating.Variable{Name: v.Name, Expression: v.Expression}, withAuthorizer, environment.NewExpressions)
		if result.Error != nil {
			tb.Fatalf("%s: variable %s: %s\n%s", policy.Name, v.Name, result.Error.Detail, v.Expression)
		}
	}
	var validations, messages, conditions []plugincel.ExpressionAccessor
	for _, v := range policy.Spec.Validations {
		validations = append(validations, &validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason})
		messages = append(messages, &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression})
	}
	for i := range policy.Spec.MatchConditions {
		conditions = append(conditions, (*matchconditions.MatchCondition)(&policy.Spec.MatchConditions[i]))
	}
	filter := func(expressions []plugincel.ExpressionAccessor, authorizes bool) plugincel.ConditionEvaluator {
		evaluator := compiler.CompileCondition(expressions, plugincel.OptionalVariableDeclarations{HasAuthorizer: authorizes}, environment.NewExpressions)
		for _, err := range evaluator.CompilationErrors() {
			tb.Fatalf("%s: %v", policy.Name, err)
		}
		return evaluator
	}
	var matcher matchconditions.Matcher
	if len(conditions) > 0 {
		matcher = matchconditions.NewMatcher(filter(conditions, true), policy.Spec.FailurePolicy, "policy", "validate", policy.Name)
	}
	return validating.NewValidator(filter(validations, true), matcher, filter(nil, true), filter(messages, false), policy.Spec.FailurePolicy, nil)
}

// request is what somebody wants to do.
type request struct {
	operation   admission.Operation
	user        string
	before, now *unstructured.Unstructured
	subresource string
	resource    schema.GroupVersionResource
	kind        schema.GroupVersionKind
	namespace   *corev1.Namespace
	// allows answers what the user may do otherwise.
	allows bool
}

// Authorize answers everything with the same.
func (r *request) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	if r.allows {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionDeny, "", nil
}

// ask returns the message of the first validation that fails, or "". An error of an expression or of its message, or a budget that
// is spent, is a mistake of the policy.
func (s *server) ask(tb testing.TB, name string, r *request) string {
	tb.Helper()
	result := s.validate(tb, name, r, celconfig.RuntimeCELCostBudget)
	refusal := ""
	for _, d := range result.Decisions {
		switch {
		case d.Evaluation == validating.EvalError:
			tb.Errorf("%s cannot judge: %s", name, d.Message)
		case d.Action == validating.ActionDeny && refusal == "":
			refusal = d.Message
		}
	}
	if strings.Contains(refusal, "failed expression") {
		tb.Errorf("%s refuses without a message: %s", name, refusal)
	}
	return refusal
}

func (s *server) validate(tb testing.TB, name string, r *request, budget int64) validating.ValidateResult {
	tb.Helper()
	var before, now runtime.Object
	object := r.now
	if r.before != nil {
		before = r.before
	}
	if r.now != nil {
		now = r.now
	} else {
		object = r.before
	}
	namespace := ""
	if r.namespace != nil {
		namespace = r.namespace.Name
	}
	attributes := admission.NewAttributesRecord(now, before, r.kind, namespace, object.GetName(), r.resource, r.subresource, r.operation, &metav1.CreateOptions{}, false, &user.DefaultInfo{Name: r.user})
	return s.compiled[name].Validate(tb.Context(), r.resource, &admission.VersionedAttributes{
		Attributes: attributes, VersionedKind: r.kind, VersionedObject: now, VersionedOldObject: before,
	}, nil, r.namespace, budget, r)
}

// cost is what a request costs of the budget of 10,000,000 for one policy, found by trying budgets.
func (s *server) cost(tb testing.TB, name string, r *request) int64 {
	tb.Helper()
	low, high := int64(0), int64(math.MaxInt32)
	for low+1 < high {
		middle := (low + high) / 2
		enough := true
		for _, d := range s.validate(tb, name, r, middle).Decisions {
			enough = enough && d.Evaluation != validating.EvalError
		}
		if enough {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// namespaceOf returns a namespace as the compiler makes it.
func namespaceOf(tb testing.TB, c *plan.Cluster, name string) *corev1.Namespace {
	tb.Helper()
	for _, t := range c.Tenants {
		for _, o := range lower.TenantObjects(c, t, &diag.List{}) {
			if o.ID.Kind == "Namespace" && o.ID.Name == name {
				return decoded[corev1.Namespace](tb, o.Root.Value())
			}
		}
	}
	tb.Fatalf("no namespace %s", name)
	return nil
}

func decoded[T any](tb testing.TB, value any) *T {
	tb.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		tb.Fatal(err)
	}
	var result T
	if err := json.Unmarshal(data, &result); err != nil {
		tb.Fatal(err)
	}
	return &result
}
