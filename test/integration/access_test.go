package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
	"lockstep.dev/lockstep/pkg/compile/proof/access"
)

// leastQuestions is how many questions each cluster of the repository must be asked.
const leastQuestions = 2000

var _ = Describe("What the access proof says", ofTheCompiler, func() {
	It("is what the API server says", func(ctx SpecContext) {
		options := compile.Options{Charts: helm.Renderer{}}
		clusters, diagnostics := compile.Compile(os.DirFS("../.."), options)
		Expect(diagnostics.Errors()).To(BeZero())
		plans, diagnostics := compile.Plans(os.DirFS("../.."), options)
		Expect(diagnostics.Errors()).To(BeZero())
		for i, cluster := range clusters {
			var proven access.Cluster
			proven.Add(access.FactsOf(cluster.Objects.Sorted()))
			list := &diag.List{}
			held := proven.Prove(plans[i], list)
			Expect(list.Sorted()).To(BeEmpty())
			undo := applyRBAC(ctx, cluster)
			q := inquiry{held: held, namespaces: namespacesOf(cluster)}
			asked, allowed := q.ask(ctx)
			GinkgoWriter.Printf("%s: %d questions, %d allowed\n", cluster.Name, asked, allowed)
			Expect(asked).To(BeNumerically(">=", leastQuestions), cluster.Name)
			Expect(allowed).To(BeNumerically(">", 100), cluster.Name)
			undo(ctx)
		}
	})
})

// applyRBAC applies the roles and bindings of a cluster and their namespaces, and returns what deletes roles and bindings again.
func applyRBAC(ctx SpecContext, cluster compile.Cluster) (undo func(ctx SpecContext)) {
	var made []*unstructured.Unstructured
	for _, object := range decodeFiles(cluster) {
		rbac := object.GroupVersionKind().Group == "rbac.authorization.k8s.io"
		if !rbac && object.GetKind() != "Namespace" {
			continue
		}
		if rbac {
			// What is left over belongs to nobody: it must not answer for what is asked now.
			makeNamespace(ctx, object.GetNamespace())
			made = append(made, object)
		}
		options := []client.ApplyOption{client.FieldOwner("integration"), client.ForceOwnership}
		Expect(admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(object.DeepCopy()), options...)).To(Succeed())
	}
	return func(ctx SpecContext) {
		for _, object := range made {
			Expect(client.IgnoreNotFound(admin.Delete(ctx, object))).To(Succeed())
		}
	}
}

// makeNamespace makes a namespace that exists on real clusters, such as that of an add-on.
func makeNamespace(ctx SpecContext, name string) {
	if name == "" {
		return
	}
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
	options := []client.ApplyOption{client.FieldOwner("integration-namespaces"), client.ForceOwnership}
	Expect(admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(namespace), options...)).To(Succeed())
}

func namespacesOf(cluster compile.Cluster) []string {
	names := []string{"", "kube-system", "elsewhere"}
	for _, object := range cluster.Objects.Sorted() {
		if object.ID.Kind == "Namespace" {
			names = append(names, object.ID.Name)
		}
	}
	return names
}

// inquiry asks the proof and the API server the same questions.
type inquiry struct {
	held       []access.Held
	namespaces []string
}

// accessQuestion is one request.
type accessQuestion struct {
	Verb, Group, Resource, Subresource string
	// Namespace is "" for the whole cluster, Name for all objects.
	Namespace, Name string
	// URL is a path that is not a resource; then only Verb counts beside it.
	URL string
}

// holds reports whether the rights that a subject holds allow a request.
func holds(held []access.Held, s access.Subject, q accessQuestion) bool {
	return slices.ContainsFunc(held, func(h access.Held) bool {
		return h.Subject == s && (h.Namespace == "" || h.Namespace == q.Namespace && q.URL == "") &&
			slices.ContainsFunc(h.Rights, func(r access.Right) bool { return allows(r, q) })
	})
}

// allows reports whether a right allows a request, as the RBAC authorizer of the API server does.
func allows(r access.Right, q accessQuestion) bool {
	if r.Verb != "*" && r.Verb != q.Verb || (r.Group == access.Path) != (q.URL != "") {
		return false
	}
	if q.URL != "" {
		prefix, open := strings.CutSuffix(r.Resource, "*")
		return r.Resource == q.URL || open && strings.HasPrefix(q.URL, prefix)
	}
	resources := []string{"*", q.Resource}
	if q.Subresource != "" {
		resources = []string{"*", q.Resource + "/" + q.Subresource, "*/" + q.Subresource}
	}
	return (r.Group == "*" || r.Group == q.Group) && slices.Contains(resources, r.Resource) &&
		(r.Name == "" || r.Name == q.Name)
}

