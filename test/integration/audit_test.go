package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	jobsaudit "lockstep.dev/lockstep/pkg/jobs/audit"
	"lockstep.dev/lockstep/test/audit"
)

// auditEntries are what the controller asked of the API server, in order.
func auditEntries() []audit.Entry {
	GinkgoHelper()
	return audited(func(e audit.Entry) bool {
		return strings.HasSuffix(e.User.Username, ":mpi-controller") && e.ObjectRef.Resource != ""
	})
}

// audited are the entries of the log that are wanted, in order.
func audited(wanted func(audit.Entry) bool) []audit.Entry {
	GinkgoHelper()
	file, err := os.Open(auditLog)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = file.Close() }()
	entries, err := audit.Read(file, wanted)
	Expect(err).NotTo(HaveOccurred())
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
		for _, e := range audited(func(e audit.Entry) bool {
			return e.ImpersonatedUser.Username == "ada@example.com" && e.ObjectRef.Resource == "trainjobs" && e.ObjectRef.Namespace == trainJob.Namespace
		}) {
			told = append(told, fmt.Sprint(e.Verb, " ", e.ResponseStatus.Code))
			if e.Verb == "patch" {
				Expect(e.RequestObject).To(MatchJSON(`{"spec":{"suspend":true}}`))
			}
		}
		Expect(told).To(Equal([]string{"create 201", "patch 200", "delete 200"}))
	})

	It("tells the end of a job, in the words of its status", func(ctx SpecContext) {
		trainJob := trainJobNamed(newNamespace(ctx), "ended")
		trainJob.Spec.RuntimeRef.Name = "somebody-elses"
		Expect(admin.Create(ctx, trainJob)).To(Succeed())
		end := metav1.Condition{Type: trainer.TrainJobFailed, Status: metav1.ConditionTrue, Reason: "RankFailed", Message: "rank 3 exited with code 3", LastTransitionTime: metav1.Now()}
		text, err := json.Marshal([]any{map[string]any{"op": "add", "path": "/status", "value": trainer.TrainJobStatus{Conditions: []metav1.Condition{end}}}})
		Expect(err).NotTo(HaveOccurred())
		Expect(admin.Status().Patch(ctx, trainJob, client.RawPatch(types.JSONPatchType, text))).To(Succeed())
		told := audited(func(e audit.Entry) bool {
			return e.ObjectRef.Subresource == "status" && e.ObjectRef.Namespace == trainJob.Namespace
		})
		Expect(told).To(HaveLen(1))
		Expect(string(told[0].RequestObject)).To(And(ContainSubstring("RankFailed"), ContainSubstring("rank 3 exited with code 3")))
	})
})

// ends are how the lives of jobs end in the audit log.
var ends = []string{trainer.TrainJobComplete, trainer.TrainJobFailed}

var _ = Describe("kubectl mpi audit", func() {
	It("follows twenty lives, with the person behind a service, when all jobs are gone", func(ctx SpecContext) {
		config := rest.CopyConfig(environment.Config)
		config.Impersonate = rest.ImpersonationConfig{UserName: "ada@example.com", Groups: []string{"system:masters"}}
		ada, namespace := newClient(config), newNamespace(ctx)
		var want []string
		for i := range 20 {
			trainJob := trainJobNamed(namespace, fmt.Sprintf("life-%02d", i))
			trainJob.Spec.RuntimeRef.Name = "somebody-elses"
			Expect(ada.Create(ctx, trainJob)).To(Succeed())
			told := []string{jobsaudit.Created}
			if i%2 == 0 {
				for _, suspend := range []bool{true, false} {
					Expect(ada.Patch(ctx, trainJob, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"suspend":%v}}`, suspend)))).To(Succeed())
				}
				told = append(told, jobsaudit.Suspend, jobsaudit.Resume)
			}
			end := metav1.Condition{Type: ends[i%3%2], Status: metav1.ConditionTrue, Reason: "Told", Message: "by its status", LastTransitionTime: metav1.Now()}
			text, err := json.Marshal([]any{map[string]any{"op": "add", "path": "/status", "value": trainer.TrainJobStatus{Conditions: []metav1.Condition{end}}}})
			Expect(err).NotTo(HaveOccurred())
			Expect(ada.Status().Patch(ctx, trainJob, client.RawPatch(types.JSONPatchType, text))).To(Succeed())
			Expect(ada.Delete(ctx, trainJob)).To(Succeed())
			for _, what := range append(told, end.Type, jobsaudit.Deleted) {
				want = append(want, trainJob.Name+" "+what)
			}
		}
		file, err := os.Open(auditLog)
		Expect(err).NotTo(HaveOccurred())
		defer func() { _ = file.Close() }()
		var history jobsaudit.History
		var got []string
		for event, err := range jobsaudit.ReadEvents(file) {
			Expect(err).NotTo(HaveOccurred())
			for _, step := range history.Add(event) {
				if step.Namespace == namespace {
					Expect(step.By).To(Equal("ada@example.com"))
					Expect(step.Through).NotTo(BeEmpty())
					got = append(got, step.Job+" "+step.What)
				}
			}
		}
		Expect(got).To(Equal(want))
	})
})

// asides are rights that no request of the controller shows.
var asides = map[string]string{
	"ClusterRole mpi-controller-jobs: update trainjobs/finalizers.trainer.kubeflow.org": "admission asks whether the controller has it when an owner reference blocks deletion",
	"ClusterRole mpi-controller-jobs: delete trainjobs.trainer.kubeflow.org":            "no job of these specs is old enough: retention_test.go has one",
	"ClusterRole mpi-controller-jobs: patch trainjobs/status.trainer.kubeflow.org":      "beside Trainer it serves progress alone, and no pod runs here",
	"ClusterRole mpi-controller: get namespaces.":                                       "only a job that has finished makes the controller ask how long it is kept, once a minute",
	"ClusterRole mpi-controller: create tokenreviews.authentication.k8s.io":             "the controller asks only where somebody reads its metrics: a test of its own does",
	"ClusterRole mpi-controller: create subjectaccessreviews.authorization.k8s.io":      "the controller asks only where somebody reads its metrics: a test of its own does",
}

// expectExactRights compares what the controller asked for, from an entry on, with the rules of its chart: nothing was
// refused, and nothing is granted that was not used.
func expectExactRights(values map[string]any, from int) {
	GinkgoHelper()
	compared := audit.Compare(auditEntries()[from:], granted(values))
	Expect(compared.Refused).To(BeEmpty(), "a verb is missing in the chart")
	compared.Unused = slices.DeleteFunc(compared.Unused, func(right string) bool { return asides[right] != "" })
	Expect(compared.Unused).To(BeEmpty(), "the chart grants what nobody uses")
}

// granted are the roles of the chart where its bindings make them hold.
func granted(values map[string]any) []audit.Grant {
	GinkgoHelper()
	objects, err := render(everywhere(values))
	Expect(err).NotTo(HaveOccurred())
	var grants []audit.Grant
	for _, object := range objects {
		if object.GetKind() == "ClusterRole" || object.GetKind() == "Role" {
			grants = append(grants, audit.Grant{Role: object.GetKind() + " " + object.GetName(), Namespace: object.GetNamespace(), Rules: rulesOf(object)})
		}
	}
	return grants
}

// rightsIn are the rights of a role, as RBAC spells them.
func rightsIn(object *unstructured.Unstructured) []string { return audit.Rights(rulesOf(object)) }

func rulesOf(object *unstructured.Unstructured) []rbacv1.PolicyRule {
	role := &rbacv1.ClusterRole{}
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role)).To(Succeed())
	return role.Rules
}
