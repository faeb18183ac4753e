// Package mpioperator runs mpi-operator's own example under the real mpi-operator and, converted, under our controller, side by side on one
// cluster, as a team does that moves.
//
// `make test-mpi-operator` runs it. The example, its program and the operator come from the pinned module; the image is made here, because the
// one that the example names cannot be pulled.
package mpioperator

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"lockstep.dev/lockstep/pkg/jobs/convert/corpus"
	"lockstep.dev/lockstep/test/platform"
	"lockstep.dev/lockstep/test/testjob"
)

const (
	tenant = "team-vision"
	// before is the namespace of the MPIJobs: their pods are not what Pod Security admits in that of a tenant.
	before = "with-mpi-operator"
	// machines: the launcher and both workers of the example ask for a processor each.
	machines = 3
)

var (
	tools         platform.Tools
	cluster       *platform.Platform
	editor, admin testjob.User
	// example is the folder of the pi example in the module.
	example string
)

func TestMPIOperator(t *testing.T) {
	if os.Getenv("LOCKSTEP_MPI_OPERATOR") != "1" {
		t.Skip("SKIPPED: this needs a real cluster: run `make test-mpi-operator`")
	}
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(platform.ScaleTimeout(2 * time.Minute))
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	RunSpecs(t, "mpi-operator")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	example = filepath.Join(corpus.ModuleFolder(GinkgoTB()), "examples", "v2beta1", "pi")
	var err error
	tools, err = platform.DefaultTools(GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	tools.Needs = []string{"mpi-agent", "mpi-controller"}
	archives := imagesOfExample(ctx)
	cluster, err = platform.Up(ctx, tools, machines, platform.NewProgress(GinkgoWriter))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() error { return cluster.Close(context.Background()) })
	run(ctx, tools.Cluster, append([]string{"load"}, archives...)...)

	Expect(cluster.AddAddons(ctx, "mpi-operator")).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(cluster.RemoveAddons(ctx, "mpi-operator")).To(Succeed()) })
	Expect(cluster.Sandbox(ctx, before)).To(Succeed())
	admin, err = cluster.Admin()
	Expect(err).NotTo(HaveOccurred())
	editor, err = cluster.Editor(tenant)
	Expect(err).NotTo(HaveOccurred())
}, NodeTimeout(platform.ScaleTimeout(30*time.Minute)))

// imagesOfExample makes the images of the example, and returns their archives.
func imagesOfExample(ctx context.Context) []string {
	GinkgoHelper()
	definitions := GinkgoT().TempDir()
	Expect(os.CopyFS(definitions, os.DirFS(filepath.Join(tools.Root, "test", "mpi-operator", "images")))).To(Succeed())
	program, err := os.ReadFile(filepath.Join(example, "pi.cc"))
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(filepath.Join(definitions, "pi.cc"), program, 0o600)).To(Succeed())
	var archives []string
	for line := range strings.Lines(run(ctx, tools.Images, "build", "--definitions", definitions)) {
		archives = append(archives, strings.Fields(line)[2])
	}
	return archives
}

// run runs a program in the checkout and returns what it printed.
func run(ctx context.Context, program string, args ...string) string {
	GinkgoHelper()
	command := exec.CommandContext(ctx, program, args...)
	command.Dir, command.Stderr = tools.Root, GinkgoWriter
	out, err := command.Output()
	Expect(err).NotTo(HaveOccurred(), "%s %s", filepath.Base(program), strings.Join(args, " "))
	return string(out)
}

// convert runs `kubectl mpi convert` for the namespace of the tenant.
func convert(ctx context.Context, args ...string) string {
	GinkgoHelper()
	program := filepath.Join(tools.Root, "build", "bin", "kubectl-mpi")
	return run(ctx, program, append([]string{"convert", "--kubeconfig", cluster.Kubeconfig, "--namespace", tenant}, args...)...)
}
