package integration

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"lockstep.dev/lockstep/pkg/dashboard"
)

const dashboardHost = "jobs.example.com"

var _ = Describe("The page of jobs in a cluster", ofTheCompiler, Ordered, func() {
	const tokenHeader = "X-Forwarded-Access-Token"
	var teams [2]string
	var pages [2]*httptest.Server
	var accounts [2]*corev1.ServiceAccount

	// editor returns an account that may edit jobs of a namespace, with its token.
	editor := func(ctx context.Context, namespace string) (*corev1.ServiceAccount, string) {
		GinkgoHelper()
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "editor"}}
		Expect(admin.Create(ctx, account)).To(Succeed())
		Expect(admin.Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "editor"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "editor"}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: cliEditors},
		})).To(Succeed())
		request := &authenticationv1.TokenRequest{}
		Expect(admin.SubResource("token").Create(ctx, account, request)).To(Succeed())
		return account, request.Status.Token
	}
	ask := func(page *httptest.Server, path string) (int, string) {
		GinkgoHelper()
		answer, err := http.Get(page.URL + path) //nolint:noctx // a test
		Expect(err).NotTo(HaveOccurred())
		defer func() { _ = answer.Body.Close() }()
		text, err := io.ReadAll(answer.Body)
		Expect(err).NotTo(HaveOccurred())
		return answer.StatusCode, string(text)
	}

	BeforeAll(func(ctx SpecContext) {
		tenantRoles(ctx)
		limits := dashboard.SharedLimits()
		limits.Look = time.Second
		serving, cancel := context.WithCancel(context.Background())
		// The configuration is of an admin, who must not show through.
		gate := dashboard.Gate{Hosts: []string{dashboardHost}, Header: tokenHeader, Cluster: environment.Config}
		server := httptest.NewServer(gate.Serve(serving, "v0", limits))
		DeferCleanup(func() { cancel(); server.CloseClientConnections(); server.Close() })
		target, err := url.Parse(server.URL)
		Expect(err).NotTo(HaveOccurred())
		for i := range teams {
			teams[i] = newNamespace(ctx)
			Expect(admin.Create(ctx, trainJobNamed(teams[i], "secret-of-"+teams[i]))).To(Succeed())
			var token string
			accounts[i], token = editor(ctx, teams[i])
			pages[i] = httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(target)
				r.Out.Host = dashboardHost
				r.Out.Header.Set(tokenHeader, token)
			}})
			DeferCleanup(pages[i].Close)
		}
	})

	It("shows to each user what the user's token may read", func() {
		for i, page := range pages {
			own, other := teams[i], teams[1-i]
			code, text := ask(page, "/api/v1/session")
			Expect([]any{code, text}).To(HaveExactElements(200, ContainSubstring(`:`+own+`:editor"`)))
			code, text = ask(page, "/api/v1/trainjobs?namespace="+own)
			Expect([]any{code, text}).To(HaveExactElements(200, ContainSubstring("secret-of-"+own)))
			job := "/api/v1/trainjobs/" + other + "/secret-of-" + other
			for _, path := range []string{
				"/api/v1/trainjobs", "/api/v1/trainjobs?namespace=" + other, "/api/v1/trainjobs/stream?namespace=" + other,
				"/api/v1/namespaces", job, job + "/events", job + "/configuration", job + "/usage",
				job + "/logs", job + "/logs?download=true", job + "/logs?attempt=0", job + "/bundle", job + "/stream",
			} {
				code, text = ask(page, path)
				Expect(text).NotTo(ContainSubstring("secret-of-"+other+`"`), path)
				Expect(text).To(Or(ContainSubstring("lacks"), ContainSubstring("?ns=NAME")), path)
				Expect(code).To(BeElementOf(200, 403), "%s: %s", path, text)
			}
		}
	})

	It("ends the streams of a token that the API server no longer takes", func(ctx SpecContext) {
		list := listen(ctx, pages[0].URL+"/api/v1/trainjobs/stream?namespace="+teams[0])
		Expect(list.next("snapshot")).To(ContainSubstring("secret-of-" + teams[0]))
		Expect(admin.Delete(ctx, accounts[0], client.GracePeriodSeconds(0))).To(Succeed())
		began := time.Now()
		Expect(list.next("trouble")).To(ContainSubstring(`"code":401`))
		Expect(list.ended()).To(BeTrue())
		Expect(time.Since(began)).To(BeNumerically("<", 30*time.Second))
		code, text := ask(pages[1], "/api/v1/trainjobs?namespace="+teams[1])
		Expect([]any{code, text}).To(HaveExactElements(200, ContainSubstring("secret-of-"+teams[1])))
	})
})
