package integration

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing/fstest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"lockstep.dev/lockstep/pkg/compile"
	"lockstep.dev/lockstep/pkg/compile/diag"
	"lockstep.dev/lockstep/pkg/compile/patch/chart/helm"
	"lockstep.dev/lockstep/pkg/compile/plan"
	"lockstep.dev/lockstep/pkg/compile/proof/access"
)

// everyQuestion asks all that there is to ask, which takes minutes: `make test-full` does. Otherwise each tenth question is asked, and each to
// which the answer is yes.
var everyQuestion = os.Getenv("LOCKSTEP_ACCESS") == "all"

// accessSpecs ask the API server what it serves: a list of ours would lack what it learned since.
func accessSpecs() {
	for _, name := range []string{"local", "onprem", "openshift-ai"} {
		It("people and accounts of each tenant may do what the access proof says, on "+name, func(ctx SpecContext) {
			c := installAccess(ctx, name)
			resources := served()
			for _, group := range []string{"kueue.x-k8s.io", "kustomize.toolkit.fluxcd.io", "argoproj.io", "trainer.kubeflow.org"} {
				Expect(slices.ContainsFunc(resources, func(r servedResource) bool { return r.group == group })).To(BeTrue(), "nothing of %s is served", group)
			}
			Expect(c.subjects()).To(ContainElements(HaveField("Subject", access.Subject{Kind: "ServiceAccount", Namespace: "ci", Name: "editors"}), HaveField("Subject", access.Subject{Kind: "User", Name: "editors@example.com"})))
			questions := c.questions(resources)
			asked, allowed, wrong := c.ask(ctx, questions)
			GinkgoWriter.Printf("%s: %d resources and subresources, %d tenants, %d subjects, %d questions, %d allowed, %d differences\n", name, len(resources), len(c.plan.Tenants), len(c.subjects()), asked, allowed, len(wrong))
			Expect(wrong).To(BeEmpty())
			Expect(allowed).To(BeNumerically(">", 100))
		})
	}

	DescribeTable("people and accounts of each tenant can do what the access proof says, tried for real", func(ctx SpecContext, name string) {
		c := installAccess(ctx, name)
		namespaces := c.own()
		for _, namespace := range namespaces {
			c.furnish(ctx, namespace)
		}
		tried, refused := 0, 0
		for _, subject := range c.subjects() {
			user := login(subject.Subject)
			for _, namespace := range []string{subject.tenant.Namespaces[0].V, c.foreign(subject.tenant), "kube-system"} {
				for _, a := range attempts(namespace) {
					want := c.allows(subject.Subject, a.question)
					err := a.try(ctx, user)
					Expect(forbidden(err)).To(Equal(!want), "%s: %s %s (%+v): %v", subject.Subject, a.method, a.uri, a.question, err)
					tried++
					if !want {
						refused++
					}
				}
			}
		}
		GinkgoWriter.Printf("%s: %d requests, %d refused\n", name, tried, refused)
		Expect(refused).To(And(BeNumerically(">", tried/2), BeNumerically("<", tried)))
	}, Entry("on local", "local"), Entry("on onprem", "onprem"))
}

// withAccounts is a tree whose tenants name accounts of programs and a user besides their groups, in each role.
type withAccounts struct{ fs.FS }

// Open opens a file with the accounts in it.
func (w withAccounts) Open(name string) (fs.File, error) {
	text, err := fs.ReadFile(w.FS, name)
	if err != nil || !strings.HasPrefix(name, "tenants/") {
		return w.FS.Open(name)
	}
	for _, role := range []string{"admins", "editors", "viewers"} {
		line := regexp.MustCompile(`(?m)^(    ` + role + `: \[[^\]]*)\]`)
		text = line.ReplaceAll(text, []byte("${1}, {serviceAccount: ci/"+role+"}, {user: "+role+"@example.com}]"))
	}
	return fstest.MapFS{name: {Data: text}}.Open(name)
}

// installed is a cluster of this repository whose roles and bindings the API server has.
type installed struct {
	plan *plan.Cluster
	held []access.Held
	// accounts are those that are compiled.
	accounts []access.Subject
}

