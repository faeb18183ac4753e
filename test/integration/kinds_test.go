package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// The kinds of Kueue, of GitOps engines and of OpenShift are installed once, for all specs that need them.
var _ = Describe("Where all kinds are served that a bundle may hold:", ofTheCompiler, Ordered, ContinueOnFailure, func() {
	BeforeAll(func() { installKinds(foreign(pinnedCRDs())) })

	Describe("Of all that the API server serves", accessSpecs)
	Describe("schemas and compiled objects", schemaSpecs)
})

// kindsServed is how long the API server may take until it serves new kinds: on a busy machine more than envtest's 10 s.
const kindsServed = time.Minute

// installKinds has kinds served until the end of the spec or container: others must not meet them. The same kinds cannot
// be installed again soon: the API server may take minutes to delete a kind that it has just begun to serve, and what is installed meanwhile
// is deleted too.
func installKinds(kinds []*apiextensions.CustomResourceDefinition) {
	GinkgoHelper()
	installed, err := envtest.InstallCRDs(environment.Config, envtest.CRDInstallOptions{CRDs: kinds, MaxTime: kindsServed})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() error {
		return envtest.UninstallCRDs(environment.Config, envtest.CRDInstallOptions{CRDs: installed})
	})
}
