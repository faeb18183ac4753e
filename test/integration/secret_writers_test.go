package integration

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/compile/proof/access"
	"lockstep.dev/lockstep/test/attacker"
)

// People who write Secrets, and what the API server answers them.
var _ = Describe("Writers of Secrets", ofTheCompiler, onEachVersion, Ordered, func() {
	const hidden = "c2VjcmV0LXZhbHVl" // secret-value
	var ask func(ctx context.Context, method, path, body string) (string, error)

	BeforeAll(func(ctx SpecContext) {
		const people = "{editors: [vision-editors]}"
		withWriters := strings.Replace(people, "}", ", secrets: [vision-vault]}", 1)
		installPlan(ctx, strings.Replace(attacker.Specs, people, withWriters, 1))
		writer := login(access.Subject{Kind: "Group", Name: "vision-vault"})
		ask = func(ctx context.Context, method, path, body string) (string, error) {
			request := writer.Verb(method).RequestURI("/api/v1/namespaces/vision/secrets" + path)
			if body != "" {
				kind := map[bool]string{true: "application/merge-patch+json", false: "application/json"}[method == "PATCH"]
				request.SetHeader("Content-Type", kind).Body([]byte(body))
			}
			result := request.Do(ctx)
			answer, _ := result.Raw()
			return string(answer), result.Error()
		}
	})

	BeforeEach(func(ctx SpecContext) {
		for _, name := range []string{"bucket", "demo-mpi-ssh-auth", "kept"} {
			secret := &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: "vision", Name: name},
				StringData: map[string]string{"key": "secret-value"},
			}
			if name == "kept" {
				secret.Finalizers = []string{"example.com/later"}
			}
			Expect(admin.Create(ctx, secret)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) {
				secret.Finalizers = nil
				Expect(client.IgnoreNotFound(admin.Update(ctx, secret))).To(Succeed())
				Expect(client.IgnoreNotFound(admin.Delete(ctx, secret))).To(Succeed())
			})
		}
	})

	const background = "propagationPolicy Background"
	secret := func(name string) string {
		const text = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":%q},"stringData":{"key":"new"}}`
		return fmt.Sprintf(text, name)
	}

	It("create, replace and delete them", func(ctx SpecContext) {
		for _, step := range []struct{ method, path, body string }{
			{"POST", "", secret("token")}, {"PUT", "/token", secret("token")},
			{"PUT", "/bucket", secret("bucket")}, {"DELETE", "/token", ""}, {"DELETE", "/bucket", ""},
		} {
			answer, err := ask(ctx, step.method, step.path, step.body)
			Expect(err).NotTo(HaveOccurred(), "%s %s", step.method, step.path)
			Expect(answer).NotTo(ContainSubstring(hidden), "%s %s", step.method, step.path)
		}
	})

	DescribeTable("learn nothing of one, nor gain by one", func(ctx SpecContext, method, path, body, message string) {
		answer, err := ask(ctx, method, path, body)
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
		Expect(answer).NotTo(ContainSubstring(hidden))
		Expect(answer + err.Error()).To(ContainSubstring(message))
	},
		Entry("by reading it", "GET", "/bucket", "", "cannot get"),
		Entry("by a list", "GET", "", "", "cannot list"),
		Entry("by a watch", "GET", "?watch=true", "", "cannot watch"),
		Entry("by a patch, whose answer holds it", "PATCH", "/bucket", "{}", "cannot patch"),
		Entry("by deletion in the foreground", "DELETE", "/bucket",
			`{"propagationPolicy":"Foreground"}`, background),
		Entry("the same by a query", "DELETE", "/bucket?propagationPolicy=Foreground", "", background),
		Entry("by deletion that leaves orphans", "DELETE", "/bucket",
			`{"orphanDependents":true}`, background),
		Entry("the same without deleting it", "DELETE", "/bucket",
			`{"propagationPolicy":"Orphan","dryRun":["All"]}`, background),
		Entry("by deletion of one with a finalizer", "DELETE", "/kept", "", background),
		Entry("by the key of a job of their own", "PUT", "/demo-mpi-ssh-auth", secret("demo-mpi-ssh-auth"),
			"has the name of a key"),
		Entry("by the key of a job to come", "POST", "", secret("next-mpi-ssh-auth"),
			"has the name of a key"),
		Entry("by deletion of a key", "DELETE", "/demo-mpi-ssh-auth", "", "has the name of a key"),
		Entry("by the token of an account", "POST", "", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"t",
			"annotations":{"kubernetes.io/service-account.name":"default"}},"type":"kubernetes.io/service-account-token"}`,
			"token of an account"),
	)

	It("would read them by a patch, or by a deletion that no policy refuses", func(ctx SpecContext) {
		verbs := []string{"patch", "delete"}
		allow(ctx, "patchers", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: verbs})
		DeferCleanup(func(ctx SpecContext) {
			Expect(admin.Delete(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "patchers"}})).To(Succeed())
			Expect(admin.Delete(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "patchers"}})).To(Succeed())
		})
		makeNamespace(ctx, "outside")
		other := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "outside", Name: "bucket"},
			StringData: map[string]string{"key": "secret-value"},
		}
		Expect(admin.Create(ctx, other)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(admin.Delete(ctx, other))).To(Succeed()) })
		patcher := login(access.Subject{Kind: "Group", Name: "patchers"})
		at := "/api/v1/namespaces/outside/secrets/bucket"
		patch := patcher.Verb("PATCH").AbsPath(at).SetHeader("Content-Type", "application/merge-patch+json")
		answer, err := patch.Body([]byte("{}")).Do(ctx).Raw()
		Expect(err).NotTo(HaveOccurred())
		Expect(string(answer)).To(ContainSubstring(hidden))
		dry := patcher.Delete().AbsPath(at).Param("propagationPolicy", "Foreground").Param("dryRun", "All")
		answer, err = dry.Do(ctx).Raw()
		Expect(err).NotTo(HaveOccurred())
		Expect(string(answer)).To(ContainSubstring(hidden))
	})
})
