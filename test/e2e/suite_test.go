// Package e2e shows on a real cluster what a user of Lockstep is promised: real pods, real mpirun, real controllers.
//
// `make test-e2e` runs it on a local cluster, or on that of KUBECONFIG. Without LOCKSTEP_E2E=1 it is skipped. LOCKSTEP_SLOW=10 makes
// waits ten times as long.
//
// Specs run side by side, in processes that share one cluster: what changes the cluster for others (its controller, its machines, most of
// their room) is Serial, and job names the jobs of each process apart.
package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"lockstep.dev/lockstep/test/clients"
	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/reporoot"
	"lockstep.dev/lockstep/test/testjob"
)

const (
	tenant      = "team-vision"
	otherTenant = "team-nlp"
	machines    = 2
)

// longest is said of what takes minutes, one spec after the other: it begins first, so that no process ends with it alone.
const longest = SpecPriority(1)

// ofReleases is the label of what takes long and shows once more, in another mode, what shorter specs show: `make test-full` runs it.
var ofReleases = Label("release")

// suite is what all processes know.
type suite struct {
	Cluster platform.Handle
	Unshown string
}

var (
	cluster *platform.Platform
	// editor and otherEditor may create TrainJobs, each in the namespace of their own tenant; admin may do everything.
	editor, otherEditor, admin testjob.User
)

func TestE2E(t *testing.T) {
	if os.Getenv("LOCKSTEP_E2E") != "1" {
		t.Skip("SKIPPED: this needs a real cluster: run `make test-e2e`")
	}
	root, err := reporoot.Find()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(root, "test", "e2e")) // the test binary may be elsewhere
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(platform.ScaleTimeout(90 * time.Second))
	SetDefaultEventuallyPollingInterval(platform.ScaleTimeout(150 * time.Millisecond))
	RunSpecs(t, "e2e")
}

// sandboxes are namespaces for what no tenant may do.
var sandboxes = []string{lifeNamespace, ownNamespace, gangNamespace, gpuNamespace, stockNamespace}

// watchAsClients holds every status of each job of all processes against what the clients that exist would make of it.
func watchAsClients() {
	witness, err := clients.Watch(cluster.Config)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		statuses, misread := witness.Verdict()
		GinkgoWriter.Printf("clients have read %d statuses of TrainJobs\n", statuses)
		Expect(misread).NotTo(HaveOccurred())
	})
}

// The first process brings the cluster up, the others join it.
var _ = SynchronizedBeforeSuite(func(ctx SpecContext) []byte {
	progress := platform.NewProgress(lines)
	tools, err := platform.DefaultTools(GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	tools.Audit = true
	cluster, err = platform.Up(ctx, tools, machines, progress)
	Expect(err).NotTo(HaveOccurred())
	// Not with the context of this node: it ends before the suite does.
	DeferCleanup(func() error {
		return progress.Step("stop the cluster", func() (string, error) { return "", cluster.Close(context.Background()) })
	})
	watchAsClients()
	for _, name := range sandboxes {
		Expect(cluster.Sandbox(ctx, name)).To(Succeed())
	}
	shared, err := json.Marshal(suite{Cluster: cluster.Handle(), Unshown: unshownFile()})
	Expect(err).NotTo(HaveOccurred())
	return shared
}, func(_ SpecContext, data []byte) {
	var shared suite
	Expect(json.Unmarshal(data, &shared)).To(Succeed())
	unshown = shared.Unshown
	tools, err := platform.DefaultTools(GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	if cluster == nil {
		cluster, err = platform.Join(tools, shared.Cluster)
		Expect(err).NotTo(HaveOccurred())
	}
	editor, err = cluster.Editor(tenant)
	Expect(err).NotTo(HaveOccurred())
	otherEditor, err = cluster.Editor(otherTenant)
	Expect(err).NotTo(HaveOccurred())
	admin, err = cluster.Admin()
	Expect(err).NotTo(HaveOccurred())
}, NodeTimeout(platform.ScaleTimeout(40*time.Minute)))
