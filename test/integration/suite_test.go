// Package integration runs our controllers against a real kube-apiserver and etcd.
//
// `make test-integration` runs it. Without KUBEBUILDER_ASSETS, the folder with both programs, it is skipped. CRDs come
// from the pinned modules of their projects. There is no JobSet controller, no scheduler and no kubelet here: what they
// would do is done by hand, so that every state of a job can be had at once.
package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"lockstep.dev/lockstep/pkg/compile/schema/pinned"
	"lockstep.dev/lockstep/pkg/mpi/reconciler/kinds"
	"lockstep.dev/lockstep/test/clients"
)

var (
	environment *envtest.Environment
	// admin may do everything.
	admin client.Client
	// auditLog is where the API server writes what auditPolicy asks for.
	auditLog string
)

// ofTheCompiler is the label of specs that need no controller: they have an API server of their own, beside that of the others.
var ofTheCompiler = Label("compiler")

// ofOutages is the label of what waits for most of its time, for a lease to run out or for an API server to come back.
var ofOutages = Label("outages")

func TestIntegration(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("SKIPPED: this needs a kube-apiserver and an etcd: run `make test-integration`, or set KUBEBUILDER_ASSETS to the folder with both")
	}
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(time.Minute)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	RunSpecs(t, "integration", Label("integration"))
}

var _ = BeforeSuite(func() {
	ctrl.SetLogger(GinkgoLogr)
	crds, err := pinned.CRDs(pinned.Trainer, pinned.JobSet)
	Expect(err).NotTo(HaveOccurred())
	environment = &envtest.Environment{
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: kindsServed},
		CRDDirectoryPaths:        crds,
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: serverStarts,
	}
	// With this plugin owner references that block deletion need a permission of their own, as on OpenShift.
	environment.ControlPlane.GetAPIServer().Configure().Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
	auditLog = filepath.Join(GinkgoT().TempDir(), "audit.log")
	environment.ControlPlane.GetAPIServer().Configure().
		Append("audit-policy-file", auditPolicy()).
		Append("audit-log-path", auditLog).
		Append("audit-log-mode", "blocking")
	aggregate(environment.ControlPlane.GetAPIServer(), GinkgoT().TempDir())
	config, err := environment.Start()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(environment.Stop)
	DeferCleanup(func() { startedAgain.end() })
	admin = newClient(config)
	watchAsClients(config)
})

// What failed stands at the end once more, where a short view of the output still shows it.
var _ = ReportAfterSuite("failures", func(report Report) {
	for _, spec := range report.SpecReports.WithState(types.SpecStateFailureStates) {
		_, _ = fmt.Fprintf(os.Stdout, "\n%s:\n%.2000s\n", spec.FullText(), spec.FailureMessage())
	}
})

// watchAsClients holds every status of each job of this suite against what the clients that exist would make of it.
func watchAsClients(config *rest.Config) {
	witness, err := clients.Watch(config)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		statuses, misread := witness.Verdict()
		GinkgoWriter.Printf("clients have read %d statuses of TrainJobs\n", statuses)
		Expect(misread).NotTo(HaveOccurred())
	})
}

// auditPolicy is the one of the documentation, and writes down what service accounts ask for.
func auditPolicy() string {
	documented, err := os.ReadFile("../../docs/audit-policy.yaml")
	Expect(err).NotTo(HaveOccurred())
	ours := string(documented) + "  - {level: Metadata, userGroups: [\"system:serviceaccounts\"]}\n  - {level: None}\n"
	path := filepath.Join(GinkgoT().TempDir(), "policy.yaml")
	Expect(os.WriteFile(path, []byte(ours), 0o600)).To(Succeed())
	return path
}

func newClient(config *rest.Config) client.Client {
	scheme, err := kinds.Scheme()
	Expect(err).NotTo(HaveOccurred())
	made, err := client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return made
}

// serviceAccount returns a configuration with the name and the groups of a service account, and so with exactly the
// permissions that are bound to it.
func serviceAccount(namespace, name string) *rest.Config {
	user, err := environment.AddUser(envtest.User{
		Name:   fmt.Sprintf("system:serviceaccount:%s:%s", namespace, name),
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
	}, nil)
	Expect(err).NotTo(HaveOccurred())
	return user.Config()
}