// installAccess compiles a cluster and applies its roles and bindings until the container ends.
func installAccess(ctx SpecContext, name string) *installed {
	GinkgoHelper()
	options := compile.Options{Charts: helm.Renderer{}, Cluster: name}
	clusters, diagnostics := compile.Compile(withAccounts{os.DirFS("../..")}, options)
	Expect(diagnostics.Errors()).To(BeZero())
	plans, diagnostics := compile.Plans(withAccounts{os.DirFS("../..")}, options)
	Expect(diagnostics.Errors()).To(BeZero())
	i := slices.IndexFunc(clusters, func(c compile.Cluster) bool { return c.Name == name })
	c := &installed{plan: plans[slices.IndexFunc(plans, func(p *plan.Cluster) bool { return p.Name.V == name })]}
	objects := clusters[i].Objects.Sorted()
	var proven access.Cluster
	proven.Add(access.FactsOf(objects))
	c.held = proven.Prove(c.plan, &diag.List{})
	for _, o := range objects {
		if o.ID.Kind == "ServiceAccount" && o.ID.Group == "" {
			c.accounts = append(c.accounts, access.Subject{Kind: "ServiceAccount", Namespace: o.ID.Namespace, Name: o.ID.Name})
		}
	}
	undo := applyRBAC(ctx, clusters[i])
	DeferCleanup(undo)
	return c
}

func (c *installed) allows(s access.Subject, q accessQuestion) bool {
	return holds(c.held, s, q)
}

// own are the first namespaces of all tenants.
func (c *installed) own() []string {
	var names []string
	for _, t := range c.plan.Tenants {
		names = append(names, t.Namespaces[0].V)
	}
	return names
}

// foreign is a namespace of another tenant, or of nobody where there is no other.
func (c *installed) foreign(t *plan.Tenant) string {
	i := slices.Index(c.plan.Tenants, t)
	if other := c.plan.Tenants[(i+1)%len(c.plan.Tenants)]; other != t {
		return other.Namespaces[0].V
	}
	return "kube-public"
}

// member is somebody of a tenant.
type member struct {
	access.Subject
	tenant *plan.Tenant
}

// subjects are the admins, editors and viewers of each tenant, the accounts in its namespaces, which are those of its jobs, and the account
// with which its objects are applied.
func (c *installed) subjects() []member {
	var all []member
	for _, t := range c.plan.Tenants {
		add := func(s access.Subject) {
			if m := (member{s, t}); !slices.Contains(all, m) {
				all = append(all, m)
			}
		}
		for _, who := range t.SubjectsOfRoles() {
			add(who.V)
		}
		for _, namespace := range t.Namespaces {
			for _, account := range c.accounts {
				if account.Namespace == namespace.V {
					add(account)
				}
			}
			for _, h := range c.held {
				if h.Namespace == namespace.V && h.Subject.Kind == "ServiceAccount" && c.plan.GitOps != nil && h.Subject.Namespace == c.plan.GitOps.Namespace.V {
					add(h.Subject)
				}
			}
		}
	}
	return all
}

// servedResource is one resource or subresource that is served.
type servedResource struct {
	group, name, sub string
	namespaced       bool
	verbs            []string
}

// special are verbs that no discovery tells, on resources of which some are never served.
var special = []servedResource{
	{"", "serviceaccounts", "", true, []string{"impersonate"}},
	{"", "users", "", false, []string{"impersonate"}},
	{"", "groups", "", false, []string{"impersonate"}},
	{"authentication.k8s.io", "uids", "", false, []string{"impersonate"}},
	{"authentication.k8s.io", "userextras", "scopes", false, []string{"impersonate"}},
	{"rbac.authorization.k8s.io", "roles", "", true, []string{"bind", "escalate"}},
	{"rbac.authorization.k8s.io", "clusterroles", "", false, []string{"bind", "escalate"}},
	{"certificates.k8s.io", "signers", "", false, []string{"approve", "sign", "attest"}},
	{"security.openshift.io", "securitycontextconstraints", "", true, []string{"use"}},
	{"*", "*", "", true, []string{"*"}},
}

