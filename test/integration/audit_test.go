package integration

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// auditEntry is what this suite reads of an audit event (k8s.io/apiserver pkg/apis/audit).
type auditEntry struct {
	Verb                   string
	User, ImpersonatedUser struct{ Username string }
	RequestObject          json.RawMessage
	ObjectRef              struct {
		APIGroup, Resource, Subresource, Namespace, Name string
	}
	ResponseStatus struct {
		Code    int
		Message string
	}
}

func (e auditEntry) write() bool {
	return !slices.Contains([]string{"get", "list", "watch"}, e.Verb)
}

// right is a verb on a resource of a group, as RBAC spells it.
func (e auditEntry) right() string {
	resource := e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		resource += "/" + e.ObjectRef.Subresource
	}
	return fmt.Sprintf("%s %s.%s", e.Verb, resource, e.ObjectRef.APIGroup)
}

// auditEntries are what the controller asked of the API server, in order.
func auditEntries() []auditEntry {
	GinkgoHelper()
	return audited(func(e auditEntry) bool {
		return strings.HasSuffix(e.User.Username, ":mpi-controller") && e.ObjectRef.Resource != ""
	})
}

// audited are the entries of the log that are wanted, in order.
func audited(wanted func(auditEntry) bool) []auditEntry {
	GinkgoHelper()
	file, err := os.Open(auditLog)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = file.Close() }()
	var entries []auditEntry
	const longest = 1 << 20
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, longest)
	for lines.Scan() {
		var entry auditEntry
		Expect(json.Unmarshal(lines.Bytes(), &entry)).To(Succeed())
		if wanted(entry) {
			entries = append(entries, entry)
		}
	}
	Expect(lines.Err()).NotTo(HaveOccurred())
	return entries
}

var _ = Describe("The audit log", func() {
	It("tells who did what to a job, also where a service acts for a person", func(ctx SpecContext) {
		config := rest.CopyConfig(environment.Config)
		config.Impersonate = rest.ImpersonationConfig{UserName: "ada@example.com", Groups: []string{"system:masters"}}
		ada := newClient(config)
		trainJob := trainJobNamed(newNamespace(ctx), "watched")
		trainJob.Spec.RuntimeRef.Name = "somebody-elses"
		Expect(ada.Create(ctx, trainJob)).To(Succeed())
		Expect(ada.Patch(ctx, trainJob, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":true}}`)))).To(Succeed())
		Expect(ada.Delete(ctx, trainJob)).To(Succeed())
		var told []string
		for _, e := range audited(func(e auditEntry) bool {
			return e.ImpersonatedUser.Username == "ada@example.com" && e.ObjectRef.Resource == "trainjobs" && e.ObjectRef.Namespace == trainJob.Namespace
		}) {
			told = append(told, fmt.Sprint(e.Verb, " ", e.ResponseStatus.Code))
			if e.Verb == "patch" {
				Expect(e.RequestObject).To(MatchJSON(`{"spec":{"suspend":true}}`))
			}
		}
		Expect(told).To(Equal([]string{"create 201", "patch 200", "delete 200"}))
	})
})

// asides are rights that no request of the controller shows.
var asides = map[string]string{
	"update trainjobs/finalizers.trainer.kubeflow.org": "admission asks whether the controller has it when an owner reference blocks deletion",
}

// expectExactRights compares what the controller asked for, from an entry on, with the rules of its chart: nothing was
// refused, and nothing is granted that was not used.
func expectExactRights(values map[string]any, from int) {
	GinkgoHelper()
	used := map[string]bool{}
	var refused []string
	for _, entry := range auditEntries()[from:] {
		used[entry.right()] = true
		if entry.ResponseStatus.Code == http.StatusForbidden && strings.Contains(entry.ResponseStatus.Message, "cannot "+entry.Verb) {
			refused = append(refused, entry.right())
		}
	}
	Expect(refused).To(BeEmpty(), "a verb is missing in the chart")
	var unused []string
	for _, right := range granted(values) {
		// Informers watch, and list only where an API server does not stream lists.
		streamed := strings.HasPrefix(right, "list ") && used["watch "+strings.TrimPrefix(right, "list ")]
		if !used[right] && !streamed && asides[right] == "" {
			unused = append(unused, right)
		}
	}
	Expect(unused).To(BeEmpty(), "the chart grants what nobody uses; used were:\n%s", strings.Join(slices.Sorted(maps.Keys(used)), "\n"))
}

func granted(values map[string]any) []string {
	objects, err := render(values)
	Expect(err).NotTo(HaveOccurred())
	rights := map[string]bool{}
	for _, object := range objects {
		if object.GetKind() == "ClusterRole" || object.GetKind() == "Role" {
			for _, right := range rightsIn(object) {
				rights[right] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(rights))
}

// rightsIn are the rights of a role, as RBAC spells them.
func rightsIn(object *unstructured.Unstructured) []string {
	var rights []string
	for _, rule := range rulesOf(object) {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					rights = append(rights, fmt.Sprintf("%s %s.%s", verb, resource, group))
				}
			}
		}
	}
	return rights
}

func rulesOf(object *unstructured.Unstructured) []rbacv1.PolicyRule {
	role := &rbacv1.ClusterRole{}
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role)).To(Succeed())
	return role.Rules
}
