package integration

import (
	"context"
	"crypto/tls"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"lockstep.dev/lockstep/pkg/mpi/reconciler"
)

var _ = Describe("The metrics of the controller", Ordered, func() {
	const address = "127.0.0.1:19444"
	var from int

	BeforeAll(func(ctx SpecContext) {
		ensureNamespace(ctx, controllerNamespace)
		installPermissions(ctx, nil)
		from = len(auditEntries())
		runController(reconciler.Options{LeaderElection: true, MetricsAddress: address, MetricsAuthentication: true})
	})

	It("are told to those whom the role of the chart allows it, and the controller has the rights to ask", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		tenant, reader := tokenOf(ctx, namespace, "tenant"), tokenOf(ctx, namespace, "reader")
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: namespace},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "mpi-metrics-reader"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "reader"}},
		}
		Expect(admin.Create(ctx, binding)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(admin.Delete(ctx, binding)).To(Succeed()) })
		Eventually(statusFor(ctx, address, reader)).Should(Equal(http.StatusOK))
		Expect(statusFor(ctx, address, tenant)()).To(Equal(http.StatusForbidden))
		Expect(statusFor(ctx, address, "")()).To(Equal(http.StatusUnauthorized))
		var asked []string
		for _, entry := range auditEntries()[from:] {
			asked = append(asked, entry.Right())
		}
		Expect(asked).To(ContainElements("create tokenreviews.authentication.k8s.io", "create subjectaccessreviews.authorization.k8s.io"))
	})
})

// tokenOf makes a service account and returns a token of it.
func tokenOf(ctx context.Context, namespace, name string) string {
	GinkgoHelper()
	Expect(admin.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})).To(Succeed())
	clients, err := kubernetes.NewForConfig(environment.Config)
	Expect(err).NotTo(HaveOccurred())
	made, err := clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	return made.Status.Token
}

// statusFor is what who shows a token gets for the metrics.
func statusFor(ctx context.Context, address, token string) func() (int, error) {
	reader := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // as a monitor does
	return func() (int, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/metrics", nil)
		if err != nil {
			return 0, err
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := reader.Do(request)
		if err != nil {
			return 0, err
		}
		return answer.StatusCode, answer.Body.Close()
	}
}