// served is all that discovery tells, with all verbs of Kubernetes, and special.
func served() []servedResource {
	GinkgoHelper()
	found, err := discovery.NewDiscoveryClientForConfig(environment.Config)
	Expect(err).NotTo(HaveOccurred())
	_, lists, err := found.ServerGroupsAndResources()
	Expect(err).NotTo(HaveOccurred())
	var all []servedResource
	for _, list := range lists {
		group, _, isGroup := strings.Cut(list.GroupVersion, "/")
		if !isGroup {
			group = ""
		}
		for _, r := range list.APIResources {
			name, sub, _ := strings.Cut(r.Name, "/")
			verbs := append([]string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}, r.Verbs...)
			slices.Sort(verbs)
			all = append(all, servedResource{group, name, sub, r.Namespaced, slices.Compact(verbs)})
		}
	}
	slices.SortFunc(all, func(a, b servedResource) int {
		return cmp.Or(strings.Compare(a.group, b.group), strings.Compare(a.name, b.name), strings.Compare(a.sub, b.sub))
	})
	// Some are served in several versions, and rights know none.
	all = slices.CompactFunc(all, func(a, b servedResource) bool { return a.group == b.group && a.name == b.name && a.sub == b.sub })
	return append(all, special...)
}

// questions are about each verb of each resource in a namespace of the tenant, in one of another, in one of the platform and in all.
func (c *installed) questions(resources []servedResource) []asked {
	var list []asked
	number := 0
	for _, m := range c.subjects() {
		for _, r := range resources {
			namespaces := []string{""}
			if r.namespaced {
				namespaces = append(namespaces, m.tenant.Namespaces[len(m.tenant.Namespaces)-1].V, c.foreign(m.tenant), "kube-system")
			}
			for _, namespace := range namespaces {
				for _, verb := range r.verbs {
					q := accessQuestion{Verb: verb, Group: r.group, Resource: r.name, Subresource: r.sub, Namespace: namespace}
					if number++; everyQuestion || number%10 == 0 || c.allows(m.Subject, q) {
						list = append(list, asked{m.Subject, q})
					}
				}
			}
		}
	}
	return list
}

// ask asks the API server, several questions at one time. It reads roles from a cache: what differs is asked again for a while.
func (c *installed) ask(ctx context.Context, questions []asked) (count, allowed int, wrong []string) {
	GinkgoHelper()
	config := rest.CopyConfig(environment.Config)
	config.QPS = -1
	clientset, err := kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	reviews := clientset.AuthorizationV1().SubjectAccessReviews()
	answers := make([]bool, len(questions))
	ask := func(ctx context.Context, i int) error {
		name, groups := identityOf(questions[i].subject)
		review, err := reviews.Create(ctx, reviewOf(name, groups, questions[i].accessQuestion), metav1.CreateOptions{})
		if err == nil {
			answers[i] = review.Status.Allowed
		}
		return err
	}
	group, shared := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range questions {
		group.Go(func() error { return ask(shared, i) })
	}
	Expect(group.Wait()).To(Succeed())
	for i, q := range questions {
		want := c.allows(q.subject, q.accessQuestion)
		for end := time.Now().Add(5 * time.Second); answers[i] != want && time.Now().Before(end) && len(wrong) < 10; time.Sleep(100 * time.Millisecond) {
			Expect(ask(ctx, i)).To(Succeed())
		}
		if answers[i] != want {
			wrong = append(wrong, fmt.Sprintf("%s: %+v: the API server says %t", q.subject, q.accessQuestion, answers[i]))
		}
		if want {
			allowed++
		}
	}
	return len(questions), allowed, wrong
}

// login returns a client of somebody with a certificate, who may impersonate others only as far as their own rights go.
func login(s access.Subject) rest.Interface {
	GinkgoHelper()
	name, groups := identityOf(s)
	user, err := environment.AddUser(envtest.User{Name: name, Groups: append(groups, "system:authenticated")}, nil)
	Expect(err).NotTo(HaveOccurred())
	config := rest.CopyConfig(user.Config())
	config.QPS = -1
	clientset, err := kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	return clientset.CoreV1().RESTClient()
}

// furnish makes what is attempted on. Nothing runs here: of what is allowed the API server says that there is no machine.
func (c *installed) furnish(ctx SpecContext, namespace string) {
	GinkgoHelper()
	made := []client.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "target"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "target"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "target"}},
	}
	for _, object := range made {
		Expect(admin.Create(ctx, object)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(admin.Delete(ctx, object))).To(Succeed()) })
	}
}

// attempt is one request, and the question that decides it.
type attempt struct {
	method, uri, contentType, body string
	headers                        map[string]string
	question                       accessQuestion
}

const (
	asJSON  = "application/json"
	asApply = "application/apply-patch+yaml"
	asMerge = "application/merge-patch+json"
)