type asked struct {
	subject access.Subject
	accessQuestion
}

// ask asks for everything that somebody holds, for what is banned, and at random. The API server reads roles from a cache: it is
// asked again where it does not agree yet.
func (q *inquiry) ask(ctx SpecContext) (count, allowed int) {
	clientset, err := kubernetes.NewForConfig(environment.Config)
	Expect(err).NotTo(HaveOccurred())
	for _, question := range q.questions() {
		name, groups := identityOf(question.subject)
		want := holds(q.held, question.subject, question.accessQuestion)
		Eventually(func(g Gomega) {
			review, err := clientset.AuthorizationV1().SubjectAccessReviews().Create(ctx, reviewOf(name, groups, question.accessQuestion), metav1.CreateOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(review.Status.Allowed).To(Equal(want), "%s: %+v", question.subject, question.accessQuestion)
		}).Should(Succeed())
		count++
		if want {
			allowed++
		}
	}
	return count, allowed
}

// identityOf is how a subject comes to the API server.
func identityOf(s access.Subject) (user string, groups []string) {
	switch s.Kind {
	case "Group":
		return "somebody", []string{s.Name}
	case "ServiceAccount":
		return fmt.Sprintf("system:serviceaccount:%s:%s", s.Namespace, s.Name), nil
	}
	return s.Name, nil
}

func reviewOf(user string, groups []string, q accessQuestion) *authorizationv1.SubjectAccessReview {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, Groups: groups}}
	if q.URL != "" {
		review.Spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: q.URL, Verb: q.Verb}
		return review
	}
	review.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
		Verb: q.Verb, Group: q.Group, Resource: q.Resource, Subresource: q.Subresource, Namespace: q.Namespace, Name: q.Name,
	}
	return review
}

func (q *inquiry) questions() []asked {
	var list []asked
	// What somebody holds, there and in another namespace.
	for i, held := range q.held {
		for j, right := range held.Rights {
			for _, namespace := range []string{held.Namespace, q.namespaces[(i+j)%len(q.namespaces)]} {
				list = append(list, asked{held.Subject, questionOf(right, namespace)})
			}
		}
	}
	seen := map[access.Subject]bool{}
	var subjects []access.Subject
	for _, held := range q.held {
		if !seen[held.Subject] {
			seen[held.Subject] = true
			subjects = append(subjects, held.Subject)
		}
	}
	for _, namespace := range q.namespaces {
		subjects = append(subjects, access.Subject{Kind: "ServiceAccount", Namespace: namespace, Name: "default"})
	}
	subjects = append(subjects, access.Subject{Kind: "Group", Name: "nobody-knows-them"})
	random := rand.New(rand.NewPCG(3, 3)) //nolint:gosec // the same questions each time
	for len(list) < 2*leastQuestions {
		list = append(list, asked{pick(random, subjects), accessQuestion{
			Verb: pick(random, verbsAsked), Group: pick(random, groupsAsked), Resource: pick(random, resourcesAsked), Subresource: pick(random, subresourcesAsked),
			Namespace: pick(random, q.namespaces), Name: pick(random, namesAsked),
		}})
	}
	return list
}

func questionOf(right access.Right, namespace string) accessQuestion {
	if right.Group == "(path)" {
		return accessQuestion{Verb: right.Verb, URL: strings.Replace(right.Resource, "*", "x", 1)}
	}
	resource, subresource, _ := strings.Cut(right.Resource, "/")
	return accessQuestion{Verb: right.Verb, Group: right.Group, Resource: resource, Subresource: subresource, Namespace: namespace, Name: right.Name}
}

var (
	verbsAsked     = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "bind", "escalate", "impersonate", "use", "*"}
	groupsAsked    = []string{"", "", "trainer.kubeflow.org", "jobset.x-k8s.io", "batch", "kueue.x-k8s.io", "rbac.authorization.k8s.io", "networking.k8s.io", "events.k8s.io", "metrics.k8s.io", "*"}
	resourcesAsked = []string{
		"pods", "secrets", "configmaps", "events", "resourcequotas", "limitranges", "namespaces", "serviceaccounts", "persistentvolumeclaims", "users",
		"trainjobs", "trainingruntimes", "clustertrainingruntimes", "jobsets", "jobs", "localqueues", "clusterqueues", "workloads",
		"roles", "rolebindings", "clusterroles", "networkpolicies", "*",
	}
	subresourcesAsked = []string{"", "", "", "exec", "log", "status", "token", "finalizers", "portforward"}
	namesAsked        = []string{"", "", "mpi-controller", "lockstep-tenant-viewer", "x"}
)

func pick[T any](random *rand.Rand, list []T) T { return list[random.IntN(len(list))] }
