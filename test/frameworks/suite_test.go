// Package frameworks runs what people train with as it comes, on a real cluster: each framework by each of its launchers, as its documentation
// says, as an editor of a tenant.
//
// `make frameworks` runs it and writes what it found into results.json, and into docs/catalog.md.
package frameworks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/test/frameworks/results"
	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/testjob"
)

const (
	tenant   = "team-vision"
	machines = 2
	nodes    = 2 // of a job, where a way does not say another number
	slots    = 2
)

// ofFrameworks are the runtimes that the tenant may use besides its own.
var ofFrameworks = []string{"intelmpi-cpu", "horovod-torch-cpu", "horovod-tensorflow-cpu", "torch-cpu", "deepspeed-cpu"}

// jobTimeout is that of one job: of four ranks on two processors each imports PyTorch first. hangTimeout is that of one that is known to hang.
var (
	jobTimeout  = platform.ScaleTimeout(10 * time.Minute)
	hangTimeout = platform.ScaleTimeout(90 * time.Second)
)

var (
	cluster       *platform.Platform
	root          string
	editor, admin testjob.User
	// images are those that the jobs run: reference to image ID.
	images = map[string]string{}
	// rows are what the specs of this run have found.
	rows []results.Row
)

func TestFrameworks(t *testing.T) {
	if os.Getenv("LOCKSTEP_FRAMEWORKS") != "1" {
		t.Skip("SKIPPED: this needs a real cluster, and images of some GB: run `make frameworks`")
	}
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(platform.ScaleTimeout(2 * time.Minute))
	RunSpecs(t, "frameworks")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	tools, err := platform.DefaultTools(GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	root = tools.Root
	tools.Needs = []string{"mpi-agent", "mpi-controller", "openmpi4", "openmpi5", "mpich", "intelmpi", "torch", "horovod", "horovod-tensorflow"}
	build := exec.CommandContext(ctx, tools.Images, append([]string{"build", "-o", "json"}, tools.Needs...)...)
	build.Dir, build.Stderr = root, GinkgoWriter
	made, err := build.Output()
	Expect(err).NotTo(HaveOccurred())
	var list []struct{ Reference, Digest string }
	Expect(json.Unmarshal(made, &list)).To(Succeed())
	for _, image := range list {
		images[image.Reference] = image.Digest
	}
	cluster, err = platform.Up(ctx, tools, machines, platform.NewProgress(GinkgoWriter))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() error { return cluster.Close(context.Background()) })
	Expect(cluster.Admit(ctx, tenant, ofFrameworks...)).To(Succeed())
	admin, err = cluster.Admin()
	Expect(err).NotTo(HaveOccurred())
	editor, err = cluster.Editor(tenant)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() error {
		if err := results.Merge(root+"/"+results.File, rows); err != nil {
			return err
		}
		return results.Write(root)
	})
}, NodeTimeout(platform.ScaleTimeout(90*time.Minute)))

// run runs a job as the tenant's editor, and returns how it ended, without a condition if it has not within its time, and what it printed. The first TrainJob of a runtime is made again until the
// API server has heard that the tenant may use it.
func run(ctx SpecContext, limit time.Duration, job testjob.Job) (testjob.Result, string) {
	GinkgoHelper()
	Eventually(func() error {
		return editor.Client.Create(ctx, job.TrainJob(), client.DryRunAll)
	}).Should(Succeed())
	DeferCleanup(func(ctx SpecContext) error { // also after Ctrl-C, on a cluster that stays
		return client.IgnoreNotFound(admin.Client.Delete(ctx, job.TrainJob()))
	})
	limited, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no end within %s", limit))
	defer cancel()
	var log bytes.Buffer
	result, err := testjob.Run(limited, editor, job, io.MultiWriter(&log, GinkgoWriter))
	GinkgoWriter.Printf("%s: %s %s after %.1f s: %s\n", job.Name, result.Condition, result.Reason, result.End.Seconds(), result.Message)
	Expect(client.IgnoreNotFound(admin.Client.Delete(ctx, job.TrainJob()))).To(Succeed())
	Eventually(func() ([]string, error) { return testjob.Leftovers(ctx, admin.Client, job.Namespace, job.Name) }).Should(BeEmpty())
	if limited.Err() == nil {
		Expect(err).NotTo(HaveOccurred(), log.String())
	}
	return result, log.String()
}

// imageOf is what a runtime of the cluster names.
func imageOf(ctx context.Context, runtime string) string {
	GinkgoHelper()
	object := &trainer.ClusterTrainingRuntime{}
	Expect(admin.Client.Get(ctx, client.ObjectKey{Name: runtime}, object)).To(Succeed())
	for _, job := range object.Spec.Template.Spec.ReplicatedJobs {
		for _, container := range job.Template.Spec.Template.Spec.Containers {
			if container.Name == mpi.Container {
				return container.Image
			}
		}
	}
	return ""
}