// attempts are what a review of access does not show by itself: streams, subresources, tokens, other names, other field managers. Nothing
// of it stays: writes are dry runs.
func attempts(namespace string) []attempt {
	in := "/namespaces/" + namespace
	core, apps, train, sets := "/api/v1"+in, "/apis/apps/v1"+in, "/apis/trainer.kubeflow.org/v1alpha1"+in, "/apis/jobset.x-k8s.io/v1alpha2"+in
	q := func(verb, group, resource string) accessQuestion {
		resource, sub, _ := strings.Cut(resource, "/")
		return accessQuestion{Verb: verb, Group: group, Resource: resource, Subresource: sub, Namespace: namespace, Name: "target"}
	}
	unnamed := func(verb, group, resource string) accessQuestion {
		question := q(verb, group, resource)
		question.Name = ""
		return question
	}
	upgrade := map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==", "Sec-WebSocket-Protocol": "v5.channel.k8s.io"}
	const dry = "?dryRun=All"
	const force = dry + "&force=true&fieldManager=mpi-controller"
	apply := func(version, kind, more string) string {
		return fmt.Sprintf(`{"apiVersion": %q, "kind": %q, "metadata": {"name": "target", "namespace": %q}%s}`, version, kind, namespace, more)
	}
	return []attempt{
		// Streams: over SPDY, which posts, and over websockets, which get.
		{"POST", core + "/pods/target/exec?command=true&stdout=true", "", "", nil, q("create", "", "pods/exec")},
		{"GET", core + "/pods/target/exec?command=true&stdout=true", "", "", upgrade, q("get", "", "pods/exec")},
		{"POST", core + "/pods/target/attach?stdout=true", "", "", nil, q("create", "", "pods/attach")},
		{"GET", core + "/pods/target/attach?stdout=true", "", "", upgrade, q("get", "", "pods/attach")},
		{"POST", core + "/pods/target/portforward", "", "", nil, q("create", "", "pods/portforward")},
		{"GET", core + "/pods/target/portforward", "", "", upgrade, q("get", "", "pods/portforward")},
		{"GET", core + "/pods/target/log", "", "", nil, q("get", "", "pods/log")},
		// Proxies: to pods, Services, machines and their kubelets.
		{"GET", core + "/pods/target/proxy/", "", "", nil, q("get", "", "pods/proxy")},
		{"POST", core + "/pods/http:target:2222/proxy/x", asJSON, "{}", nil, accessQuestion{Verb: "create", Resource: "pods", Subresource: "proxy", Namespace: namespace, Name: "http:target:2222"}},
		{"GET", core + "/services/target/proxy/", "", "", nil, q("get", "", "services/proxy")},
		{"GET", "/api/v1/nodes/target/proxy/exec", "", "", nil, accessQuestion{Verb: "get", Resource: "nodes", Subresource: "proxy", Name: "target"}},
		// Pods that run: containers beside those that were reviewed, sizes, machines, removal.
		{"PATCH", core + "/pods/target/ephemeralcontainers" + dry, asMerge, `{"spec": {"ephemeralContainers": [{"name": "x", "image": "x"}]}}`, nil, q("patch", "", "pods/ephemeralcontainers")},
		{"PATCH", core + "/pods/target/resize" + dry, asMerge, `{}`, nil, q("patch", "", "pods/resize")},
		{"PATCH", core + "/pods/target/status" + dry, asMerge, `{}`, nil, q("patch", "", "pods/status")},
		{"POST", core + "/pods/target/binding" + dry, asJSON, `{"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "target"}, "target": {"kind": "Node", "name": "n"}}`, nil, q("create", "", "pods/binding")},
		{"POST", core + "/pods/target/eviction" + dry, asJSON, `{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "target"}}`, nil, q("create", "", "pods/eviction")},
		{"DELETE", core + "/pods/target" + dry, "", "", nil, q("delete", "", "pods")},
		{"DELETE", core + "/pods" + dry, "", "", nil, unnamed("deletecollection", "", "pods")},
		{"PATCH", apps + "/deployments/target/scale" + dry, asMerge, `{"spec": {"replicas": 9}}`, nil, q("patch", "apps", "deployments/scale")},
		// Other names.
		{"POST", core + "/serviceaccounts/target/token", asJSON, `{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}`, nil, q("create", "", "serviceaccounts/token")},
		{"GET", core + "/configmaps", "", "", map[string]string{"Impersonate-User": "root", "Impersonate-Group": "system:masters"}, accessQuestion{Verb: "impersonate", Resource: "users", Name: "root"}},
		{"GET", core + "/secrets", "", "", map[string]string{"Impersonate-User": "system:serviceaccount:" + namespace + ":target"}, q("impersonate", "", "serviceaccounts")},
		{"GET", core + "/secrets", "", "", nil, unnamed("list", "", "secrets")},
		{"GET", core + "/secrets?watch=true&timeoutSeconds=1", "", "", nil, unnamed("watch", "", "secrets")},
		{"GET", "/api/v1/secrets", "", "", nil, accessQuestion{Verb: "list", Resource: "secrets"}},
		{"GET", "/apis/trainer.kubeflow.org/v1alpha1/trainjobs", "", "", nil, accessQuestion{Verb: "list", Group: "trainer.kubeflow.org", Resource: "trainjobs"}},
		// Patches under the name of the controller, of fields and subresources that are its own.
		{"PATCH", train + "/trainjobs/target" + force, asApply, apply("trainer.kubeflow.org/v1alpha1", "TrainJob", `, "spec": {"runtimeRef": {"name": "x"}}`), nil, q("patch", "trainer.kubeflow.org", "trainjobs")},
		{"PATCH", train + "/trainjobs/target/status" + force, asApply, apply("trainer.kubeflow.org/v1alpha1", "TrainJob", `, "status": {}`), nil, q("patch", "trainer.kubeflow.org", "trainjobs/status")},
		{"PATCH", train + "/trainjobs/target/finalizers" + dry, asMerge, `{}`, nil, q("patch", "trainer.kubeflow.org", "trainjobs/finalizers")},
		{"PATCH", train + "/trainingruntimes/target" + force, asApply, apply("trainer.kubeflow.org/v1alpha1", "TrainingRuntime", ""), nil, q("patch", "trainer.kubeflow.org", "trainingruntimes")},
		{"PATCH", sets + "/jobsets/target" + force, asApply, apply("jobset.x-k8s.io/v1alpha2", "JobSet", ""), nil, q("patch", "jobset.x-k8s.io", "jobsets")},
		{"PATCH", core + "/configmaps/target" + force, asApply, apply("v1", "ConfigMap", `, "data": {"a": "b"}`), nil, q("patch", "", "configmaps")},
		{"PATCH", "/api/v1/namespaces/" + namespace + dry, asMerge, `{"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}`, nil, accessQuestion{Verb: "patch", Resource: "namespaces", Namespace: namespace, Name: namespace}},
		{"PATCH", "/apis/networking.k8s.io/v1" + in + "/networkpolicies/target" + force, asApply, apply("networking.k8s.io/v1", "NetworkPolicy", `, "spec": {"podSelector": {}, "egress": [{}]}`), nil, q("patch", "networking.k8s.io", "networkpolicies")},
		{"PATCH", core + "/resourcequotas/target" + dry, asMerge, `{"spec": {"hard": {"pods": "9999"}}}`, nil, q("patch", "", "resourcequotas")},
		{"POST", "/apis/rbac.authorization.k8s.io/v1" + in + "/rolebindings" + dry, asJSON, `{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "x"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}, "subjects": []}`, nil, unnamed("create", "rbac.authorization.k8s.io", "rolebindings")},
		{"PUT", "/api/v1/namespaces/" + namespace + "/finalize" + dry, asJSON, `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "` + namespace + `"}}`, nil, accessQuestion{Verb: "update", Resource: "namespaces", Subresource: "finalize", Namespace: namespace, Name: namespace}},
	}
}

func (a attempt) try(ctx context.Context, user rest.Interface) error {
	request := user.Verb(a.method).RequestURI(a.uri)
	for name, value := range a.headers {
		request.SetHeader(name, value)
	}
	if a.contentType != "" {
		request.SetHeader("Content-Type", a.contentType).Body([]byte(a.body))
	}
	return request.Do(ctx).Error()
}

// forbidden reports whether rights were missing; admission refuses with the same status and other words.
func forbidden(err error) bool {
	status, is := err.(interface{ Status() metav1.Status })
	return is && status.Status().Code == http.StatusForbidden && strings.Contains(err.Error(), "cannot ")
}
