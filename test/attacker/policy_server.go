package attacker

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

// PlanOf returns the plan of the one cluster of some specs.
func PlanOf(tb testing.TB, specs string) *plan.Cluster {
	tb.Helper()
	list := &diag.List{}
	documents := decode.Files([]*source.File{source.NewFile("specs.yaml", []byte(specs))}, list)
	plans := plan.Clusters(resolve.IndexDocuments(documents, list), "")
	for _, d := range list.Sorted() {
		tb.Errorf("%s %s", d.Span, d.Message)
	}
	if len(plans) != 1 {
		tb.Fatalf("%d plans", len(plans))
	}
	return plans[0]
}

// Server is the part of an API server that judges by policies: the code of Kubernetes itself, with what CEL has on a server that
// is one version older than the oldest with policies, because new expressions must also work after a downgrade.
type Server struct {
	policies map[string]admissionv1.ValidatingAdmissionPolicy
	compiled map[string]validating.Validator
}

// NewServer compiles the policies among some objects. One that does not compile ends the test.
func NewServer(tb testing.TB, objects []object.Object) *Server {
	tb.Helper()
	s := &Server{policies: map[string]admissionv1.ValidatingAdmissionPolicy{}, compiled: map[string]validating.Validator{}}
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

// Has reports whether the cluster has a policy.
func (s *Server) Has(name string) bool {
	_, found := s.policies[name]
	return found
}

// environment1_29 has no function that a server of version 1.30 might lack.
var environment1_29 = environment.MustBaseEnvSet(version.MajorMinor(1, 29))

func compilePolicy(tb testing.TB, policy *admissionv1.ValidatingAdmissionPolicy) validating.Validator {
	tb.Helper()
	compiler, err := plugincel.NewCompositedCompiler(environment1_29)
	if err != nil {
		tb.Fatal(err)
	}
	withAuthorizer := plugincel.OptionalVariableDeclarations{HasAuthorizer: true, HasParams: policy.Spec.ParamKind != nil}
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
		declared := plugincel.OptionalVariableDeclarations{HasAuthorizer: authorizes, HasParams: withAuthorizer.HasParams}
		evaluator := compiler.CompileCondition(expressions, declared, environment.NewExpressions)
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

// Request is what somebody wants to do.
type Request struct {
	Operation   admission.Operation
	User        string
	Before, Now *unstructured.Unstructured
	Subresource string
	Resource    schema.GroupVersionResource
	Kind        schema.GroupVersionKind
	Namespace   *corev1.Namespace
	// Parameter is the object that the binding hands to the policy, nil without one.
	Parameter *unstructured.Unstructured
	// Allows answers what the user may do otherwise.
	Allows bool
}

// Authorize answers everything with the same.
func (r *Request) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	if r.Allows {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionDeny, "", nil
}

// Ask returns the message of the first validation that fails, or "". An error of an expression or of its message, or a budget that
// is spent, is a mistake of the policy.
func (s *Server) Ask(tb testing.TB, name string, r *Request) string {
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

func (s *Server) validate(tb testing.TB, name string, r *Request, budget int64) validating.ValidateResult {
	tb.Helper()
	var before, now, parameter runtime.Object
	object := r.Now
	if r.Before != nil {
		before = r.Before
	}
	if r.Now != nil {
		now = r.Now
	} else {
		object = r.Before
	}
	if r.Parameter != nil {
		parameter = r.Parameter
	}
	namespace := ""
	if r.Namespace != nil {
		namespace = r.Namespace.Name
	}
	attributes := admission.NewAttributesRecord(now, before, r.Kind, namespace, object.GetName(), r.Resource, r.Subresource, r.Operation, &metav1.CreateOptions{}, false, &user.DefaultInfo{Name: r.User})
	return s.compiled[name].Validate(tb.Context(), r.Resource, &admission.VersionedAttributes{
		Attributes: attributes, VersionedKind: r.Kind,
		VersionedObject: admission.NewLazyObject(now), VersionedOldObject: admission.NewLazyObject(before),
	}, parameter, r.Namespace, budget, r)
}

// Cost is what a request costs of the budget of 10,000,000 for one policy, found by trying budgets.
func (s *Server) Cost(tb testing.TB, name string, r *Request) int64 {
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

// NamespaceOf returns a namespace as the compiler makes it.
func NamespaceOf(tb testing.TB, c *plan.Cluster, name string) *corev1.Namespace {
	tb.Helper()
	for _, t := range c.Tenants {
		for _, o := range lower.TenantObjects(c, t, &diag.List{}) {
			if o.ID.Kind == "Namespace" && o.ID.Name == name {
				return Decoded[corev1.Namespace](tb, o.Root.Value())
			}
		}
	}
	tb.Fatalf("no namespace %s", name)
	return nil
}

// Decoded is a value as a type of the API has it.
func Decoded[T any](tb testing.TB, value any) *T {
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
