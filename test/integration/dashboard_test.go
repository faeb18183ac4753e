package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/dashboard"
	"lockstep.dev/lockstep/pkg/jobs/overview"
	"lockstep.dev/lockstep/pkg/mpi"
)

// hostile is an annotation of a user.
const hostile = "</script><script>alert(1)</script>\x1b[2J\u202eevil"

var _ = Describe("The page of jobs", ofTheCompiler, Ordered, func() {
	var mine, theirs string
	var jane, stranger *httptest.Server

	serve := func(name, group, namespace string) *httptest.Server {
		GinkgoHelper()
		made, err := environment.AddUser(envtest.User{Name: name, Groups: []string{group, "system:authenticated"}}, nil)
		Expect(err).NotTo(HaveOccurred())
		config := rest.CopyConfig(made.Config())
		config.QPS = -1
		limits := dashboard.DefaultLimits
		limits.Look, limits.Pods = time.Second, 200*time.Millisecond
		ctx, cancel := context.WithCancel(context.Background())
		user := dashboard.User{Key: name, Config: config, Namespace: namespace}
		who := func(*http.Request) (dashboard.User, error) { return user, nil }
		server := httptest.NewServer(dashboard.New(ctx, "v0", who, limits))
		DeferCleanup(func() { cancel(); server.CloseClientConnections(); server.Close() })
		return server
	}

	BeforeAll(func(ctx SpecContext) {
		mine, theirs = newNamespace(ctx), newNamespace(ctx)
		tenantRoles(ctx)
		bindEditors(ctx, mine)
		Expect(client.IgnoreAlreadyExists(admin.Create(ctx, runtimeNamed("openmpi")))).To(Succeed())
		for _, namespace := range []string{mine, theirs} {
			job := trainJobNamed(namespace, "secret-of-"+namespace)
			job.Annotations = map[string]string{"lockstep.dev/user": hostile}
			Expect(admin.Create(ctx, job)).To(Succeed())
		}
		jane, stranger = serve("jane", cliGroup, mine), serve("stranger", "nobody", mine)
	})

	send := func(server *httptest.Server, method, path, body string) (int, string) {
		GinkgoHelper()
		request, err := http.NewRequest(method, server.URL+path, strings.NewReader(body)) //nolint:noctx // a test
		Expect(err).NotTo(HaveOccurred())
		request.Header.Set(dashboard.ActionHeader, "1")
		answer, err := http.DefaultClient.Do(request)
		Expect(err).NotTo(HaveOccurred())
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		Expect(err).NotTo(HaveOccurred())
		return answer.StatusCode, string(text)
	}
	ask := func(server *httptest.Server, method, path string) (int, string) {
		GinkgoHelper()
		return send(server, method, path, "")
	}
	jobOf := func(namespace, rest string) string {
		return "/api/v1/trainjobs/" + namespace + "/secret-of-" + namespace + rest
	}

	It("shows to each user what the user may read, and names what is missing", func() {
		for _, path := range []string{
			"/api/v1/trainjobs?namespace=", "/api/v1/trainjobs?namespace=" + theirs, "/api/v1/trainjobs",
			jobOf(theirs, ""), jobOf(theirs, "/events"), jobOf(theirs, "/configuration"), jobOf(theirs, "/usage"),
			jobOf(theirs, "/bundle"), jobOf(theirs, "/clone"), "/api/v1/runtimes?namespace=" + theirs,
			"/api/v1/choices?namespace=" + theirs, "/api/v1/cluster?namespace=" + theirs,
			"/api/v1/runtimes/openmpi?namespace=" + theirs, jobOf(theirs, "/probe"),
			"/api/v1/templates?namespace=" + theirs,
			"/api/v1/compare?job=" + theirs + "/secret-of-" + theirs + "&job=" + mine + "/secret-of-" + mine,
			jobOf(theirs, "/logs"), jobOf(theirs, "/logs?download=true"), jobOf(theirs, "/stream"),
			"/api/v1/trainjobs/stream?namespace=" + theirs,
		} {
			for _, user := range []*httptest.Server{jane, stranger} {
				code, text := ask(user, "GET", path)
				Expect(text).NotTo(ContainSubstring("secret-of-"+theirs+`"`), path)
				Expect(text).To(Or(ContainSubstring("lacks"), And(ContainSubstring(mine), ContainSubstring(`"withheld":[]`))), path)
				Expect(code).To(BeElementOf(200, 403), "%s: %s", path, text)
			}
		}
		By("an editor, who reads the own namespace and learns what else there is")
		code, text := ask(jane, "GET", "/api/v1/trainjobs?namespace=")
		Expect(code).To(Equal(200), text)
		Expect(text).To(And(ContainSubstring("secret-of-"+mine), ContainSubstring("jobs of other namespaces")))
		code, text = ask(jane, "GET", "/api/v1/namespaces")
		Expect([]any{code, text}).To(HaveExactElements(200, ContainSubstring(`"items":["`+mine+`"]`)))
		code, text = ask(jane, "GET", "/api/v1/session")
		Expect([]any{code, text}).To(HaveExactElements(200, And(ContainSubstring(`"user":"jane"`), ContainSubstring(mine))))
		By("the cluster, of which each part without a right is named")
		code, text = ask(jane, "GET", "/api/v1/cluster")
		Expect(code).To(Equal(200), text)
		for _, what := range []string{"jobs of other namespaces", "queues of the cluster", "machines"} {
			Expect(text).To(MatchRegexp(`"what":"` + what + `[^"]*","why":"[^"]* lacks 'list' permission`))
		}
		Expect(text).NotTo(ContainSubstring(theirs))
		code, text = ask(stranger, "GET", "/api/v1/cluster")
		Expect([]any{code, text}).To(HaveExactElements(403, ContainSubstring("lacks 'list' permission for trainjobs")))
		By("a form, whose job is checked and made with the rights of the user")
		made := "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: by-form}\n" +
			"spec: {runtimeRef: {name: openmpi}, trainer: {command: [mpirun, \"true\"]}}\n"
		for _, query := range []string{"", "&dryRun=true"} {
			for user, namespace := range map[*httptest.Server]string{jane: theirs, stranger: mine} {
				code, text = send(user, "POST", "/api/v1/trainjobs?namespace="+namespace+query, made)
				Expect(text).To(ContainSubstring("lacks 'create' permission for trainjobs"), query)
				Expect(code).To(Equal(map[string]int{"": 403, "&dryRun=true": 200}[query]), text)
			}
		}
		code, text = send(jane, "POST", "/api/v1/trainjobs?namespace="+mine+"&dryRun=true", made)
		Expect([]any{code, text}).To(HaveExactElements(200, ContainSubstring("kubectl mpi submit by-form --namespace "+mine)))
		code, text = send(jane, "POST", "/api/v1/trainjobs?namespace="+mine, made)
		Expect([]any{code, text}).To(HaveExactElements(200, ContainSubstring(`"name":"by-form","uid":`)))
		code, text = send(jane, "POST", "/api/v1/trainjobs?namespace="+mine, made)
		Expect([]any{code, text}).To(HaveExactElements(409, ContainSubstring("by-form")))
		By("a stranger, who may do nothing there")
		for _, action := range []string{"suspend", "resume", "delete"} {
			code, text = ask(stranger, "POST", jobOf(mine, "/actions/"+action))
			Expect(code).To(Equal(403), text)
		}
	})

	It("shows the cluster to an admin as the commands do", func(ctx SpecContext) {
		root := serve("root", "system:masters", "")
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: theirs, Name: "holder"}}
		pod.Labels = map[string]string{"jobset.sigs.k8s.io/jobset-name": "secret-of-" + theirs}
		pod.Spec.NodeName, pod.Spec.Containers = "somewhere", []corev1.Container{{Name: "c", Image: "i"}}
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("1500m")}
		Expect(admin.Create(ctx, pod)).To(Succeed())
		code, text := ask(root, "GET", "/api/v1/cluster")
		Expect(code).To(Equal(200), text)
		var shown overview.Overview
		Expect(json.Unmarshal([]byte(text), &shown)).To(Succeed())
		Expect(shown.Withheld).To(BeEmpty())
		held := slices.IndexFunc(shown.Holdings, func(h overview.Holding) bool { return h.Namespace == theirs })
		Expect(held).To(BeNumerically(">=", 0), text)
		Expect(shown.Holdings[held].MilliCPU).To(BeEquivalentTo(1500))
		Expect(shown.Holdings[held].Job).To(Equal("secret-of-" + theirs))
		code, text = ask(root, "GET", "/api/v1/cluster?namespace="+mine)
		Expect([]any{code, text}).To(HaveExactElements(200, Not(ContainSubstring(theirs))))
	})

	It("shows a runtime, and the job that tests it", func() {
		code, text := ask(jane, "GET", "/api/v1/runtimes/openmpi?namespace="+mine)
		Expect(code).To(Equal(200), text)
		var shown dashboard.RuntimeDetail
		Expect(json.Unmarshal([]byte(text), &shown)).To(Succeed())
		Expect(shown.Test.Allowed).To(BeTrue())
		Expect(shown.Jobs[len(shown.Jobs)-1].Name).To(Equal("secret-of-" + mine))
		Expect(text).To(ContainSubstring("namespaces that may use it"), "jane may not list namespaces")
		By("a preview, which the same page checks and makes")
		code, text = ask(jane, "GET", "/api/v1/runtimes/openmpi/probe?namespace="+mine)
		Expect([]any{code, text}).To(HaveExactElements(200, ContainSubstring("mpi-agent")))
		var job dashboard.Clone
		Expect(json.Unmarshal([]byte(text), &job)).To(Succeed())
		code, text = send(jane, "POST", "/api/v1/trainjobs?namespace="+mine+"&dryRun=true", job.YAML)
		Expect([]any{code, text}).To(HaveExactElements(200, ContainSubstring(`"verdict":"fits"`)))
		code, text = send(jane, "POST", "/api/v1/trainjobs?namespace="+mine, job.YAML)
		Expect(code).To(Equal(200), text)
		code, text = ask(jane, "GET", "/api/v1/trainjobs/"+mine+"/"+job.Name+"/probe")
		Expect([]any{code, text}).To(HaveExactElements(200, ContainSubstring("launcher has no result of a probe")))
		By("what there is not, and rights that are missing")
		code, text = ask(jane, "GET", "/api/v1/runtimes/none?namespace="+mine)
		Expect(code).To(Equal(404), text)
		code, text = ask(jane, "GET", "/api/v1/runtimes/openmpi?kind=Secret&namespace="+mine)
		Expect(code).To(Equal(400), text)
		for _, path := range []string{"/api/v1/runtimes/openmpi", "/api/v1/runtimes/openmpi/probe"} {
			code, text = ask(stranger, "GET", path+"?namespace="+mine)
			Expect([]any{code, text}).To(HaveExactElements(403, ContainSubstring("lacks 'get' permission")))
		}
	})

	It("offers the templates of a namespace, and names those that are wrong", func(ctx SpecContext) {
		const right = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: a}\n" +
			"spec: {runtimeRef: {name: openmpi}}\n"
		templates := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: mine, Name: "templates"}}
		templates.Labels = map[string]string{mpi.TemplatesLabel: ""}
		templates.Data = map[string]string{"right.yaml": right, "wrong.yaml": "a: 1\n", "none.yaml": "# nothing\n"}
		Expect(admin.Create(ctx, templates)).To(Succeed())
		Expect(admin.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: mine, Name: "other"}, Data: map[string]string{"other.yaml": right},
		})).To(Succeed())
		code, text := ask(jane, "GET", "/api/v1/templates?namespace="+mine)
		Expect(code).To(Equal(200), text)
		var found dashboard.Items[dashboard.Template]
		Expect(json.Unmarshal([]byte(text), &found)).To(Succeed())
		var names []string
		for _, t := range found.Items {
			names = append(names, fmt.Sprint(t.Name, " ", len(t.Findings)))
		}
		Expect(names).To(Equal([]string{"none 1", "right 0", "wrong 1"}))
		Expect(found.Items[1].YAML).To(Equal(right))
	})

	It("hands hostile names on as text", func() {
		code, text := ask(jane, "GET", jobOf(mine, ""))
		Expect(code).To(Equal(200), text)
		Expect(text).NotTo(ContainSubstring("<script>"))
		var detail dashboard.Detail
		Expect(json.Unmarshal([]byte(text), &detail)).To(Succeed())
		Expect(detail.Job.User).To(ContainSubstring("<script>alert(1)</script>"))
		Expect(detail.Job.User).NotTo(ContainSubstring("\x1b"))
		Expect(detail.Actions["suspend"].Allowed).To(BeTrue())
		code, text = ask(jane, "GET", jobOf(mine, "/configuration"))
		Expect([]any{code, text}).To(HaveExactElements(200, ContainSubstring("runtimeRef")))
		Expect(text).NotTo(ContainSubstring("resourceVersion"))
		code, text = ask(jane, "GET", jobOf(mine, "/bundle"))
		Expect([]any{code, text}).To(HaveExactElements(200, HavePrefix("\x1f\x8b")))
		for _, query := range []string{"rank=x", "since=-1", "tail=a", "attempt=-1"} {
			code, text = ask(jane, "GET", jobOf(mine, "/logs?"+query))
			Expect([]any{code, text}).To(HaveExactElements(400, ContainSubstring("BadRequest")), query)
		}
		for _, part := range []string{"", "/events", "/usage", "/logs", "/configuration", "/bundle"} {
			code, text = ask(jane, "GET", "/api/v1/trainjobs/"+mine+"/none"+part)
			Expect([]any{code, text}).To(HaveExactElements(404, ContainSubstring("NotFound")), part)
		}
	})

	It("pushes changes, and ends a stream whose right is withdrawn", func(ctx SpecContext) {
		list := listen(ctx, jane.URL+"/api/v1/trainjobs/stream?namespace="+mine)
		Expect(list.next("snapshot")).To(ContainSubstring("secret-of-" + mine))
		Expect(admin.Create(ctx, trainJobNamed(mine, "second"))).To(Succeed())
		began := time.Now()
		Expect(list.next("change")).To(And(ContainSubstring(`"name":"second"`), Not(ContainSubstring("secret-of-"))))
		Expect(time.Since(began)).To(BeNumerically("<", 5*time.Second))

		By("two pages on one job, of which the first is closed")
		early, leave := context.WithCancel(ctx)
		listen(early, jane.URL+"/api/v1/trainjobs/"+mine+"/second/stream").next("job")
		one := listen(ctx, jane.URL+"/api/v1/trainjobs/"+mine+"/second/stream")
		leave()
		Expect(one.next("job")).To(ContainSubstring(`"name":"second"`))
		code, text := ask(jane, "POST", "/api/v1/trainjobs/"+mine+"/second/actions/suspend?uid=of-an-earlier-job")
		Expect([]any{code, text}).To(HaveExactElements(409, ContainSubstring("Conflict")))
		code, text = ask(jane, "POST", "/api/v1/trainjobs/"+mine+"/second/actions/suspend")
		Expect(code).To(Equal(200), text)
		stored := &trainer.TrainJob{}
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: mine, Name: "second"}, stored)).To(Succeed())
		Expect(*stored.Spec.Suspend).To(BeTrue())
		Expect(one.next("job")).To(ContainSubstring(`"phase":"Suspended"`))
		code, text = ask(jane, "POST", "/api/v1/trainjobs/"+mine+"/second/actions/delete")
		Expect(code).To(Equal(200), text)
		one.next("gone")
		Eventually(func() string { return list.next("change") }).Should(ContainSubstring(string(stored.UID)))

		binding := &rbacv1.RoleBindingList{}
		Expect(admin.List(ctx, binding, client.InNamespace(mine))).To(Succeed())
		for i := range binding.Items {
			Expect(admin.Delete(ctx, &binding.Items[i])).To(Succeed())
		}
		Expect(list.next("trouble")).To(ContainSubstring("lacks"))
		Expect(list.ended()).To(BeTrue())
		code, text = ask(jane, "GET", "/api/v1/trainjobs?namespace="+mine)
		Expect([]any{code, text}).To(HaveExactElements(403, ContainSubstring("lacks 'list' permission for trainjobs")))
	})
})

// events are those of a stream.
type events struct {
	lines *bufio.Scanner
}

// listen opens a stream.
func listen(ctx context.Context, url string) *events {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	Expect(err).NotTo(HaveOccurred())
	answer, err := http.DefaultClient.Do(request) //nolint:bodyclose // closed by DeferCleanup
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(answer.Body.Close)
	Expect(answer.Header.Get("Content-Type")).To(Equal("text/event-stream"))
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	return &events{lines}
}

// next returns the data of the next event of a name.
func (e *events) next(name string) string {
	GinkgoHelper()
	for e.lines.Scan() {
		if e.lines.Text() == "event: "+name {
			Expect(e.lines.Scan()).To(BeTrue())
			return strings.TrimPrefix(e.lines.Text(), "data: ")
		}
	}
	Fail(fmt.Sprintf("the stream ended before an event %q: %v", name, e.lines.Err()))
	return ""
}

// ended reads to the end of the stream.
func (e *events) ended() bool {
	for e.lines.Scan() {
		continue
	}
	return e.lines.Err() == nil
}
