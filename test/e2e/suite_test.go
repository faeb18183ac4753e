// Package e2e shows on a real cluster what a user of Lockstep is promised: real pods, real mpirun, real controllers.
//
// `make test-e2e` runs it on a local cluster, or on that of KUBECONFIG. Without LOCKSTEP_E2E=1 it is skipped. LOCKSTEP_SLOW=10 makes
// waits ten times as long.
package e2e

import (
	"context"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/trial"
)

const (
	tenant      = "team-vision"
	otherTenant = "team-nlp"
	machines    = 2
)

var (
	cluster *platform.Platform
	// editor and otherEditor may create TrainJobs, each in the namespace of their own tenant; admin may do everything.
	editor, otherEditor, admin trial.User
)

func TestE2E(t *testing.T) {
	if os.Getenv("LOCKSTEP_E2E") != "1" {
		t.Skip("SKIPPED: this needs a real cluster: run `make test-e2e`")
	}
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(platform.Patience(90 * time.Second))
	SetDefaultEventuallyPollingInterval(platform.Patience(50 * time.Millisecond))
	RunSpecs(t, "e2e")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	tools, err := platform.DefaultTools(GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	tools.Audit = true
	cluster, err = platform.Up(ctx, tools, machines, platform.NewProgress(os.Stdout))
	Expect(err).NotTo(HaveOccurred())
	// Not with the context of this node: it ends before the suite does.
	DeferCleanup(func() error { return cluster.Close(context.Background()) })
	editor, err = cluster.Editor(tenant)
	Expect(err).NotTo(HaveOccurred())
	otherEditor, err = cluster.Editor(otherTenant)
	Expect(err).NotTo(HaveOccurred())
	admin, err = cluster.Admin()
	Expect(err).NotTo(HaveOccurred())
}, NodeTimeout(platform.Patience(40*time.Minute)))
